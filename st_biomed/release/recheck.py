"""Applies the rule of :mod:`st_biomed.release.privacy` again to a folder before it is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError, check_name
from st_biomed.release.base_model import base_model_folder
from st_biomed.release.card import BiomedCard
from st_biomed.release.definition_search import INDISTINCT as INDISTINCT_DEFINITIONS
from st_biomed.release.definition_search import NGRAMS, SHORT_DEFINITIONS, count_definitions
from st_biomed.release.folder import LICENSE_NOTE
from st_biomed.release.model_record import release_of
from st_biomed.release.name_kinds import IN_CLAUSES, INDISTINCT, Kind, count_kinds
from st_biomed.release.own_text import said_of_sources
from st_biomed.release.privacy import Findings, check_release
from st_biomed.release.run_data import RunData, TerminologyData, began_from
from st_biomed.terminology import Terminology

_SHOWN = 10


def recheck(
    folder: str | Path,
    run: RunData,
    terminologies: Sequence[Terminology] = (),
    *,
    allow_sources: Collection[str] = (),
    base_model: str | Path | None = None,
    place: Path | None = None,
) -> str:
    """Whether a release folder may be published, in a few lines.

    ``run.json`` lists the terminologies of training and measurement by digest, also those of earlier stages. Each of
    these terminologies with a source that may not be redistributed must be available: among ``terminologies``, as
    their merge, saved beside the checkpoints (``<folder>-training/terminology*``, of each of the models for an average
    of several), or in the folders that the recipe read.

    Args:
        terminologies: The terminologies of training and measurement.
        allow_sources: Sources whose names may be published; they are not searched for.
        base_model: The model that training started from, whose tokenizer the released one may equal; by default that
            of the record, if it is available.
        place: The release folder, if ``folder`` is a draft that will replace it, or a copy of it in another layout.

    Raises:
        InputError: A source of ``allow_sources`` that is not in the record, a terminology that is not available, a
            violation of the rule, or a folder that does not load.
    """
    folder = Path(folder)
    place = place or folder
    read = [
        *run["terminologies"],
        *(terminology_data for stage in run["earlier"] for terminology_data in stage["terminologies"]),
    ]
    recorded = list({terminology_data["digest"]: terminology_data for terminology_data in read}.values())
    sources = {source["name"]: source for terminology_data in recorded for source in terminology_data["sources"]}
    for name in allow_sources:
        check_name("source of allow_source", name, sources)
    restricted = [name for name, source in sources.items() if not source["redistributable"]]
    searched = sorted(set(restricted) - set(allow_sources))
    needed = [
        terminology_data
        for terminology_data in recorded
        if {source["name"] for source in terminology_data["sources"]} & set(searched)
    ]
    at_hand = _at_hand(place, run, terminologies, {terminology_data["digest"] for terminology_data in needed})
    if missing := [terminology_data for terminology_data in needed if terminology_data["digest"] not in at_hand]:
        raise InputError(_how_to_give(place, missing[0], searched))
    model = load_encoder(folder, device="cpu")
    judged = [_allowing(terminology, allow_sources) for terminology in at_hand.values()]
    card = BiomedCard.from_run(run).rendered_empty(model)
    own_text = f"{card}\n\n{LICENSE_NOTE}\n\n{said_of_sources(run)}"
    findings = check_release(folder, judged, _tokenizer_peer(place, run, base_model), own_text=own_text)
    if not recorded:
        return "no terminology is recorded; files and tokenizer are as the rule has them"
    lines = []
    if searched:
        closed = [
            terminology
            for terminology in judged
            if terminology.digest in {terminology_data["digest"] for terminology_data in needed}
        ]
        lines = _searched(searched, count_kinds(closed), findings)
        lines[1:1] = _defined(count_definitions(closed))
    if allowed := sorted(set(restricted) & set(allow_sources)):
        lines.append(f"{', '.join(allowed)}: allowed to leave by --allow-source, not searched for")
    return "\n".join(lines) or "every source may be redistributed"


def _at_hand(
    folder: Path, run: RunData, terminologies: Sequence[Terminology], needed: set[str]
) -> dict[str, Terminology]:
    """Terminologies by digest: the given ones, and the needed ones that exist at the recipe's places."""
    by_digest = {terminology.digest: terminology for terminology in terminologies}
    if len(terminologies) > 1 and needed - by_digest.keys():
        merged = Terminology.merge(*terminologies)
        by_digest[merged.digest] = merged
    argument = run["configuration"].get("terminology") or []
    read = [argument] if isinstance(argument, str) else argument if isinstance(argument, list) else []
    beside = [[str(place)] for place in saved_beside(folder)]
    beside.append([str(place) for place in read])
    beside += [[str(place)] for model in run["averaging"]["models"] for place in saved_beside(model["name"])]
    for places in beside:
        if (
            needed - by_digest.keys()
            and places
            and all((Path(place) / "terminology.json").is_file() for place in places)
        ):
            saved = (
                Terminology.merge(*map(Terminology.load, places)) if len(places) > 1 else Terminology.load(places[0])
            )
            by_digest[saved.digest] = saved
    return by_digest


def saved_beside(folder: str | Path) -> list[Path]:
    """The terminologies that a run stored beside its release."""
    path = release_of(folder)
    return sorted(path.with_name(f"{path.name}-training").glob("terminology*")) if path.name else []


def _how_to_give(folder: Path, missing: TerminologyData, searched: list[str]) -> str:
    held = [source["name"] for source in missing["sources"] if source["name"] in searched]
    allow = " ".join(f"--allow-source {name}" for name in held)
    return (
        f"{folder}: names of {', '.join(held)} may not be redistributed, and the terminology with digest "
        f"{missing['digest'][:12]} is not available, so they cannot be searched for: give it with --terminology "
        f"(once for each source that was merged; what lies beside the checkpoints is the part that was trained on), or {allow} "
        f"to publish unsearched"
    )


def _allowing(terminology: Terminology, sources: Collection[str]) -> Terminology:
    """The terminology with these sources marked as redistributable."""
    allowed = copy(terminology)
    allowed.sources = {
        name: replace(source, redistributable=source.redistributable or name in sources)
        for name, source in terminology.sources.items()
    }
    return allowed


def _tokenizer_peer(folder: Path, run: RunData, base_model: str | Path | None) -> Path | None:
    """The folder of the model that training started from, if it is available.

    A release that has replaced its base model is not compared with itself.
    """
    for name in (base_model, run["configuration"].get("base_model"), run["base_model"], began_from(run)):
        try:
            if name and isinstance(name, str | Path) and not (peer := base_model_folder(name)).samefile(folder):
                return peer
        except InputError:
            if name == base_model:
                raise
    return None


def _searched(searched: list[str], counts: Mapping[str, Counter[Kind]], findings: Findings) -> list[str]:
    """The names that were not found, those that could not be searched for, and the allowed findings."""
    total = sum(counts.values(), Counter[Kind]())
    n_looked_for = sum(total[kind] for kind in Kind if kind not in INDISTINCT)
    lines = [
        f"no name of {', '.join(searched)} in any file: {n_looked_for:,} of {total.total():,} names are looked for "
        f"({_listed(total, [Kind.TELLING, *IN_CLAUSES])})"
    ]
    for source, of_source in counts.items():
        if untold := _listed(of_source, INDISTINCT):
            lines.append(f"{source}: not told from ordinary words, and not looked for: {untold}")
    if findings.ordinary:
        shown = ", ".join(map(repr, sorted(findings.ordinary)[:_SHOWN]))
        more = f" and {len(findings.ordinary) - _SHOWN} more" if len(findings.ordinary) > _SHOWN else ""
        lines.append(f"found, and ordinary text of a card or this package: {shown}{more}")
    for source, n in sorted(findings.pieces.items()):
        lines.append(f"{source}: {n:,} names of one word are pieces of the tokenizer not known from its base model")
    return lines


def _defined(counts: Mapping[str, Counter[str]]) -> list[str]:
    """The search for definitions, if there are any."""
    if not counts:
        return []
    total = sum(counts.values(), Counter[str]())
    n_looked_for = total[NGRAMS] + total[SHORT_DEFINITIONS]
    kinds = ", ".join(f"{total[key]:,} {key}" for key in (NGRAMS, SHORT_DEFINITIONS) if total[key])
    lines = [
        f"no definition of {', '.join(counts)}: {n_looked_for:,} of {total.total():,} are looked for"
        f"{f' ({kinds})' if kinds else ''}"
    ]
    for source, of_source in counts.items():
        if n := of_source[INDISTINCT_DEFINITIONS]:
            lines.append(f"{source}: not told from ordinary words, and not looked for: {n:,} {INDISTINCT_DEFINITIONS}")
    return lines


def _listed(counts: Mapping[Kind, int], kinds: Sequence[Kind]) -> str:
    return ", ".join(f"{counts[kind]:,} {kind.value}" for kind in kinds if counts[kind])
