"""One result of each model and evaluator from a folder that may hold several, and a sentence for what is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from st_biomed.errors import InputError, did_you_mean
from st_biomed.leaderboard.metric_descriptions import PUBLISHED_SCORING
from st_biomed.leaderboard.results import Result

_DRAWS = {"n_bootstrap", "bootstrap_seed"}  # they change intervals only
_EMBEDDING = {"bf16", "truncate_dim", "cache_dtype"}  # of the model's vectors, not of what is measured on them
_SHOWN = 3  # settings that a note names


class Choice(NamedTuple):
    """Results of which each model has one for each evaluator, and sentences about those that are left out."""

    results: list[Result]
    notes: list[str]


def one_of_each(results: Sequence[Result], *, as_published: bool = False) -> Choice:
    """The results that may stand side by side.

    - Scored soundly, or as published; where nothing was published otherwise either is taken.
    - Of a name that stood for several models only those of the model that was asked for last.
    - Of an evaluator that measured several things (other data, other seeds, other scoring) only those of the last one.
    - Of what is left the last of each model and evaluator: they differ in the draws of the intervals, or in the way to
      embed, which is noted where it differs between models.

    Args:
        results: In the order in which they were asked for, see :attr:`ResultsFolder.results`.
        as_published: Which scoring.
    """
    notes: list[str] = []
    left = [
        one
        for one in results
        if one.metric not in PUBLISHED_SCORING or bool(one.settings.get("as_published")) == as_published
    ]
    left = _last(left, lambda one: one.model, lambda one: one.model_digest, _other_model, notes)
    left = _last(left, lambda one: one.evaluator, _measured, _other_settings, notes)
    chosen = list({(one.model, one.evaluator): one for one in left}.values())
    names_of: dict[str, list[str]] = {}
    for one in {one.model: one for one in chosen}.values():
        names_of.setdefault(one.model_digest, []).append(one.model)
    notes += [f"{' and '.join(names)} are the same model." for names in names_of.values() if len(names) > 1]
    by_evaluator: dict[str, list[Result]] = {}
    for one in chosen:
        by_evaluator.setdefault(one.evaluator, []).append(one)
    for evaluator, side_by_side in by_evaluator.items():
        for name in sorted(_EMBEDDING):
            values = {one.model: one.settings.get(name) for one in side_by_side}
            if len(set(map(str, values.values()))) > 1:
                told = ", ".join(f"{value or 'off'} for {model}" for model, value in values.items())
                notes.append(f"{evaluator}: {name} is {told}.")
    return Choice(chosen, notes)


def named(
    results: Sequence[Result], *, models: Sequence[str] | None = None, benchmarks: Sequence[str] | None = None
) -> list[Result]:
    """The results of some models and of some benchmarks or evaluators, all where none is named.

    Raises:
        InputError: A name that no result has.
    """
    for kind, wanted, names in (("model", models, _models), ("benchmark", benchmarks, _benchmarks)):
        there = list(dict.fromkeys(name for one in results for name in names(one)))
        for name in wanted or ():
            if name not in there:
                near = did_you_mean(name, there) or f"; there are {', '.join(there)}"
                raise InputError(f"no result of a {kind} {name!r}{near}")
        results = [one for one in results if not wanted or set(names(one)) & set(wanted)]
    return list(results)


def _models(result: Result) -> list[str]:
    return [result.model]


def _benchmarks(result: Result) -> list[str]:
    """The benchmark's name, the evaluator's, and that of the benchmark's file, which `-b` of evaluate takes."""
    stem = Path(result.definition.get("file") or result.benchmark).stem
    return [result.benchmark, result.evaluator, stem]


def in_order_of(results: Sequence[Result], first: Sequence[Result]) -> list[Result]:
    """Model by model; those models and evaluators first that ``first`` has, in its order."""
    models = list(dict.fromkeys(one.model for one in [*first, *results]))
    evaluators = list(dict.fromkeys(one.evaluator for one in [*first, *results]))
    return sorted(results, key=lambda one: (models.index(one.model), evaluators.index(one.evaluator)))


def _last(
    results: Sequence[Result],
    group: Callable[[Result], str],
    kind: Callable[[Result], Any],
    told: Callable[[str, list[Result], Result], str],
    notes: list[str],
) -> list[Result]:
    """Of each group those of the kind that the last one has; what is dropped is told in a note."""
    last = {group(one): one for one in results}
    dropped: dict[str, list[Result]] = {}
    for one in results:
        if kind(one) != kind(last[group(one)]):
            dropped.setdefault(group(one), []).append(one)
    notes += [told(name, others, last[name]) for name, others in dropped.items()]
    return [one for one in results if kind(one) == kind(last[group(one)])]


def _other_model(name: str, others: Sequence[Result], last: Result) -> str:
    digests = ", ".join(dict.fromkeys(one.model_digest[:8] for one in others))
    return (
        f"{name}: {_counted(others)} of another model of this name (digest {digests}) left out, "
        f"shown is {last.model_digest[:8]}."
    )


def _other_settings(name: str, others: Sequence[Result], last: Result) -> str:
    old, new = _measured(others[-1]), _measured(last)
    differ = [key for key in {**new, **old} if old.get(key) != new.get(key)]
    told = [f"{key} {_short(new.get(key))}, not {_short(old.get(key))}" for key in differ[:_SHOWN]]
    models = ", ".join(dict.fromkeys(one.model for one in others))
    return f"{name}: {_counted(others)} with other settings left out ({models}); shown: {'; '.join(told)}."


def _counted(results: Sequence[Result]) -> str:
    return f"{len(results)} result{'s' if len(results) > 1 else ''}"


def _measured(result: Result) -> dict[str, Any]:
    """The settings that say what was measured."""
    ignored = _DRAWS | _EMBEDDING | (set() if result.metric in PUBLISHED_SCORING else {"as_published"})
    found: dict[str, Any] = _without(result.settings, ignored)
    return found


def _without(settings: Any, ignored: set[str]) -> Any:
    if isinstance(settings, Mapping):
        return {key: _without(value, ignored) for key, value in settings.items() if key not in ignored}
    return [_without(one, ignored) for one in settings] if isinstance(settings, list) else settings


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 16 else f"{text[:8]}..."
