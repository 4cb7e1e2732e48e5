"""The options of all kinds of batches: the attributes of their plan, and nothing else."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.samplers import (
    DefinitionBatches,
    GraphBatches,
    HardNegativeBatches,
    HierarchyBatches,
    ShuffledBatches,
    SynonymBatches,
)
from st_biomed.samplers.batch_factories import TerminologyBatches
from st_biomed.terminology import Terminology

TOY = Terminology.read("toy", definitions=True)
PLANNED: dict[type[TerminologyBatches], dict[str, Any]] = {
    DefinitionBatches: {"siblings": 0.5},
    GraphBatches: {"max_pairs_per_concept": 3, "pivot_language": None},
    HardNegativeBatches: {"prototypes": 2, "neighbors": 5, "candidate_sources": ("TOY",)},
    HierarchyBatches: {"partners": (1, 2), "names_per_partner": 2},
    SynonymBatches: {"max_pairs_per_concept": 3},
}


def test_every_kind_of_batches_is_tested():
    assert set(PLANNED) == set(TerminologyBatches.__subclasses__())


@pytest.mark.parametrize("kind", PLANNED, ids=lambda kind: kind.__name__)
def test_batches_take_the_attributes_of_their_plan(kind: type[TerminologyBatches]):
    """Would catch an option that gets lost, and batches that take the plan as a whole alone."""
    made = kind.of(TOY, **PLANNED[kind])
    plan = getattr(made, "plan", made)
    assert isinstance(plan, kind.plan_class)
    assert {name: getattr(plan, name) for name in PLANNED[kind]} == PLANNED[kind]


@pytest.mark.parametrize("name", ["max_pairs", "rows", "distance"])
@pytest.mark.parametrize("kind", PLANNED, ids=lambda kind: kind.__name__)
def test_an_unknown_option_is_one_line_with_the_allowed_ones(kind: type[TerminologyBatches], name: str):
    """Would catch a traceback of a constructor, which names what a person cannot give as well."""
    allowed = ", ".join(sorted(repr(attribute.name) for attribute in fields(kind.plan_class)))
    with pytest.raises(InputError) as error:
        kind.of(TOY, **{name: 3})
    assert str(error.value).startswith(f"unknown option of {kind.__name__} {name!r}: allowed are {allowed}")
    assert "\n" not in str(error.value)


def test_plans_of_hard_negatives_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="neighbors must be an integer of at least 1, found 0"):
        HardNegativeBatches.of(TOY, neighbors=0)


@pytest.mark.parametrize("kind", PLANNED)
@pytest.mark.parametrize("wrong", ["toy", Hierarchy(TOY).graph])
def test_what_is_no_terminology_makes_no_batches(kind: type[TerminologyBatches], wrong: Any):
    with pytest.raises(InputError, match=f"^terminology must be a Terminology, found {type(wrong).__name__}$"):
        kind.of(wrong)


def test_what_is_no_dataset_makes_no_batches():
    for kind in PLANNED:
        with pytest.raises(InputError, match="^dataset must be a Dataset, found list$"):
            kind.of(TOY, dataset=["flumpa"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="^dataset must be a Dataset, found Terminology$"):
        ShuffledBatches.of(TOY)  # type: ignore[arg-type]
