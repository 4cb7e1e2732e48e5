"""The pairs of a relation evaluator, drawn from a terminology: related, unrelated, and random of the same types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.relation.file import RANDOM, Pairs
from st_biomed.evaluators.relation.pairs import ConceptPairs, RelationPairSampler
from st_biomed.records import Tally
from st_biomed.terminology.hierarchical_relations import PARENT_RELATIONS

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

NEGATIVES = ("random", "type_matched")

_N_NULL = 10_000
"""Random pairs of a null distribution: cui2vec's 10,000 bootstrap samples (Beam et al. 2020)."""


class DrawnRelationPairs(NamedTuple):
    """The pairs that were drawn.

    Attributes:
        positives: Label to pairs; may be empty.
        negatives: Unrelated pairs, for all relations or by label.
        nulls: Label to random pairs; ``None`` if they were not requested.
        unknown: Relations that are not in the terminology, for labels that have pairs from other relations.
        tallies: Counts of read, kept and dropped rows: relations and parents for the ``positives``, ``names`` of
            those, and candidates for ``negatives`` and ``nulls``.
    """

    positives: dict[str, Pairs]
    negatives: Pairs | dict[str, Pairs]
    nulls: dict[str, Pairs] | None
    unknown: list[str]
    tallies: dict[str, Tally]


@dataclass(frozen=True, kw_only=True)
class RelationDrawSettings:
    """Settings of the draw.

    Attributes:
        negatives: ``"random"``: distinct pairs of any two concepts, one set for all relations (HiPrBERT); or
            ``"type_matched"``: for each relation, pairs with the semantic types of its own pairs, see
            :meth:`~st_biomed.evaluators.relation.pairs.RelationPairSampler.type_matched`. Concepts without a type count as
            one further type.
        n_negatives: Number of negatives; HiPrBERT's file has 5,000.
        power: Whether to draw 10,000 type-matched pairs for each relation. cui2vec draws them separately for the types
            of each pair, including related pairs; here one set has the types in the proportion of the pairs.
        max_pairs: Maximum number of concept pairs per relation, chosen at random; a relation and its inverse have the
            same.
        min_pairs: Minimum number of pairs of a relation if no relations are named; no negatives are drawn for a
            relation with fewer.
        keys: ``"names"``, or ``"codes"`` for a table of vectors of concepts.
        names_per_pair: Number of name pairs per pair of concepts, drawn from all their names; by default one, the
            preferred names. They are drawn for each relation, so a relation and its inverse share only some of them, and
            each counts as a unit: intervals are too narrow and tests reject too often. Give it for figures alone.
        seed: Random seed; neither the random negatives nor the draw for a relation depend on the other relations.
    """

    negatives: str = "random"
    n_negatives: int = 5000
    power: bool = False
    max_pairs: int = 5000
    min_pairs: int = 50
    keys: str = "names"
    names_per_pair: int | None = None
    seed: int = 0

    def check(self) -> None:
        """Reject settings that are invalid for any terminology.

        Raises:
            InputError: Unknown negatives, or a number below 1.
        """
        check_name("value of negatives", self.negatives, NEGATIVES)
        for name in ("n_negatives", "max_pairs", "min_pairs"):
            if (value := getattr(self, name)) < 1:
                raise InputError(f"{name} must be at least 1, found {value}")


AS_HIPRBERT = RelationDrawSettings()
"""Random negatives, as many as in HiPrBERT's file."""


def draw_relation_pairs(
    terminology: Terminology,
    relations: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    settings: RelationDrawSettings = AS_HIPRBERT,
    *,
    concepts: np.ndarray | Sequence[int] | None = None,
) -> DrawnRelationPairs:
    """Draw related pairs of each relation, and unrelated pairs.

    A pair is unrelated if its texts cannot name the same concept, or two concepts connected by any relation or parent
    in either direction. All concepts of a name in the whole terminology are checked.

    Args:
        terminology: Concepts, names, relations, parents and types.
        relations: Names of relations, or label to several relations that count as one; all by default. ``isa`` and
            ``inverse_isa`` include the parents, to which readers map the ``isa`` of a source.
        settings: Settings of the draw.
        concepts: Indices of concepts, or a mask ``[C]``, that both ends of every pair belong to, e.g. concepts held
            out of training, or concepts with a vector in a table.

    Raises:
        InputError: A setting out of range, a list that is empty or has repeats, no unrelated pair, or no types
            although they are needed.
    """
    settings.check()
    draw = RelationPairSampler(
        terminology,
        concepts=concepts,
        keys=settings.keys,
        names_per_pair=settings.names_per_pair,
        seed=settings.seed,
    )
    groups = _groups(draw.relations if relations is None else relations)
    tallies = {stage: Tally() for stage in ("positives", "names", "negatives", "nulls")}
    positives: dict[str, Pairs] = {}
    typed: dict[str, Pairs] = {}
    nulls: dict[str, Pairs] = {}
    for label, members in groups.items():
        chosen = draw.positives(members, settings.max_pairs, tallies["positives"])
        named = draw.strings(draw.named(chosen, label))
        positives[label] = [(left, right) for left, right in named if left != right]
        tallies["names"].read(len(named))
        tallies["names"].keep(len(positives[label]))
        tallies["names"].drop("one name for both", len(named) - len(positives[label]))
        if len(positives[label]) < (settings.min_pairs if relations is None else 1):
            continue
        if settings.negatives == "type_matched":
            typed[label] = _type_matched(draw, chosen, settings.n_negatives, label, "negatives", tallies)
        if settings.power:
            nulls[label] = _type_matched(draw, chosen, _N_NULL, label, "nulls", tallies)
    one_set: Pairs = []
    if settings.negatives == "random":
        n = settings.n_negatives
        one_set = draw.strings(draw.unrelated(draw.random(n), n, RANDOM, tallies["negatives"]))
    known = {*draw.relations, *(PARENT_RELATIONS if terminology.parents.num_rows else ())}
    unknown = [name for label in groups if positives[label] for name in groups[label] if name not in known]
    return DrawnRelationPairs(positives, typed or one_set, nulls if settings.power else None, unknown, tallies)


def _type_matched(
    draw: RelationPairSampler, chosen: ConceptPairs, n: int, label: str, purpose: str, tallies: Mapping[str, Tally]
) -> Pairs:
    """Unrelated pairs with the types of given ones; the label and the purpose tell draws apart."""
    label = f"{label} {purpose}"
    return draw.strings(draw.unrelated(draw.type_matched(chosen, n, label), n, label, tallies[purpose]))


def _groups(relations: Sequence[str] | Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Label to relations that count as one."""
    if not relations or isinstance(relations, str):
        raise InputError(f"relations: expected a list with at least one name, found {relations!r}")
    if isinstance(relations, Mapping):
        return {label: list(names) for label, names in relations.items()}
    if len(set(relations)) < len(relations):
        twice = next(name for i, name in enumerate(relations) if name in relations[:i])
        raise InputError(f"relations: {twice!r} occurs twice")
    return {name: [name] for name in relations}
