"""The rule of :mod:`st_biomed.release.privacy`, run again on a folder that is about to leave."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError, unknown_name
from st_biomed.release.card import BiomedCard
from st_biomed.release.folder import LICENCE_NOTE, base_model_folder
from st_biomed.release.privacy import LEAST_CHARACTERS, LEAST_WORDS, check_release, count_searched
from st_biomed.release.run_data import RunData, TerminologyData
from st_biomed.terminology import Terminology


def recheck(
    folder: str | Path,
    run: RunData,
    terminologies: Sequence[Terminology] = (),
    *,
    allow_sources: Collection[str] = (),
    base_model: str | Path | None = None,
) -> str:
    """Whether a release folder may leave, told in a line.

    ``run.json`` names what the model was trained and measured on by digest, and what the models that it started from were.
    Of these, every terminology with a source
    that may not be redistributed has to be at hand: among ``terminologies``, as the merge of them, saved beside the
    checkpoints (``<folder>-training/terminology*``), or as the folders that the recipe read.

    Args:
        folder: The release folder.
        run: Its record.
        terminologies: What was trained and measured on.
        allow_sources: Names of sources whose names may leave; they are not searched for.
        base_model: What training started from, whose tokenizer the released one may equal; by default what the record
            says, where it is within reach.

    Raises:
        InputError: A source of ``allow_sources`` that the record does not know, a terminology that is not at hand, a
            breach of the rule, or a folder that does not load.
    """
    folder = Path(folder)
    read = [*run["terminologies"], *(each for stage in run["earlier"] for each in stage["terminologies"])]
    recorded = list({each["digest"]: each for each in read}.values())
    sources = {source["name"]: source for each in recorded for source in each["sources"]}
    for name in allow_sources:
        if name not in sources:
            raise unknown_name("source of allow_source", name, sources)
    restricted = [name for name, source in sources.items() if not source["redistributable"]]
    searched = sorted(set(restricted) - set(allow_sources))
    needed = [each for each in recorded if {source["name"] for source in each["sources"]} & set(searched)]
    at_hand = _at_hand(folder, run, terminologies, {each["digest"] for each in needed})
    if missing := [each for each in needed if each["digest"] not in at_hand]:
        raise InputError(_how_to_give(folder, missing[0], searched))
    model = load_encoder(folder, device="cpu")
    judged = [_allowing(terminology, allow_sources) for terminology in at_hand.values()]
    check_release(
        folder,
        judged,
        _tokenizer_peer(run, base_model),
        rendered_empty_card=BiomedCard.from_run(run).rendered_empty(model) + LICENCE_NOTE,
    )
    counts = count_searched([one for one in judged if one.digest in {each["digest"] for each in needed}])
    return _verdict(recorded, counts, searched, sorted(set(restricted) & set(allow_sources)))


def _at_hand(folder: Path, run: RunData, given: Sequence[Terminology], needed: set[str]) -> dict[str, Terminology]:
    """Terminologies by digest: those given, and of those that lie where the recipe had them as many as are needed."""
    found = {terminology.digest: terminology for terminology in given}
    if len(given) > 1 and needed - found.keys():
        merged = Terminology.merge(*given)
        found[merged.digest] = merged
    read = run["configuration"].get("terminology") or []
    work = folder.with_name(f"{folder.name}-training")
    beside = [[str(place)] for place in sorted(work.glob("terminology*"))]
    beside.append([read] if isinstance(read, str) else read)
    for places in beside:
        if needed - found.keys() and places and all((Path(place) / "terminology.json").is_file() for place in places):
            saved = (
                Terminology.merge(*map(Terminology.load, places)) if len(places) > 1 else Terminology.load(places[0])
            )
            found[saved.digest] = saved
    return found


def _how_to_give(folder: Path, missing: TerminologyData, searched: list[str]) -> str:
    held = [source["name"] for source in missing["sources"] if source["name"] in searched]
    allow = " ".join(f"--allow-source {name}" for name in held)
    return (
        f"{folder}: names of {', '.join(held)} may not be redistributed, and the terminology with digest "
        f"{missing['digest'][:12]} is not at hand, so that they cannot be searched for: give it with --terminology "
        f"(once for each source that was merged), or {allow} to publish unsearched"
    )


def _allowing(terminology: Terminology, sources: Collection[str]) -> Terminology:
    """The terminology as if these sources may be redistributed."""
    allowed = copy(terminology)
    allowed.sources = {
        name: replace(source, redistributable=source.redistributable or name in sources)
        for name, source in terminology.sources.items()
    }
    return allowed


def _tokenizer_peer(run: RunData, base_model: str | Path | None) -> Path | None:
    """The folder of the model that training started from, as far as it is within reach."""
    if base_model is not None:
        return base_model_folder(base_model)
    for name in (run["configuration"].get("base_model"), run["base_model"]):
        try:
            if name:
                return base_model_folder(name)
        except InputError:
            continue
    return None


def _verdict(
    recorded: Sequence[TerminologyData], counts: tuple[int, int], searched: list[str], allowed: list[str]
) -> str:
    if not recorded:
        return "no terminology is recorded; files and tokenizer are as the rule has them"
    said = "" if searched or allowed else "every source may be redistributed"
    if searched:
        looked_for, known = counts
        said = (
            f"no name of {', '.join(searched)} in any file ({looked_for:,} of {known:,} names searched for: those with at "
            f"least {LEAST_WORDS} words or {LEAST_CHARACTERS} characters)"
        )
    if allowed:
        said += f"{'; ' if said else ''}{', '.join(allowed)}: allowed to leave by --allow-source, not searched for"
    return said
