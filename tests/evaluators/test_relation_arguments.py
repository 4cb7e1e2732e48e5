"""Relations held out by a recipe: which of them are measured, and when none is."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import RelationDrawSettings, RelationEvaluator
from st_biomed.evaluators.relation import arguments
from st_biomed.evaluators.relation.arguments import NAME, RelationArguments
from st_biomed.records import Relation, Term
from tests.evaluators.relation_terminologies import named, terminology

CODES = [f"G:gland{i}" for i in range(8)]
NEAR = [Relation(CODES[i], "near", CODES[i + 1]) for i in range(4)]
GLANDS = terminology(*named(*CODES), *NEAR, Relation(CODES[0], "part_of", CODES[7]))
ALL = np.ones(len(CODES), dtype=bool)


def held_out(whole, chosen=ALL, least=4, **settings):
    settings = {"least_relation_pairs": least, **settings}
    return RelationArguments(**settings).hold_out_relations(whole, whole, chosen, 3, n_bootstrap=0)


def test_the_relations_with_enough_pairs_are_measured(monkeypatch):
    """Catches other pairs than those of the evaluator's own draw, and pairs that are drawn twice."""
    draw, times = arguments.draw_relation_pairs, []
    for module in ("arguments", "evaluator"):
        counted = f"st_biomed.evaluators.relation.{module}.draw_relation_pairs"
        monkeypatch.setattr(counted, lambda *given, **named: times.append(1) or draw(*given, **named))
    train, test = held_out(GLANDS)
    assert train.relations.num_rows == 0 and len(times) == 1
    assert list(test.positives) == ["near"] and test.missing == {"part_of": 1} and test.name == NAME
    expected = RelationEvaluator.from_terminology(
        GLANDS, None, RelationDrawSettings(min_pairs=4, seed=3), concepts=ALL
    )
    assert test.pairs_digest == expected.pairs_digest and test.drawn == expected.drawn


@pytest.mark.parametrize(
    ("whole", "chosen", "least"),
    [
        (GLANDS, ALL, 5),
        (GLANDS, ~ALL, 1),
        (GLANDS, np.arange(8) == 0, 1),
        (terminology(*named(*CODES)), ALL, 1),
        # Two concepts with one name are a pair of concepts and none of names.
        (terminology(*named(*CODES), Term("G:other", "gland0"), Relation(CODES[0], "near", "G:other")), None, 1),
        (GLANDS, ALL, 6_000),  # more than are drawn of a relation
    ],
)
def test_no_relation_with_enough_pairs_is_measured_by_nothing(whole, chosen, least):
    """Catches an error at the start of a training for a relation whose pairs have one name for both."""
    chosen = np.ones(whole.n_concepts, dtype=bool) if chosen is None else chosen
    assert held_out(whole, chosen, least).test is None


def test_a_list_without_a_pair_is_an_error():
    with pytest.raises(InputError, match="^relations: none of .* has 1 pairs or more"):
        held_out(GLANDS, relation_list="hiprbert_clinical")
