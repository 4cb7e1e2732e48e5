"""Entity linking: a hand-made data set where every figure is worked out in a comment, a loop as oracle, and memory."""

from __future__ import annotations

import dataclasses
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from st_biomed import neighbors
from st_biomed.errors import InputError
from st_biomed.evaluators import EntityLinkingEvaluator, table_embedder
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import SourceInfo
from tests.contracts.evaluator_contract import EvaluatorContract

SOURCE = SourceInfo(name="ZORB", title="Invented mentions")


def dataset(entries, mentions, **splits) -> LinkingDataset:
    splits = {"test": tuple(mentions), **{name: tuple(rows) for name, rows in splits.items()}}
    return LinkingDataset("zorb", splits, LinkingDictionary.from_entries(entries), SOURCE)


def mention(text: str, *gold: str, parts: tuple[str, ...] = (), **fields) -> Mention:
    """Gold groups as ``"X1"`` or ``"X4/X8"``."""
    return Mention(
        text, tuple(frozenset(f"MESH:{code}" for code in group.split("/")) for group in gold), parts, **fields
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


# ---------------------------------------------------------------------- every figure by hand
#
# The vector of a text is the unit vector at its angle; only "grubol vosk" is twice as long. The smaller the difference
# of two angles the larger the cosine.

ENTRIES = [
    ("mimpic flumpa", ["MESH:X1"]),  # e0 at 0 degrees
    ("flumpa", ["MESH:X1", "MESH:X2"]),  # e1 at 20: one name of two concepts
    ("dorzal", ["MESH:X2"]),  # e2 at 40
    ("krent", ["MESH:X3"]),  # e3 at 60
    ("Krent", ["MESH:X4"]),  # e4 at 60: the same name once it is lower-cased, so that e3 and e4 tie
    ("vosk", ["MESH:X5"]),  # e5 at 80
    ("grubol vosk", ["MESH:X6"]),  # e6 at 100, length 2
]
ANGLES = {"mimpic flumpa": 0, "flumpa": 20, "dorzal": 40, "krent": 60, "Krent": 60, "KRENT": 60, "vosk": 80}
ANGLES |= {
    "grubol vosk": 100,
    "flumpas": 18,
    "dorzals": 39,
    "krents": 61,
    "vosks": 78,
    "kernts": 62,
    "KERNTS": 62,
    "qilt": 95,
}
MENTIONS = [
    mention("flumpas", "X1", document="d1"),  # A
    mention("flumpas", "X2", document="d1"),  # B: the same string, another concept
    mention("krents and vosks", "X3", "X5", parts=("krents", "vosks"), document="d2"),  # C: composite
    mention("krents and vosks", "X5", "X3", parts=("krents", "vosks"), document="d2"),  # D: groups the other way round
    mention("dorzals", "X2", "X9", document="d2"),  # E: X2+X9, and the dictionary has no X9
    mention("KERNTS", "X4/X8", document="d3"),  # F: alternative ids, an abbreviation
    mention("qilt", "X9", document="d3"),  # G: gold that the dictionary lacks
    mention("blorp", document="d3"),  # H: no gold id
    mention("flumpas", "X1", document="d4"),  # I: A once more
    mention("Krent", "X3", document="d4"),  # J: in the dictionary, letter case aside
    mention("KRENT", "X4", document="d4"),  # K: in the dictionary, second of two entries
]
SPLITS = {"train": [mention("Flumpas", "X1")], "dev": []}

# Names by growing difference of angle, which is the order of cosine and of distance alike (e3 and e4 tie):
#   flumpas 18: e1 e0 e2 e3 e4 e5 e6   krents 61: e3 e4 e5 e2 e6 e1 e0   dorzals 39: e2 e1 e3 e4 e0 e5 e6
#   vosks 78: e5 e3 e4 e6 e2 e1 e0     kernts 62: e3 e4 e5 e2 e6 e1 e0   krent 60: e3 e4 e5 e2 e1 e6 e0
# Ranks, part i against group i where they are equally many:
#   A e1 1   B e1 1   C e3 and e5: 1   D krents for X5: e5 3, vosks for X3: e3 2, so 3   E e2 1   F e4 2
#   G none   I 1   J e3 1   K e4 2          N = 10 without H
SANE = {
    "acc@1": 6 / 10,  # A B C E I J
    "acc@5": 9 / 10,  # all but G
    "mrr@20": (6 + 1 / 3 + 1 / 2 + 1 / 2) / 10,  # D 1/3, F and K 1/2
    "recall@2": 8.5 / 10,  # all but G, and of D one part of two
    "recall@20": 9 / 10,
    # Concepts: nothing before the hits is left out, since e1 brings two, and e3, e4 and e5 one each.
    "concept_acc@1": 6 / 10,
    "concept_acc@5": 9 / 10,
    "concept_mrr@20": (6 + 1 / 3 + 1 / 2 + 1 / 2) / 10,
    "concept_unsettled": 0,  # every name was ranked
    "exact_match_acc@1": 1 / 10,  # J; K's first entry is X3
    "abbreviation_acc@1": 0 / 2,  # F K
    "abbreviation_acc@5": 2 / 2,
    "abbreviation_exact_match_acc@1": 0 / 2,
    "other_acc@1": 6 / 8,
    "other_acc@5": 7 / 8,
    "other_exact_match_acc@1": 1 / 8,
    # Refined: not the string of a training mention (A B I), each once: C D E F G J K
    "refined_acc@1": 3 / 7,  # C E J
    "refined_acc@5": 6 / 7,
    "refined_exact_match_acc@1": 1 / 7,
    "coverage": 9 / 10,  # G
    "n_mentions": 10,
    "n_nil": 1,
    "n_missing_gold": 1,
    "n_duplicates": 0,
    "n_abbreviation": 2,
    "n_other": 8,
    "n_refined": 7,
}


def at_angles(texts):
    radians = np.deg2rad([ANGLES[text] for text in texts])
    lengths = np.array([2.0 if text == "grubol vosk" else 1.0 for text in texts])
    return (np.stack([np.cos(radians), np.sin(radians)], axis=1) * lengths[:, None]).astype(np.float32)


def hand_made(**options) -> EntityLinkingEvaluator:
    options = {"recall_ks": (2, 20), "refined": ["train", "dev"], "n_bootstrap": 0, **options}
    return EntityLinkingEvaluator(dataset(ENTRIES, MENTIONS, **SPLITS), **options)


def measured(**options) -> dict[str, float]:
    return hand_made(**options).measure(at_angles)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("dictionary_chunk", [1, 3, 100])
def test_every_figure_is_the_one_worked_out_by_hand(similarity, dictionary_chunk):
    metrics = measured(similarity=similarity, dictionary_chunk=dictionary_chunk)
    assert metrics == pytest.approx(SANE)
    assert list(metrics) == list(SANE)


def test_the_published_scoring_by_hand():
    """Inner product: the long e6 counts 2 cos of the difference, which puts it first of krents (1.55), vosks (1.85),
    kernts (1.58) and krent (1.53), second of dorzals (.97 after e2) and last of flumpas (.28). Any part, any id.

    A 1   B 1   C e3 2, e5 2: 2   D the same, 2   E 1   F e4 3   G none   I 1   J 2   K 3
    """
    metrics = measured(as_published=True)
    assert metrics["acc@1"] == pytest.approx(4 / 10)  # A B E I
    assert metrics["acc@5"] == pytest.approx(9 / 10)
    assert metrics["mrr@20"] == pytest.approx((4 + 3 / 2 + 2 / 3) / 10)
    assert metrics["recall@2"] == pytest.approx(7 / 10)  # A B C D E I J
    assert metrics["exact_match_acc@1"] == pytest.approx(1 / 10)
    assert measured(similarity="dot", align_parts=False) == metrics
    # With cosine, and each part against all ids of its mention, D is right at once.
    assert measured(align_parts=False)["acc@1"] == pytest.approx(7 / 10)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        # Exactly the ids: A {X1} e0 2   B {X2} e2 3   C 1   D 3   E {X2} e2 1   F {X4, X8} none   I 2   J 1   K 2
        ({"gold_match": "exact"}, {"acc@1": 3 / 10, "acc@5": 8 / 10, "recall@2": 6.5 / 10, "coverage": 8 / 10}),
        # The first group only: D is krents for X5, rank 3, and its second part is not looked up.
        ({"gold_match": "first"}, {"acc@1": 6 / 10, "acc@5": 9 / 10, "recall@2": 8 / 10, "coverage": 9 / 10}),
        ({"missing_gold": "skip"}, {"acc@1": 6 / 9, "acc@5": 1.0, "coverage": 9 / 10, "n_mentions": 9}),
        # I is A once more.
        ({"dedup_queries": True}, {"acc@1": 5 / 9, "acc@5": 8 / 9, "n_duplicates": 1, "refined_acc@1": 3 / 7}),
        (
            {"rank_unit": "concept"},
            {"acc@1": 6 / 10, "mrr@80": SANE["concept_mrr@20"], "name_acc@1": 6 / 10, "exact_match_acc@1": 1 / 10},
        ),
        # KRENT is no longer in the dictionary; e3 and e4 are two names, which still tie. flumpas is not Flumpas.
        ({"lower_case": False}, {"acc@1": 6 / 10, "exact_match_acc@1": 0.0, "n_refined": 9}),
        # The training mention is given itself.
        ({"refined": SPLITS["train"]}, {"refined_acc@1": 3 / 7}),
        ({"refined": SPLITS["train"][0]}, {"refined_acc@1": 3 / 7}),
    ],
    ids=str,
)
def test_each_option_by_hand(options, wanted):
    metrics = measured(**options)
    assert {key: metrics[key] for key in wanted} == pytest.approx(wanted)


def test_the_distant_set_leaves_out_what_resembles_a_seen_mention():
    """Catches E in the set, one letter of seven from a training mention, and a set that is not part of the refined one."""
    seen = [mention("Flumpas", "X1"), mention("dorzalk", "X2"), mention("krents", "X3"), mention("vosks", "X5")]
    metrics = measured(refined=seen, distance=0.2)
    assert {key: metrics[key] for key in ("n_refined", "n_distant", "distant_acc@1")} == {
        "n_refined": 7,
        "n_distant": 4,  # C D F G: not E (dorzals), J and K (krent)
        "distant_acc@1": 1 / 4,  # C
    }
    assert "n_distant" not in measured(refined=seen)
    with pytest.raises(InputError, match="distance 0.2 needs the mentions of refined=, which is empty"):
        hand_made(refined=(), distance=0.2)


def test_a_concept_stands_where_its_best_name_stands():
    """dorzals for X5: e2 e1 e3 e4 e0 e5 is rank 6, but e0 only repeats X1 of e1; as a set of ids {X1} is not {X1, X2}."""

    def of(**options):
        evaluator = EntityLinkingEvaluator(dataset(ENTRIES, [mention("dorzals", "X5")]), n_bootstrap=0, **options)
        metrics = evaluator.measure(at_angles)
        return metrics["acc@5"], evaluator.predictions.ranks[0], metrics.get("concept_acc@5")

    assert of() == (0, 6, 1)
    assert of(rank_unit="concept") == (1, 5, None)
    assert of(rank_unit="concept", gold_match="exact") == (0, 6, None)


def test_a_rank_beyond_the_depth_is_none_and_a_concept_rank_that_cannot_be_told_is_counted():
    """Three names for A: e1 e0 e2 hold X1 and X2 only; nobody who asks for five concepts can say that X9 is not fifth."""
    metrics = measured(ks=(1, 3), recall_ks=(2,), depth=3)
    assert metrics["mrr@3"] == pytest.approx(SANE["mrr@20"])
    assert metrics["concept_unsettled"] == 0  # qilt at 95: e6 e5 and e3 are three concepts
    far = [*ENTRIES[:2], ("flumpas", ["MESH:X1"]), *ENTRIES[2:]]
    evaluator = EntityLinkingEvaluator(
        dataset(far, [mention("flumpas", "X5")]), ks=(1, 3), recall_ks=(), depth=3, n_bootstrap=0
    )
    metrics = evaluator.measure(at_angles)  # "flumpas" itself, e1 and e0: two concepts
    assert (metrics["acc@3"], metrics["concept_acc@3"], metrics["concept_unsettled"]) == (0, 0, 1)


def test_entries_of_names_that_tie_stand_in_the_order_of_the_dictionary():
    """e0 and e2 are one name, e1 lies at the same angle: would catch the entries of a name that stay together."""
    names = [("krent", ["MESH:X3"]), ("kernt", ["MESH:X4"]), ("krent", ["MESH:X5"])]
    for gold, rank in (("X3", 1), ("X4", 2), ("X5", 3)):
        evaluator = EntityLinkingEvaluator(dataset(names, [mention("krents", gold)]), n_bootstrap=0)
        evaluator.measure(lambda texts: at_angles([text.replace("kernt", "krent") for text in texts]))
        assert evaluator.predictions.ranks.tolist() == [rank]


# ---------------------------------------------------------------------- against a loop

VECTORS = {f"w{i}": np.random.default_rng(i).integers(-2, 3, size=3).astype(np.float32) for i in range(40)}
ids = st.sets(st.integers(0, 5).map("MESH:X{}".format), min_size=1, max_size=2).map(frozenset)
words = st.integers(0, 39).map("w{}".format)
drawn_mentions = st.builds(
    lambda parts, gold: Mention(" ".join(parts), tuple(gold), tuple(parts)),
    st.lists(words, min_size=1, max_size=2),
    st.lists(ids, max_size=2),
)


def rank_by_loop(entries, mention: Mention, similarity: str, align: bool) -> float:
    """Rank of a mention among names by looping over all of them, in float64 rounded to float32."""
    ranks = []
    for i, part in enumerate(mention.parts):
        q, scores = VECTORS[part].astype(np.float64), []
        for name, _ in entries:
            v = VECTORS[name].astype(np.float64)
            lengths = np.sqrt((q @ q) * (v @ v)) if similarity == "cosine" else 1.0
            score = -np.sqrt(((q - v) ** 2).sum()) if similarity == "euclidean" else q @ v
            scores.append(np.float32(score / lengths if lengths > 0 else 0.0))
        gold = mention.gold[i] if align and len(mention.gold) == len(mention.parts) else mention.ids
        order = np.argsort(-np.array(scores), kind="stable")
        ranks.append(next((rank for rank, e in enumerate(order, 1) if set(entries[e][1]) & gold), np.inf))
    return max(ranks)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(words, ids.map(sorted)), min_size=1, max_size=25),
    st.lists(drawn_mentions, min_size=1, max_size=8),
    st.sampled_from(["cosine", "dot", "euclidean"]),
    st.booleans(),
    st.integers(1, 9),
)
def test_ranks_are_those_of_a_loop_over_all_pairs(entries, mentions, similarity, align, chunk):
    """Names repeat and vectors tie. Would catch entries of equal names merged wrongly, and chunks that mix up rows."""
    if not any(mention.gold for mention in mentions):
        return
    evaluator = EntityLinkingEvaluator(
        dataset(entries, mentions),
        similarity=similarity,
        align_parts=align,
        dictionary_chunk=chunk,
        n_bootstrap=0,
    )
    metrics = evaluator.measure(lambda texts: np.stack([VECTORS[text] for text in texts]))
    ranks = np.array([rank_by_loop(entries, mention, similarity, align) for mention in mentions if mention.gold])
    assert evaluator.predictions.ranks.tolist() == ranks.tolist()
    assert metrics["acc@5"] == pytest.approx((ranks <= 5).mean())
    assert metrics["mrr@64"] == pytest.approx((1 / ranks).mean())


# ---------------------------------------------------------------------- memory


def many_names(n: int) -> LinkingDataset:
    return dataset(
        [(f"name {i}", [f"MESH:X{i}"]) for i in range(n)], [mention(f"mimpic {i}", f"X{i}") for i in range(9)]
    )


def test_vectors_of_names_are_not_kept(monkeypatch):
    """Four million names do not fit in memory: would catch a cache that keeps them, and one table of all scores."""
    inner, blocks = neighbors._fast_scores, []
    made: list[weakref.ref] = []
    asked: list[tuple[int, int]] = []  # texts of a call, and how many earlier matrices are still there

    def embed(texts):
        asked.append((len(texts), sum(matrix() is not None for matrix in made)))
        vectors = np.random.default_rng(len(made)).random((len(texts), 4), dtype=np.float32)
        made.append(weakref.ref(vectors))
        return vectors

    def recorded(*arguments):
        scores, bound = inner(*arguments)
        blocks.append(tuple(scores.shape))
        return scores, bound

    monkeypatch.setattr(neighbors, "_fast_scores", recorded)
    EntityLinkingEvaluator(many_names(1000), dictionary_chunk=64).measure(embed)
    assert max(size for size, _ in asked) == 64 and sum(size for size, _ in asked) == 1009
    assert max(kept for _, kept in asked) <= 2  # the mentions' vectors and the chunk before
    assert max(rows * columns for rows, columns in blocks) <= 9 * 64
    assert sum(columns for _, columns in blocks) == 1000


# ---------------------------------------------------------------------- intervals, predictions, comparison


def test_intervals_stand_around_the_accuracy_and_documents_can_be_drawn():
    by_mention, by_document = measured(n_bootstrap=500), measured(n_bootstrap=500, by_document=True)
    for metrics in (by_mention, by_document):
        assert 0 < metrics["acc@1_low"] < metrics["acc@1"] == 0.6 < metrics["acc@1_high"] <= 1
    assert by_mention != by_document
    assert measured(n_bootstrap=500) == by_mention
    assert measured(n_bootstrap=3, bootstrap_seed=1) != measured(n_bootstrap=3, bootstrap_seed=2)
    with pytest.raises(InputError, match="by_document: 1 of 1 mentions have no document"):
        EntityLinkingEvaluator(dataset(ENTRIES, [mention("krents", "X3")]), by_document=True)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "tests"}, "no split 'tests'; available are 'test', 'train', 'dev'"),
        ({"refined": "tset"}, "no split 'tset'"),
        ({"rank_unit": "names"}, "unknown rank_unit 'names'.*did you mean 'name'"),
        ({"similarity": "l2"}, "unknown similarity 'l2'"),
        ({"gold_match": "some"}, "zorb, split 'test': unknown gold_match 'some'"),
        ({"nil": "error"}, "zorb, split 'test': 1 of 11 mentions have no gold id"),
        ({"ks": (5,)}, "1 among them, found"),
        ({"ks": (1, 0)}, "whole numbers from 1"),
        ({"depth": 4}, "depth must be at least 20, found 4"),
        ({"dictionary_chunk": 0}, "dictionary_chunk must be at least 1"),
        ({"n_bootstrap": -1}, "n_bootstrap must be at least 0"),
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


# ---------------------------------------------------------------------- the cache


def test_a_text_is_embedded_once_for_one_model(tmp_path, tiny_bert, monkeypatch):
    """Would catch a cache that is keyed by less than model and text, or that changes a figure."""
    asked: list[str] = []
    encode = tiny_bert.encode

    def recorded(texts, **options):
        asked.extend(texts)
        return encode(texts, **options)

    monkeypatch.setattr(tiny_bert, "encode", recorded)
    evaluator = EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", dictionary_chunk=16)
    plain = EntityLinkingEvaluator(many_names(50), dictionary_chunk=16)(tiny_bert)
    asked.clear()
    assert evaluator(tiny_bert) == plain and len(asked) == 59
    assert evaluator(tiny_bert) == plain and len(asked) == 59
    others = LinkingDictionary.from_entries((f"name {i}", [f"MESH:X{i}"]) for i in range(1, 51))
    with_others = dataclasses.replace(many_names(50), dictionary=others)
    for other, n_new in (
        (EntityLinkingEvaluator(with_others, cache_dir=tmp_path / "new"), 1),
        (EntityLinkingEvaluator(many_names(60), cache_dir=tmp_path / "new"), 9),
        (EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", truncate_dim=8), 59),
        (EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path / "new", cache_dtype="float16"), 59),
    ):
        asked.clear()
        other(tiny_bert)
        assert len(asked) == n_new
    tiny_bert[0].auto_model.embeddings.word_embeddings.weight.data[3] += 0.1
    asked.clear()
    evaluator(tiny_bert)
    assert len(asked) == 59


def test_half_precision_is_measured_in_the_run_that_writes_it_too(tmp_path, tiny_bert):
    evaluator = EntityLinkingEvaluator(many_names(50), cache_dir=tmp_path, cache_dtype="float16")
    evaluator(tiny_bert)
    scores = evaluator.predictions.scores
    evaluator(tiny_bert)
    np.testing.assert_array_equal(evaluator.predictions.scores, scores)
    assert evaluator.get_config_dict()["cache_dtype"] == "float16"


def test_a_matrix_has_no_digest_and_is_not_cached(tmp_path):
    hand_made(cache_dir=tmp_path).measure(at_angles)
    assert list(tmp_path.iterdir()) == []
