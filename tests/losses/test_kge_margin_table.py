"""MS loss v3 with K from a table of a knowledge graph: lookup, missing vectors, and the cached form."""

from __future__ import annotations

import copy
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.losses.cached import CachedKGEMarginMultiSimilarityLoss
from st_biomed.losses.kge_margin_multi_similarity import KGEMarginMultiSimilarityLoss
from st_biomed.terminology.lookup import ConceptLookup
from tests.losses.bird_graph import BIRDS, GRAPH, value
from tests.losses.pair_batches import text_ids


class TestSimilarityOfTheTable:
    """K as the loss takes it from a table; cosines: bird-fish .6, bird-machine -1, fish-machine -.6."""

    labels = text_ids(BIRDS, "crane", "grus", "derrick", "carp", "cyprinus", "carp")

    def k(self, **options: Any) -> Tensor:
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS, **options)
        negatives = ~loss.lookup.same_concept(self.labels, self.labels)
        return loss._kge_similarity(self.labels, negatives, None)

    def test_of_ambiguous_texts_the_nearest_concepts_count(self):
        """Catches the first concept of a text taken for all, and a shared concept that is not 1."""
        crane, grus, derrick, fish = [1, 1, 1, 0.6], [1, 1, -1, 0.6], [1, -1, 1, -0.6], [0.6, 0.6, -0.6, 1]
        expected = torch.tensor([row + [row[3]] * 2 for row in (crane, grus, derrick, fish, fish, fish)])
        torch.testing.assert_close(self.k(), expected)

    def test_unambiguous_batches_take_the_short_way_to_the_same(self):
        """Catches a place of distinct concepts mixed up, which a batch in order of concepts cannot show."""
        labels = text_ids(BIRDS, "carp", "derrick", "grus", "cyprinus")
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS)
        row = {"f": [1, -0.6, 0.6, 1], "m": [-0.6, 1, -1, -0.6], "b": [0.6, -1, 1, 0.6]}
        torch.testing.assert_close(loss.kge(labels), torch.tensor([row[c] for c in "fmbf"]))

    def test_clipping_leaves_shared_concepts_at_one(self):
        clipped = self.k(kge_clip=(0, 0.5))
        assert clipped.min() == 0 and set(clipped.unique().tolist()) == {0, 0.5, 1}

    def test_a_missing_concept_leaves_the_others_of_a_text(self):
        """Without a vector of the bird, the ambiguous text still has the machine's; its own concept stays 1."""
        table = KGETable(["X:FISH", "X:MACHINE"], np.array([[0.6, 0.8], [-1.0, 0.0]]), model="complex")
        loss = KGEMarginMultiSimilarityLoss(None, table, lookup=BIRDS)
        k = loss._kge_similarity(self.labels, ~loss.lookup.same_concept(self.labels, self.labels), None)
        assert k[0, 3].item() == pytest.approx(-0.6) and k[1, 3].isnan() and k[0, 1] == 1 and k[1, 2].isnan()

    def test_zeros_have_no_direction(self):
        """Catches 0 / 0 in the cosine."""
        table = KGETable(GRAPH.codes[:3], np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), model="transe")
        loss = KGEMarginMultiSimilarityLoss(None, table, lookup=BIRDS)
        assert (loss.kge.n_vectors, loss.kge.n_missing) == (2, 1)
        assert loss.kge(text_ids(BIRDS, "grus", "carp")).isnan().tolist() == [[True, True], [True, False]]

    def test_codes_of_both_sides_are_counted(self):
        kge = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS).kge
        assert (kge.n_vectors, kge.n_missing, kge.n_foreign) == (3, 0, 1)

    def test_it_is_in_no_checkpoint_and_can_be_copied(self):
        """Catches a table of gigabytes in every checkpoint."""
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS)
        before = loss.kge(self.labels)
        assert not loss.state_dict()
        for copied in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
            torch.testing.assert_close(copied.kge(self.labels), before, equal_nan=True)


class TestControls:
    """K of vectors that say nothing of a concept."""

    def test_zeros_leave_one_margin_for_all_pairs(self):
        """By hand: a negative at S = .6 has the exponent 3 (2 * .6 - 1), at S = K = 0 it has -3; the positive is at .8."""
        labels = text_ids(BIRDS, "grus", "carp", "cyprinus")
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, 2, 3, graph_vectors="zeros", miner=None, lookup=BIRDS)
        embeddings = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
        near, pull = math.exp(3 * 0.2), math.log(1 + math.exp(-2 * 0.6)) / 2
        rows = [
            math.log(1 + near + math.exp(-3)) / 3,
            pull + math.log(1 + near) / 3,
            pull + math.log(1 + math.exp(-3)) / 3,
        ]
        assert value(loss, embeddings, labels).item() == pytest.approx(sum(rows) / 3, abs=1e-6)

    def test_shuffled_vectors_are_the_same_of_other_concepts(self):
        """Catches rows that are shuffled together with their codes, and a seed that is not read."""
        labels = text_ids(BIRDS, "grus", "carp", "derrick")
        original, *shuffled = (
            KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS, graph_vectors=vectors, shuffle_seed=seed).kge(
                labels
            )
            for vectors, seed in [("original", 0), *(("shuffled", seed) for seed in range(8))]
        )
        assert all(sorted(k.unique().tolist()) == sorted(original.unique().tolist()) for k in shuffled)
        assert len({tuple(k[0].tolist()) for k in shuffled}) > 2

    @pytest.mark.parametrize("vectors", ["shuffled", "zeros"])
    def test_concepts_without_a_vector_stay_without(self, vectors: str):
        table = KGETable(GRAPH.codes[:2], GRAPH.vectors[:2], model="transe")
        loss = KGEMarginMultiSimilarityLoss(None, table, lookup=BIRDS, graph_vectors=vectors)
        k = loss.kge(text_ids(BIRDS, "grus", "carp", "derrick"))
        assert k[:2, :2].isfinite().all() and k[2].isnan().all() and k[:, 2].isnan().all()
        assert loss.get_config_dict()["kge"]["vectors"] == vectors


def test_table_and_given_similarity_agree():
    """Catches K looked up with the labels of one column while the rows are those of two."""
    generator = torch.Generator().manual_seed(2)
    columns = list(torch.randn(2, 3, 4, generator=generator))
    labels = text_ids(BIRDS, "crane", "carp", "grus", "derrick", "cyprinus", "carp")
    loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS)
    k = loss._kge_similarity(labels, ~loss.lookup.same_concept(labels, labels), None)
    found = loss.compute_loss_from_embeddings(columns, labels.reshape(2, 3).T)
    assert found == value(loss, torch.cat(columns), labels, k) != 0


def test_cached_and_uncached_agree(tiny_bert):
    """Catches labels that stay behind when the names are sorted by length."""
    names = ["crane", "carp", "grus", "derrick", "cyprinus"]
    labels, results = text_ids(BIRDS, *names), []
    tiny_bert.double()
    arguments = {"kge": GRAPH, "lookup": BIRDS, "miner": None}
    for loss in (
        KGEMarginMultiSimilarityLoss(tiny_bert, **arguments),
        CachedKGEMarginMultiSimilarityLoss(tiny_bert, mini_batch_size=2, **arguments),
    ):
        tiny_bert.zero_grad()
        found = loss([dict(tiny_bert.preprocess(names))], labels)
        found.backward()
        results.append((found.detach(), [p.grad.clone() for p in tiny_bert.parameters() if p.grad is not None]))
    assert results[0][1]
    torch.testing.assert_close(*results, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0}, "alpha must be a number above 0, found 0"),
        ({"beta": "x"}, "beta must be a number above 0, found 'x'"),
        ({"missing": "v3"}, "unknown missing 'v3': allowed are 'skip', 'v1', 'v2'"),
        ({"graph_vectors": "none"}, "unknown graph_vectors 'none': allowed are 'original', 'shuffled', 'zeros'"),
        ({"kge_clip": (1, 0)}, "kge_clip must be a lower and a higher number, found (1, 0)"),
        ({"kge_clip": (0, 1, 2)}, "kge_clip must be one number or 2 numbers, found 3"),
        ({"kge": {"X:1": [1]}}, "kge must be a KGETable or None, found dict"),
        ({"kge": GRAPH}, "lookup must be a Terminology, for the codes that kge has vectors of, found NoneType"),
        ({"kge": GRAPH, "lookup": ConceptLookup(BIRDS)}, "that kge has vectors of, found ConceptLookup"),
        (
            {"kge": KGETable(["Y:1"], np.ones((1, 2)), model="m"), "lookup": BIRDS},
            "kge has a vector of none of the 3 concepts of lookup: its codes look like 'Y:1', the terminology's like 'X:BIRD'",
        ),
    ],
)
def test_bad_arguments_are_refused_when_the_loss_is_made(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        KGEMarginMultiSimilarityLoss(None, **{"kge": None, **arguments})


def test_config_names_table_and_terminology():
    config = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS, kge_clip=(0, 1)).get_config_dict()
    assert config["terminology"] == BIRDS.digest and config["kge"]["digest"] == GRAPH.digest
    assert (config["kge"]["model"], config["missing"], config["kge_clip"]) == ("complex", "v2", [0.0, 1.0])


def test_the_length_of_a_vector_does_not_count():
    """Catches inner products taken for cosines."""
    scaled = KGETable(GRAPH.codes[:3], GRAPH.vectors[:3] * np.array([[3.0], [0.5], [7.0]]), model="complex")
    labels = text_ids(BIRDS, "carp", "derrick", "grus", "cyprinus")
    of_units, of_scaled = (
        KGEMarginMultiSimilarityLoss(None, table, lookup=BIRDS).kge(labels) for table in (GRAPH, scaled)
    )
    torch.testing.assert_close(of_scaled, of_units)


def test_skipping_leaves_out_positives_without_a_vector_too():
    """Catches a positive pair that is trained with a margin of 0, where the graph says nothing of it."""
    embeddings = torch.randn(4, 5, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 2])
    unknown = torch.full((4, 4), 0.3, dtype=torch.float64)
    unknown[0, 1] = unknown[1, 0] = torch.nan
    loss = KGEMarginMultiSimilarityLoss(None, None, missing="skip", miner=None, mask_same_text=False)
    without = torch.tensor([0, 3, 1, 2])  # the same texts, of which no two belong together
    pushes = loss.compute_loss_from_embeddings([embeddings], without, kge_similarity=unknown)
    both = loss.compute_loss_from_embeddings([embeddings], labels, kge_similarity=unknown)
    torch.testing.assert_close(both, pushes)
