"""The entity linking evaluator: its contract, intervals, predictions, the comparison of two models, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import EntityLinkingEvaluator, table_embedder
from st_biomed.linking_data.records import LinkingDictionary
from tests.contracts.evaluator_contract import EvaluatorContract
from tests.evaluators.linking_by_hand import (
    ANGLES,
    ENTRIES,
    MENTIONS,
    at_angles,
    dataset,
    hand_made,
    measured,
    mention,
)


class TestEntityLinkingEvaluatorContract(EvaluatorContract):
    evaluator_class = EntityLinkingEvaluator
    chance = 1 / 40

    def make(self, **options):
        entries = [(f"name {i} of", [f"MESH:X{i}"]) for i in range(40)]
        return EntityLinkingEvaluator(
            dataset(entries, [mention(f"mimpic {i} x", f"X{i}") for i in range(40)]), **options
        )

    def perfect(self, texts):
        return np.eye(40)[[int(text.split()[1]) for text in texts]]

    def opposite(self, texts):
        return self.perfect(texts) * np.array([[-1 if text.startswith("mimpic") else 1] for text in texts])


def test_intervals_stand_around_the_accuracy_and_documents_can_be_drawn(caplog):
    by_mention, by_document = measured(n_bootstrap=500), measured(n_bootstrap=500, by_document=True)
    for metrics in (by_mention, by_document):
        assert 0 < metrics["acc@1_low"] < metrics["acc@1"] == 0.6 < metrics["acc@1_high"] <= 1
    assert by_mention != by_document
    assert measured(n_bootstrap=500) == by_mention
    assert measured(n_bootstrap=3, bootstrap_seed=1) != measured(n_bootstrap=3, bootstrap_seed=2)
    with pytest.raises(InputError, match="by_document: 1 of 1 mentions have no document"):
        EntityLinkingEvaluator(dataset(ENTRIES, [mention("krents", "X3")]), by_document=True)
    alone = [replace(mention(text, "X3"), document="d") for text in ("krents", "krent")]
    EntityLinkingEvaluator(dataset(ENTRIES, alone), by_document=True)
    assert "one document: intervals by document have no width" in caplog.text


def test_predictions_name_what_was_found():
    evaluator = hand_made()
    assert evaluator.predictions is None
    evaluator.measure(at_angles)
    assert len(evaluator.predictions) == 10
    composite = evaluator.predictions[3]
    assert (composite.mention, composite.rank) == (MENTIONS[3], 3)
    first, second = composite.candidates
    assert [candidate.name for candidate in first][:3] == ["krent", "Krent", "vosk"]
    assert second[0].name == "vosk" and second[0].ids == {"MESH:X5"}
    assert second[0].score == pytest.approx(np.cos(np.deg2rad(2)), abs=1e-6)
    assert [wrong.mention for wrong in evaluator.predictions.errors()] == [MENTIONS[i] for i in (3, 5, 6, 10)]
    assert [wrong.mention for wrong in evaluator.predictions.errors(k=5)] == [MENTIONS[6]]
    with pytest.raises(InputError, match=f"k must be from 1 to {evaluator.depth}, the number of ranked candidates"):
        list(evaluator.predictions.errors(k=evaluator.depth + 1))
    assert evaluator.predictions[-1] == evaluator.predictions[9] and evaluator.predictions[9].mention == MENTIONS[-1]
    with pytest.raises(IndexError):
        evaluator.predictions[10]


def test_of_equal_mentions_the_first_is_kept():
    """Would catch I in the place of A: the refined set and the predictions would name another document."""
    evaluator = hand_made(dedup_queries=True)
    assert evaluator.queries.mentions == [MENTIONS[i] for i in (0, 1, 2, 3, 4, 5, 6, 9, 10)]


def test_two_models_are_compared_on_the_same_mentions():
    """Eight more mentions right, none wrong: 2 of 256 signs are as far; would catch a comparison of ranks, not of hits."""
    names = [(f"name {i}", [f"MESH:X{i}"]) for i in range(8)]
    mentions = [mention(f"mimpic {i}", f"X{i}", document=f"d{i // 4}") for i in range(8)]
    evaluator = EntityLinkingEvaluator(dataset(names, mentions))
    contract = TestEntityLinkingEvaluatorContract()
    as_first_word = lambda embed: lambda texts: embed([f"{text.split()[0]} {text.split()[1]} x" for text in texts])
    evaluator.measure(as_first_word(contract.perfect))
    good = evaluator.predictions
    evaluator.measure(as_first_word(contract.opposite))
    test = good.compare(evaluator.predictions)
    assert (test.difference, test.low, test.high, test.n) == (1, 1, 1, 8)
    assert test.p_value == pytest.approx(2 / 256, abs=0.003)
    assert evaluator.predictions.compare(good).difference == -1
    assert good.compare(good).p_value == 1
    assert good.compare(evaluator.predictions, by_document=True).p_value == pytest.approx(1 / 2, abs=0.03)
    lost = list(good.lost(evaluator.predictions))
    assert [(hit.rank, hit.mention) for hit, _ in lost] == [(1, mention) for mention in mentions]
    assert all(hit.rank > 1 for _, hit in lost) and not list(evaluator.predictions.lost(good))
    other = hand_made()
    other.measure(at_angles)
    with pytest.raises(InputError, match="8 and 10 mentions, which differ"):
        good.compare(other.predictions)
    with pytest.raises(InputError, match="8 and 10 mentions, which differ"):
        list(good.lost(other.predictions))
    other = EntityLinkingEvaluator(dataset(ENTRIES, [MENTIONS[0]] * 8))
    other.measure(at_angles)
    with pytest.raises(InputError, match="8 and 8 mentions, which differ"):
        good.compare(other.predictions)


def test_two_models_are_compared_at_a_k():
    """One has each answer first, the other second. Catches a comparison at 1 whatever k is."""
    data = dataset([("aa", ["MESH:X1"]), ("bb", ["MESH:X2"])], [mention("zorb", "X1"), mention("flumpa", "X1")])
    evaluator = EntityLinkingEvaluator(data, ks=(1, 2), recall_ks=(), n_bootstrap=0)
    predictions = []
    for of_mentions in ([1.0, 0.5], [0.5, 1.0]):
        vectors = {"aa": [1.0, 0.0], "bb": [0.0, 1.0], "zorb": of_mentions, "flumpa": of_mentions}
        evaluator.measure(table_embedder(list(vectors), np.array(list(vectors.values()))))
        predictions.append(evaluator.predictions)
    better, worse = predictions
    assert [better.compare(worse, k=k, n_resamples=20).difference for k in (1, 2)] == [1, 0]
    assert [len(list(better.lost(worse, k=k))) for k in (1, 2)] == [2, 0]


def test_the_table_shows_raw_and_refined_figures_beside_exact_match():
    evaluator = hand_made(name="dev")
    metrics = evaluator.measure(at_angles)
    lines = {line[:32].strip(): line.split()[-1] for line in evaluator.table(now=metrics).splitlines()}
    assert lines["acc@1"] == "0.600" and lines["refined acc@1"] == "0.429" and lines["coverage"] == "0.900"
    assert lines["abbreviation exact match acc@1"] == "0.000"
    assert all(key in metrics for key in evaluator.headline.values())


def test_the_settings_of_a_card_name_sizes_and_digests():
    config = hand_made(gold_match="first").get_config_dict()
    assert config["dictionary"] == {"entries": 7, "names": 6, "ids": 6}
    assert config["dictionary_sha256"] == LinkingDictionary.from_entries(ENTRIES).digest
    assert (config["gold_match"], config["n_nil"], config["missing_ids"]) == ("first", 1, 2)


@pytest.mark.parametrize("other", [{"ks": (1, 3)}, {"recall_ks": (3, 20)}], ids=str)
def test_the_configuration_tells_which_accuracies_are_measured(other):
    """Catches a kept result that is taken although it lacks the accuracies that are asked for."""
    assert hand_made().get_config_dict() != hand_made(**other).get_config_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "tests"}, "no split 'tests'; available are 'test', 'train', 'dev'"),
        ({"seen": "tset"}, "no split 'tset'"),
        ({"rank_unit": "names"}, "unknown rank_unit 'names'.*did you mean 'name'"),
        ({"similarity": "l2"}, "unknown similarity 'l2'"),
        ({"gold_match": "some"}, "zorb, split 'test': unknown gold_match 'some'"),
        ({"nil": "error"}, "zorb, split 'test': 1 of 11 mentions have no gold id"),
        ({"ks": (5,)}, "1 among them, found"),
        ({"ks": (1, 0)}, "whole numbers from 1"),
        ({"depth": 4}, "depth must be at least 20, found 4"),
        ({"dictionary_chunk": 0}, "dictionary_chunk must be at least 1"),
        ({"n_bootstrap": -1}, "n_bootstrap must be an integer of at least 0, found -1"),
        ({"as_published": True, "gold_match": "exact"}, "as_published: gold_match is 'any', found 'exact'"),
        ({"as_published": True, "similarity": "cosine"}, "as_published: similarity is 'dot', found 'cosine'"),
        ({"cache_dir": __file__}, "cache_dir: .* is a file"),
        ({"cache_dir": "x", "cache_dtype": "float64"}, "unknown cache_dtype 'float64'"),
    ],
)
def test_bad_arguments_are_refused_in_init(options, message):
    with pytest.raises(InputError, match=message):
        hand_made(**options)


def test_a_table_that_lacks_a_name_is_refused():
    """Would catch names without a vector that are silently left out of the dictionary."""
    texts = [text for text in ANGLES if text != "dorzal"]
    with pytest.raises(InputError, match="have no row: 'dorzal'"):
        hand_made().measure(table_embedder(texts, at_angles(texts)))
