"""Selects one result of each model and evaluator from a folder with several, and notes the omitted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from st_biomed.errors import InputError, did_you_mean
from st_biomed.leaderboard.metric_descriptions import PUBLISHED_SCORING
from st_biomed.leaderboard.results import Result

_DRAWS = {"n_bootstrap", "bootstrap_seed"}  # they change intervals only
_EMBEDDING = {"bf16", "truncate_dim", "cache_dtype", "prompts"}  # settings of vectors, not of the measurement
_SHOWN = 3  # number of settings in a note


class Choice(NamedTuple):
    """Results with one result of each model and evaluator, and notes about the omitted ones."""

    results: list[Result]
    notes: list[str]


def one_of_each(results: Sequence[Result], *, as_published: bool = False) -> Choice:
    """The results that are comparable side by side.

    - Scored soundly, or as published. A metric with one scoring alone is taken from runs of either kind; a run of the
      other kind counts if it measured the same model, which it does not where published scripts cut names.
    - If several models had the same name, only those of the most recently requested model.
    - If an evaluator was run with several settings (other data, seeds or scoring), only those of the last settings.
    - Of the remaining results, the last of each model and evaluator. They differ in the draws of the intervals or in
      the settings of the embedding, which are noted if they differ between models.

    Args:
        results: Results in the order of the requests, see :attr:`ResultsFolder.results`.
        as_published: Whether to select the published scoring.
    """
    notes: list[str] = []
    left = _scored(results, as_published)
    left = _last(left, lambda result: result.model, lambda result: result.model_digest, _other_model, notes)
    left = _last(left, lambda result: result.evaluator, _measured, _other_settings, notes)
    chosen = list({(result.model, result.evaluator): result for result in left}.values())
    names_of: dict[str, list[str]] = {}
    for result in {result.model: result for result in chosen}.values():
        names_of.setdefault(result.model_digest, []).append(result.model)
    notes += [f"{' and '.join(names)} are the same model." for names in names_of.values() if len(names) > 1]
    by_evaluator: dict[str, list[Result]] = {}
    for result in chosen:
        by_evaluator.setdefault(result.evaluator, []).append(result)
    for evaluator, side_by_side in by_evaluator.items():
        for name in sorted(_EMBEDDING):
            values = {result.model: result.settings.get(name) for result in side_by_side}
            if len(set(map(str, values.values()))) > 1:
                values_shown = ", ".join(f"{value or 'off'} for {model}" for model, value in values.items())
                notes.append(f"{evaluator}: {name} is {values_shown}.")
    return Choice(chosen, notes)


def named(
    results: Sequence[Result], *, models: Sequence[str] | None = None, benchmarks: Sequence[str] | None = None
) -> list[Result]:
    """The results of some models and of some benchmarks or evaluators; all if no names are given.

    Raises:
        InputError: A name that no result has.
    """
    for kind, wanted, names in (
        ("model", models, lambda result: [result.model]),
        ("benchmark", benchmarks, _benchmarks),
    ):
        available = list(dict.fromkeys(name for result in results for name in names(result)))
        for name in wanted or ():
            if name not in available:
                near = did_you_mean(name, available) or f"; available are {', '.join(available)}"
                raise InputError(f"no result of a {kind} {name!r}{near}")
        results = [result for result in results if not wanted or set(names(result)) & set(wanted)]
    return list(results)


def _benchmarks(result: Result) -> list[str]:
    """The names of the benchmark, the evaluator and the benchmark's file, which `-b` of evaluate accepts."""
    stem = Path(result.definition.get("file") or result.benchmark).stem
    return [result.benchmark, result.evaluator, stem]


def in_order_of(results: Sequence[Result], first: Sequence[Result]) -> list[Result]:
    """Sort by model; the models and evaluators of ``first`` come first, in its order."""
    models = list(dict.fromkeys(result.model for result in [*first, *results]))
    evaluators = list(dict.fromkeys(result.evaluator for result in [*first, *results]))
    return sorted(results, key=lambda result: (models.index(result.model), evaluators.index(result.evaluator)))


def _scored(results: Sequence[Result], as_published: bool) -> list[Result]:
    """The results of the requested scoring, and those of the other one that stand for a missing one of the same model.

    Only metrics with one scoring have such results. A model without any result of the requested scoring keeps them all.
    """

    def is_requested(result: Result) -> bool:
        return bool(result.settings.get("as_published")) == as_published

    measured = {(result.model, result.model_digest, result.evaluator) for result in results if is_requested(result)}
    digests: dict[str, set[str]] = {}
    for model, digest, _ in measured:
        digests.setdefault(model, set()).add(digest)

    def is_missing(result: Result) -> bool:
        is_same_model = result.model_digest in digests.get(result.model, {result.model_digest})
        return is_same_model and (result.model, result.model_digest, result.evaluator) not in measured

    return [
        result
        for result in results
        if is_requested(result) or (result.metric not in PUBLISHED_SCORING and is_missing(result))
    ]


def _last(
    results: Sequence[Result],
    group: Callable[[Result], str],
    kind: Callable[[Result], Any],
    note_of: Callable[[str, list[Result], Result], str],
    notes: list[str],
) -> list[Result]:
    """The results of each group that are of the same kind as its last one; omitted ones are noted."""
    last = {group(result): result for result in results}
    dropped: dict[str, list[Result]] = {}
    for result in results:
        if kind(result) != kind(last[group(result)]):
            dropped.setdefault(group(result), []).append(result)
    notes += [note_of(name, others, last[name]) for name, others in dropped.items()]
    return [result for result in results if kind(result) == kind(last[group(result)])]


def _other_model(name: str, others: Sequence[Result], last: Result) -> str:
    digests = ", ".join(dict.fromkeys(result.model_digest[:8] for result in others))
    return (
        f"{name}: {_counted(others)} of another model of this name (digest {digests}) left out, "
        f"shown is {last.model_digest[:8]}."
    )


def _other_settings(name: str, others: Sequence[Result], last: Result) -> str:
    old, new = _measured(others[-1]), _measured(last)
    differ = [key for key in {**new, **old} if old.get(key) != new.get(key)]
    changes = [f"{key} {_short(new.get(key))}, not {_short(old.get(key))}" for key in differ[:_SHOWN]]
    models = ", ".join(dict.fromkeys(result.model for result in others))
    return f"{name}: {_counted(others)} with other settings left out ({models}); shown: {'; '.join(changes)}."


def _counted(results: Sequence[Result]) -> str:
    return f"{len(results)} result{'s' if len(results) > 1 else ''}"


def _measured(result: Result) -> dict[str, Any]:
    """The settings that determine the measurement."""
    ignored = _DRAWS | _EMBEDDING | (set() if result.metric in PUBLISHED_SCORING else {"as_published"})
    settings: dict[str, Any] = _without(result.settings, ignored)
    return settings


def _without(settings: Any, ignored: set[str]) -> Any:
    if isinstance(settings, Mapping):
        return {key: _without(value, ignored) for key, value in settings.items() if key not in ignored}
    return [_without(setting, ignored) for setting in settings] if isinstance(settings, list) else settings


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 16 else f"{text[:8]}..."
