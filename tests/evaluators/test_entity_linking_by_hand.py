"""Entity linking: every figure is the one worked out by hand, in each way of scoring, and that of a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.evaluators import EntityLinkingEvaluator
from st_biomed.linking_data.records import Mention
from tests.evaluators.linking_by_hand import ENTRIES, SANE, SPLITS, at_angles, dataset, hand_made, measured, mention


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
        ({"lower_case": False}, {"acc@1": 6 / 10, "exact_match_acc@1": 0.0, "n_refined": 9, "n_unlisted": 9}),
        # The training mention is given itself.
        ({"seen": SPLITS["train"]}, {"refined_acc@1": 3 / 7}),
        ({"seen": SPLITS["train"][0]}, {"refined_acc@1": 3 / 7}),
    ],
    ids=str,
)
def test_each_option_by_hand(options, wanted):
    metrics = measured(**options)
    assert {key: metrics[key] for key in wanted} == pytest.approx(wanted)


def test_a_mention_is_unlisted_if_one_of_its_parts_is():
    """Catches a composite mention that counts as listed for the part that is a name."""
    mentions = [
        mention("flumpas and vosk", "X1", "X5", parts=("flumpas", "vosk")),
        mention("flumpa and vosk", "X1", "X5", parts=("flumpa", "vosk")),
    ]
    metrics = EntityLinkingEvaluator(dataset(ENTRIES, mentions), n_bootstrap=0).measure(at_angles)
    assert (metrics["n_unlisted"], metrics["unlisted_acc@1"], metrics["exact_match_acc@1"]) == (1, 1.0, 0.5)


def test_the_distant_set_leaves_out_what_resembles_a_seen_mention():
    """Catches E in the set, one letter of seven from a training mention, and a set that is not part of the refined one."""
    seen = [mention("Flumpas", "X1"), mention("dorzalk", "X2"), mention("krents", "X3"), mention("vosks", "X5")]
    metrics = measured(seen=seen, distance=0.2)
    assert {key: metrics[key] for key in ("n_refined", "n_distant", "distant_acc@1")} == {
        "n_refined": 7,
        "n_distant": 4,  # C D F G: not E (dorzals), J and K (krent)
        "distant_acc@1": 1 / 4,  # C
    }
    assert "n_distant" not in measured(seen=seen)
    with pytest.raises(InputError, match="distance 0.2 needs the mentions of seen=, which is empty"):
        hand_made(seen=(), distance=0.2)


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


def test_where_all_names_are_ranked_or_enough_concepts_every_rank_is_known():
    """krents for X9: e3 e4 and the first flumpa are two concepts. Catches a rank that is called unknown although no name is
    left, and one that is called known although recall@3 of concepts is asked for."""
    entries = [("krent", ["MESH:X3"]), ("Krent", ["MESH:X3"]), ("dorzal", ["MESH:X2"]), ("flumpa", ["MESH:X1"])]

    def unsettled(n_entries: int, **options) -> float:
        data = dataset(entries[:n_entries], [mention("krents", "X9")])
        return EntityLinkingEvaluator(data, depth=3, n_bootstrap=0, **options).measure(at_angles)["concept_unsettled"]

    assert unsettled(3, ks=(1, 3), recall_ks=()) == 0
    assert unsettled(4, ks=(1, 3), recall_ks=()) == 1
    assert [unsettled(4, ks=(1,), recall_ks=(3,), rank_unit=unit) for unit in ("name", "concept")] == [0, 1]


def test_of_a_repeated_mention_one_is_distant():
    """Catches a distant set that is not part of the refined one: the second qilt is in neither."""
    mentions = [mention("qilt", "X5"), mention("qilt", "X5"), mention("krents", "X3")]
    data = dataset(ENTRIES, mentions, train=[mention("krent", "X3")])
    metrics = EntityLinkingEvaluator(data, seen=["train"], distance=0.2, n_bootstrap=0).measure(at_angles)
    assert (metrics["n_refined"], metrics["n_distant"]) == (2, 1)


def test_entries_of_names_that_tie_stand_in_the_order_of_the_dictionary():
    """e0 and e2 are one name, e1 lies at the same angle: would catch the entries of a name that stay together."""
    names = [("krent", ["MESH:X3"]), ("kernt", ["MESH:X4"]), ("krent", ["MESH:X5"])]
    for gold, rank in (("X3", 1), ("X4", 2), ("X5", 3)):
        evaluator = EntityLinkingEvaluator(dataset(names, [mention("krents", gold)]), n_bootstrap=0)
        evaluator.measure(lambda texts: at_angles([text.replace("kernt", "krent") for text in texts]))
        assert evaluator.predictions.ranks.tolist() == [rank]


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
