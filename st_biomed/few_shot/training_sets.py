"""The training sets of a few-shot encoder: high-level concepts of a terminology, or of a table of names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_table
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data.high_level_concepts import N_LARGEST, NameCounts, child_concepts, top_concepts

if TYPE_CHECKING:
    from st_biomed.few_shot.frozen_encoder import FrozenEncoder

_TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class TrainingSet:
    """Names of high-level concepts.

    Attributes:
        name: Its name in tables, e.g. ``"ICD-10"``.
        concepts: Code of each concept to its names.
        titles: Code to the title of the concept.
        statistics: The figures of the paper's Table 2 for it.
    """

    name: str
    concepts: Mapping[str, Sequence[str]]
    titles: Mapping[str, str]
    terminology: Terminology
    statistics: str

    def without_names(self, names: Collection[str]) -> TrainingSet:
        """The same set without some names; a concept that loses all of its names is kept without names."""
        removed_names = set(names)
        concepts = {
            code: [name for name in of_one if name not in removed_names] for code, of_one in self.concepts.items()
        }
        return replace(self, concepts=concepts)

    def concept_of(self, name: str) -> str | None:
        """The concept of a name, compared without case; none if the name is not in the set."""
        lowered = name.strip().lower()
        return next((code for code, names in self.concepts.items() if lowered in map(str.lower, names)), None)


def open_training_sets(
    written: Sequence[str],
    *,
    names: str = "preferred",
    largest: int | None = N_LARGEST,
    leave_out: Collection[str] = (),
) -> list[TrainingSet]:
    """Read the training sets of a command.

    Args:
        written: ``NAME=SOURCE`` for the tops of the trees of a terminology ("We select the 21 chapters as concept
            labels", Fivez et al. 2021, section 2.3), ``NAME=SOURCE#CODE`` for the children of a concept ("the
            first-degree child nodes of concept C0012634"), ``NAME=TABLE`` for a ``.csv`` or ``.tsv`` with the columns
            ``concept`` and ``name``. A source is an argument of ``Terminology.open``.
        names: ``"preferred"`` or ``"all"`` names of a code.
        largest: Number of children of a concept to keep.
        leave_out: Codes that are not used as concepts, in the sets that have them. A code of a source that no set
            uses, for example from a settings file, is ignored with a message.

    Raises:
        InputError: As in :func:`sources_of`, a source that cannot be read, a code that no set has, or invalid concepts
            of a set.
    """
    sets: list[TrainingSet] = []
    leave_out = [code for code in leave_out if code]
    unknown = set(leave_out)
    for name, source in sources_of(written).items():
        if _is_table(source) and Path(source).is_file():
            made, left_out = _of_table(name, Path(source), leave_out)
        else:
            made, left_out = _of_terminology(name, source, names=names, largest=largest, leave_out=leave_out)
        sets.append(made)
        unknown -= left_out
    known = {_source_of(code) for training_set in sets for code in training_set.concepts}
    if wrong := sorted(code for code in unknown if not _source_of(code) or _source_of(code) in known):
        raise InputError(f"leave_out: {', '.join(wrong)}: no training set has such a concept")
    if unknown:
        print(f"leave_out: {', '.join(sorted(unknown))}: of no training set here")
    return sets


def _source_of(code: str) -> str:
    """The part before the colon of a code."""
    prefix, colon, _ = code.partition(":")
    return prefix if colon else ""


def _is_table(source: str) -> bool:
    return Path(source.removesuffix(".gz")).suffix in _TABLES


def sources_of(written: Sequence[str]) -> dict[str, str]:
    """Names of training sets, and the text after the first equals sign.

    Raises:
        InputError: No sets, an invalid form, a repeated name, or a missing table.
    """
    sources: dict[str, str] = {}
    for argument in written:
        name, _, source = argument.partition("=")
        if not (name and source):
            raise InputError(
                f"training_sets must have the form NAME=SOURCE, NAME=SOURCE#CODE or NAME=TABLE, found {argument!r}"
            )
        if set(name) & set("/\\"):
            raise InputError(f"training_sets: a name is part of a folder's name and has no / or \\, found {name!r}")
        if name in sources:
            raise InputError(f"training_sets: two have the name {name!r}")
        if _is_table(source) and not Path(source).is_file() and ":" not in source:
            raise InputError(f"training_sets: {name}: no such file: {source}")
        sources[name] = source
    if not sources:
        raise InputError("training_sets: expected at least one, found none")
    return sources


def _of_terminology(
    name: str, source: str, *, names: str, largest: int | None, leave_out: Collection[str]
) -> tuple[TrainingSet, set[str]]:
    """The set, and the codes of its concepts that were left out."""
    place, _, root = source.partition("#")
    terminology = Terminology.open(place)
    hierarchy = Hierarchy(terminology)
    among = hierarchy.children.row(terminology.concept(root)) if root else hierarchy.graph.roots
    removed_codes = {terminology.codes[concept] for concept in among} & set(leave_out)
    if root:
        concepts = child_concepts(hierarchy, root, names=names, largest=largest, leave_out=removed_codes)
    else:
        concepts = top_concepts(hierarchy, names=names, leave_out=removed_codes)
    return TrainingSet(name, concepts.names, concepts.titles, terminology, str(concepts)), removed_codes


def _of_table(name: str, path: Path, leave_out: Collection[str]) -> tuple[TrainingSet, set[str]]:
    concepts: dict[str, list[str]] = {}
    for line, (concept, text) in read_table(path, ["concept", "name"]):
        if not concept.strip() or not text.strip():
            raise InputError(f"{path}:{line}: expected a concept and a name, found {concept!r} and {text!r}")
        concepts.setdefault(concept.strip(), []).append(text.strip())
    removed_codes = concepts.keys() & set(leave_out)
    concepts = {code: of_one for code, of_one in concepts.items() if code not in removed_codes}
    if not concepts:
        raise InputError(f"{path}: contains no concept")
    terms = [Term(f"{name}:{code}", text, "synonym") for code, of_one in concepts.items() for text in of_one]
    titles = [Term(f"{name}:{code}", code) for code in concepts]
    terminology = Terminology.from_records([*titles, *terms], SourceInfo(name, path.name))
    counts = NameCounts.of([len(of_one) for of_one in concepts.values()])
    statistics = f"{counts.concepts} concepts, names: {counts.least} to {counts.most}, {counts.mean:.0f} on average"
    return TrainingSet(name, concepts, {code: code for code in concepts}, terminology, statistics), removed_codes


def with_known_words(training_set: TrainingSet, encoder: FrozenEncoder) -> TrainingSet:
    """The set without names of which no word has a word vector; the coverage is printed.

    Args:
        encoder: The input of the few-shot encoder; one that splits words into pieces knows all.
    """
    print(f"{training_set.name}: {training_set.terminology!r}\n{training_set.statistics}")
    coverage = encoder.coverage([name for names in training_set.concepts.values() for name in names])
    if coverage is None:
        return training_set
    print(f"{training_set.name}: {coverage}")
    return training_set.without_names(coverage.without_words)
