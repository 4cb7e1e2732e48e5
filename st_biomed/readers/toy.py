"""An invented terminology of any size, for tests and examples: glands that nobody has, and their diseases.

The names have the regularities of real ones. Siblings share a head ("grudthic flumpa disease", "skarkic flumpa
disease"), a child adds a word to its parent, and synonyms follow a few patterns ("grudthic disease of the flumpa"). A
tiny encoder can learn them on some trees and be measured on others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.records import Definition, Parent, Record, Relation, SourceInfo, Tally, Term, Type

SOURCE = SourceInfo(
    name="TOY",
    title="Toy terminology",
    version="1",
    license="CC0-1.0",
    url="st_biomed/readers/toy.py",
    redistributable=True,
)

# The lengths are pairwise coprime, so that iterating over the three lists together gives 12 * 5 * 7 different stems.
_ONSETS = ("fl", "gr", "sk", "v", "n", "br", "kl", "m", "dr", "t", "pr", "zh")
_VOWELS = ("u", "a", "i", "o", "e")
_CODAS = ("mp", "dth", "rk", "gl", "bz", "lph", "rst")
_N_STEMS = len(_ONSETS) * len(_VOWELS) * len(_CODAS)


def records(
    path: Path | None = None,
    *,
    tally: Tally,
    trees: int = 7,
    depth: int = 3,
    branching: int = 4,
    synonyms: int = 3,
    definitions: bool = False,
) -> Iterator[Record]:
    """Invent the diseases of ``trees`` glands, each a tree of concepts, and the glands.

    Every second pair of neighboring trees also shares one disease with two parents and one string that names a
    disease in both. Relations are ``has_site``, ``adjacent_to`` and ``progresses_to``; types ``disorder`` and
    ``organ``. The same arguments always give the same records.

    Args:
        path: Must be ``None``; nothing is read.
        tally: Counts the names and definitions.
        trees: Number of glands, and so of disease trees; 7 by default.
        depth: Levels of each tree; 3 by default.
        branching: Children of each disease that is not a leaf; 4 by default.
        synonyms: Maximum number of synonyms of a disease, 0 to 3 (default); successive concepts have 0, 1, ...
            synonyms in turn.
        definitions: Whether four in five of the diseases, and all glands, have a definition; off by default.

    Raises:
        InputError: A path was given, or a number is out of range.
    """
    if path is not None:
        raise InputError(f"reader 'toy' takes no path, found {str(path)!r}")
    for name, value in (("trees", trees), ("depth", depth), ("branching", branching)):
        if value < 1:
            raise InputError(f"{name} of reader 'toy' must be at least 1, found {value}")
    if not 0 <= synonyms <= 3:
        raise InputError(f"synonyms of reader 'toy' must be 0 to 3, found {synonyms}")
    if trees + (depth - 1) * branching > _N_STEMS:
        raise InputError(
            f"reader 'toy' has {_N_STEMS} words: trees + (depth - 1) * branching must not exceed this, "
            f"found {trees + (depth - 1) * branching}"
        )
    for record in _records(trees, depth, branching, synonyms):
        if isinstance(record, Definition) and not definitions:
            continue
        if isinstance(record, Term | Definition):
            tally.read_kept()
        yield record


def _records(trees: int, depth: int, branching: int, synonyms: int) -> Iterator[Record]:
    glands = [_stem(tree) + "a" for tree in range(trees)]
    # One list of adjectives per level, shared by all trees: only the gland distinguishes the trees.
    adjectives = [
        [_stem(trees + level * branching + child) + "ic" for child in range(branching)] for level in range(depth - 1)
    ]
    yield from _glands(glands)
    n_diseases = 0
    for tree, gland in enumerate(glands):
        for level in range(depth):
            for branch in product(range(branching), repeat=level):
                code = _disease(tree, branch)
                words = [adjectives[i][child] for i, child in enumerate(branch)][::-1]
                yield from _names(code, words, gland, n_diseases, synonyms)
                if n_diseases % 5 != 4:
                    yield Definition(code, _definition(words, gland))
                yield Type(code, "disorder")
                yield Relation(code, "has_site", f"TOY:G{tree}")
                if branch:
                    yield Parent(code, _disease(tree, branch[:-1]))
                if branch and branch[-1] > 0:
                    yield Relation(_disease(tree, (*branch[:-1], branch[-1] - 1)), "progresses_to", code)
                n_diseases += 1
    for tree in range(0, trees - 1, 2):
        yield from _shared(tree, glands, adjectives)


def _glands(glands: list[str]) -> Iterator[Record]:
    yield Term("TOY:G", "gland")
    yield Type("TOY:G", "organ")
    for tree, gland in enumerate(glands):
        code = f"TOY:G{tree}"
        yield Term(code, f"{gland} gland")
        yield Term(code, gland, "synonym")
        yield Definition(code, f"An organ that nobody has, which makes the juice of the {gland}.")
        yield Type(code, "organ")
        yield Parent(code, "TOY:G")
        if tree:
            yield Relation(f"TOY:G{tree - 1}", "adjacent_to", code)


def _names(code: str, words: list[str], gland: str, number: int, synonyms: int) -> Iterator[Term]:
    """The preferred name and ``number % (synonyms + 1)`` of three phrase patterns, with a changing first pattern."""
    yield Term(code, " ".join([*words, gland, "disease"]))
    turns = (
        " ".join([*words, "disease of the", gland]),
        " ".join([*words, gland, "disorder"]),
        f"{gland} disease, {' '.join([*words, 'type']) if words else 'unspecified'}",
    )
    for turn in range(number % (synonyms + 1)):
        yield Term(code, turns[(number + turn) % 3], "synonym")


def _definition(words: list[str], gland: str) -> str:
    """The definition of a disease: its parent, and the property that its first adjective adds."""
    if not words:
        return f"A condition in which the {gland} makes too much or too little of its juice."
    above = " ".join([*words[1:], gland, "disease"])
    return f"Any {above} in which the tissue of the {gland} is found to be {words[0]} under the microscope."


def _shared(tree: int, glands: list[str], adjectives: list[list[str]]) -> Iterator[Record]:
    """The shared part of a tree and the next one: a disease with two parents, and an ambiguous string."""
    code, first_gland, second_gland = f"TOY:S{tree}", glands[tree], glands[tree + 1]
    yield Term(code, f"{first_gland} and {second_gland} disease")
    yield Term(code, f"disease of the {first_gland} and the {second_gland}", "synonym")
    yield Type(code, "disorder")
    for parent in (tree, tree + 1):
        yield Parent(code, _disease(parent, ()))
        yield Relation(code, "has_site", f"TOY:G{parent}")
        if adjectives:
            child = tree // 2 % len(adjectives[0])
            yield Term(_disease(parent, (child,)), f"{adjectives[0][child]} disease", "synonym")


def _disease(tree: int, branch: tuple[int, ...]) -> str:
    return "TOY:D" + ".".join(map(str, (tree, *branch)))


def _stem(number: int) -> str:
    return _ONSETS[number % len(_ONSETS)] + _VOWELS[number % len(_VOWELS)] + _CODAS[number % len(_CODAS)]
