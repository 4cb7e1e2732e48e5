"""Names of different concepts that an encoder which ignores case cannot tell apart, counted by columns."""

from __future__ import annotations

import random

import pytest

from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.terminology.conflicts import apart_but_for_case
from st_biomed.terminology.normalization import normalized


def terminology(**names: list[str]) -> Terminology:
    source = SourceInfo("A", "A", license="CC0-1.0", redistributable=True)
    terms = [Term(f"A:{code}", name) for code, of in names.items() for name in of]
    return Terminology.from_records([source, *terms], source)


@pytest.mark.parametrize(
    ("names", "number"),
    [
        ({"one": ["Flumpa"], "two": ["flumpa"]}, 2),
        ({"one": ["Flumpa", "FLUMPA"], "two": ["flumpa", "zorb"]}, 3),
        ({"one": ["Flumpa", "flumpa"], "two": ["zorb"]}, 0),
        ({"one": ["flumpa"], "two": ["flumpa"]}, 0),
        ({"one": ["Flumpa", "flumpa"], "two": ["flumpa"]}, 0),
        ({"one": ["ÉLA"], "two": ["éla"]}, 2),
    ],
    ids=["apart", "three texts", "of one concept", "equal", "one concept has both", "beyond ASCII"],
)
def test_names_are_counted_that_no_concept_has_together(names: dict[str, list[str]], number: int):
    """Catches variants of one concept, and equal texts, that are no negatives."""
    built = terminology(**names)
    assert apart_but_for_case(built) == number
    assert apart_but_for_case(normalized(built, "lower")) == 0


def test_the_columns_count_what_pairs_of_names_show():
    """Catches keys of names and concepts that are mixed up; the oracle compares every two names."""
    generator = random.Random(0)
    names = [word for word in ("zorb", "mimpa", "terk") for word in (word, word.upper(), word.title())]
    for _ in range(30):
        built = terminology(**{f"c{i}": generator.sample(names, 2) for i in range(4)})
        of = {text: set(built.text_concepts.row(i).tolist()) for i, text in enumerate(built.strings)}
        groups = [[text for text in of if text.lower() == word] for word in ("zorb", "mimpa", "terk")]
        apart = [group for group in groups if group and not set.intersection(*(of[text] for text in group))]
        assert apart_but_for_case(built) == sum(map(len, apart))
