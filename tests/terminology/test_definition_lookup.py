"""Labels of names and definitions: which pairs are of one concept, which are of two, and which count for nothing."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.pair_loss import concept_pairs
from st_biomed.records import Definition, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.terminology.definition_lookup import DefinitionLookup
from st_biomed.terminology.lookup import ConceptLookup

SOURCE = SourceInfo("X", "X")
NAMES = {
    "RHINITIS": ["cold", "rhinitis"],
    "CHILL": ["cold", "chill"],
    "FEVER": ["fever", "pyrexia"],
    "ORGAN": ["gland", "A small organ."],
}
DEFINED = [
    ("RHINITIS", "An infection of the nose."),
    ("RHINITIS", "Running of the nose."),
    ("CHILL", "Little heat."),
    ("FEVER", "Too much heat."),
    ("ORGAN", "A part of the body."),
    ("FEVER", "What doctors look for."),
    ("ORGAN", "What doctors look for."),
    ("CHILL", "A small organ."),
]


@pytest.fixture(scope="module")
def terminology() -> Terminology:
    terms = [Term(f"X:{code}", name) for code, names in NAMES.items() for name in names]
    return Terminology.from_records([*terms, *(Definition(f"X:{c}", text) for c, text in DEFINED)], SOURCE)


def everything(terminology: Terminology) -> Tensor:
    return torch.arange(terminology.n_texts + terminology.n_definitions)


def label_rows(terminology: Terminology) -> list[tuple[str, bool, set[str]]]:
    """Of each label the string, whether it is a definition, and its concepts, from the lists above."""
    rows = [(text, False, {c for c, names in NAMES.items() if text in names}) for text in terminology.strings]
    for text in terminology.definition_strings:
        rows.append((text, True, {code for code, other in DEFINED if other == text}))
    return rows


def share_a_name(concept: str, other: str) -> bool:
    return bool(set(NAMES[concept]) & set(NAMES[other]))


def test_a_loop_over_all_pairs_gives_the_same(terminology: Terminology) -> None:
    """Catches a definition that is a negative of an ambiguous name's other concept, and of its own name."""
    lookup, labels, rows = DefinitionLookup(terminology), everything(terminology), label_rows(terminology)
    same, ignored_pairs = lookup.same_concept(labels, labels), lookup.ignored_pairs(labels, labels)
    for i, (text, defines, concepts) in enumerate(rows):
        for j, (other_text, other_defines, others) in enumerate(rows):
            assert bool(same[i, j]) == bool(concepts & others), (text, other_text)
            assert bool(lookup.same_text(labels[i : i + 1], labels[j : j + 1])) == (text == other_text)
            near = (defines or other_defines) and any(share_a_name(a, b) for a in concepts for b in others)
            expected = not concepts & others and (near or text == other_text)
            assert bool(ignored_pairs[i, j]) == expected, (text, other_text)
    assert ignored_pairs.any()


def test_pairs_by_hand(terminology: Terminology) -> None:
    lookup = DefinitionLookup(terminology)
    ids = {text: i for i, text in enumerate(terminology.strings)}
    ids |= {text: terminology.n_texts + i for i, text in enumerate(terminology.definition_strings)}
    labels = torch.tensor(
        [ids[text] for text in ("rhinitis", "chill", "cold", "An infection of the nose.", "Little heat.", "fever")]
    )
    positives, negatives = concept_pairs(labels, lookup, mask_same_text=True)
    rhinitis, chill, cold, infection, little, fever = range(6)
    assert positives[rhinitis, infection] and positives[cold, infection] and positives[cold, little]
    assert negatives[rhinitis, chill], "between names all is as before"
    for text, other in ((chill, infection), (rhinitis, little), (infection, little)):
        assert not (positives | negatives)[text, other] and not (positives | negatives)[other, text]
    assert negatives[fever, infection] and negatives[fever, little] and negatives[infection, fever]


def test_between_names_all_is_as_without_definitions(terminology: Terminology) -> None:
    """Catches a loss on names alone that changes with the lookup."""
    labels = torch.arange(terminology.n_texts)
    plain, defined = ConceptLookup(terminology), DefinitionLookup(terminology)
    assert plain.ignored_pairs(labels, labels) is None
    names = defined.ignored_pairs(labels, labels)
    assert not names.any()
    for mask in (True, False):
        for found, expected in zip(
            concept_pairs(labels, defined, mask_same_text=mask), concept_pairs(labels, plain, mask_same_text=mask)
        ):
            assert torch.equal(found, expected)
    embeddings = torch.randn(len(labels), 4, generator=torch.Generator().manual_seed(1))
    for loss in (InfoNCELoss, MultiSimilarityLoss):
        values = [
            loss(None, lookup=lookup).compute_loss_from_embeddings([embeddings], labels) for lookup in (plain, defined)
        ]
        assert torch.equal(*values)


def test_batches_of_different_sizes_and_none(terminology: Terminology) -> None:
    """Catches rows and columns exchanged, which a square batch does not show."""
    lookup, labels = DefinitionLookup(terminology), everything(terminology)
    whole = lookup.ignored_pairs(labels, labels)
    few = labels[torch.tensor([13, 2, 8])]
    assert torch.equal(lookup.ignored_pairs(few, labels), whole[few])
    assert torch.equal(lookup.ignored_pairs(labels, few), whole[:, few])
    assert lookup.ignored_pairs(labels[:0], labels).shape == (0, len(labels))
    assert lookup.ignored_pairs(few, labels[:0]).shape == (3, 0)


def test_labels_beyond_the_definitions_are_refused(terminology: Terminology) -> None:
    lookup = DefinitionLookup(terminology)
    lookup.check(everything(terminology))
    with pytest.raises(InputError, match="text ids from 0 to 6 and definitions from 7 to 14 of .* found 0 to 15"):
        lookup.check(torch.tensor([0, 15]))
    with pytest.raises(InputError, match="found -1 to 3"):
        lookup.check(torch.tensor([-1, 3]))
    with pytest.raises(InputError, match="labels are text ids from 0 to 6 .* found 0 to 14"):
        ConceptLookup(terminology).check(everything(terminology))


def test_without_definitions_there_is_none() -> None:
    with pytest.raises(InputError, match="no definitions: Terminology.TOY: .* has none"):
        DefinitionLookup(Terminology.read("toy"))


def test_it_is_pickled_and_named(terminology: Terminology) -> None:
    lookup, labels = DefinitionLookup(terminology), everything(terminology)
    again = pickle.loads(pickle.dumps(lookup))
    assert torch.equal(again.ignored_pairs(labels, labels), lookup.ignored_pairs(labels, labels))
    assert repr(lookup) == f"DefinitionLookup(7 texts, 8 definitions, terminology {terminology.digest[:12]})"


def test_no_ambiguity_at_all(terminology: Terminology) -> None:
    """Catches the short way for unambiguous texts where a definition is ambiguous."""
    plain = terminology.subset(codes=["X:RHINITIS", "X:FEVER"])
    lookup, labels = DefinitionLookup(plain), everything(plain)
    assert lookup.unambiguous and not lookup.ignored_pairs(labels, labels).any()
    both = terminology.subset(codes=["X:FEVER", "X:ORGAN"])
    assert ConceptLookup(both).unambiguous and not DefinitionLookup(both).unambiguous
