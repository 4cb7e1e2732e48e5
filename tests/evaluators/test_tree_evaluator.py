"""The tree evaluator's metrics, files and trees; how pairs are drawn is in test_tree_pairs."""

from __future__ import annotations

import hashlib
import logging

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from st_biomed import Hierarchy, Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators import TreeEvaluator
from tests.contracts.evaluator_contract import EvaluatorContract

PAIRS = [(f"disease {i} a", f"disease {i} b") for i in range(120)]
DISTANCES = [i % 4 for i in range(120)]


def at_angles(texts: list[str], angle_of_distance: list[float]) -> np.ndarray:
    """Unit vectors in the plane: text ``disease i b`` stands at the angle of its pair's distance to ``disease i a``."""
    angles = []
    for text in texts:
        _, i, side = text.split()
        angles.append(int(i) + (angle_of_distance[DISTANCES[int(i)]] if side == "b" else 0.0))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class TestTreeEvaluatorContract(EvaluatorContract):
    evaluator_class = TreeEvaluator

    def make(self, **options):
        return TreeEvaluator(PAIRS, DISTANCES, **options)

    def perfect(self, texts):
        return at_angles(texts, [0.1, 0.5, 1.0, 2.0])

    def opposite(self, texts):
        return at_angles(texts, [2.0, 1.0, 0.5, 0.1])


def random_embeddings(texts: list[str]) -> np.ndarray:
    return np.random.default_rng(len(texts)).normal(size=(len(texts), 6)) + 0.3


def test_texts_that_stand_in_several_pairs_keep_their_pairs():
    """Would catch rows mixed up by embedding each distinct text once; scikit-learn is the oracle."""
    rng = np.random.default_rng(5)
    names = [f"term {i}" for i in range(12)]
    pairs = [(names[a], names[b]) for a in range(12) for b in range(a)]
    distances = rng.integers(4, size=len(pairs))
    evaluator = TreeEvaluator(pairs, distances)
    vectors = dict(zip(evaluator.texts, random_embeddings(evaluator.texts)))
    cosines = np.array(
        [v @ w / np.linalg.norm(v) / np.linalg.norm(w) for v, w in ((vectors[a], vectors[b]) for a, b in pairs)]
    )
    metrics = evaluator.measure(random_embeddings)
    for near in range(4):
        for far in range(near + 1, 4):
            rows = (distances == near) | (distances == far)
            assert metrics[f"auc_{near}v{far}"] == pytest.approx(roc_auc_score(distances[rows] == near, cosines[rows]))


def test_five_distances_give_ten_aucs_and_names_of_their_own():
    evaluator = TreeEvaluator(PAIRS, [0, 2, 3, 5, 7] * 24)
    aucs = [key for key in evaluator.measure(random_embeddings) if key.startswith("auc_")]
    assert len(aucs) == 10
    assert aucs[0] == "auc_0v2" and aucs[-1] == "auc_5v7"


def test_trees_are_reported_one_by_one_and_as_a_mean():
    """Would catch a macro mean over pooled pairs, and a tree without a distance that breaks the mean."""
    whole = TreeEvaluator(PAIRS[:80], DISTANCES[:80], n_bootstrap=0)
    part = TreeEvaluator(PAIRS[80:], [2 + i % 2 for i in range(40)], n_bootstrap=0)
    both = TreeEvaluator.join({"icd": whole, "phecode": part}, name="dev")
    vectors = dict(zip(both.texts, random_embeddings(both.texts)))

    def embed(texts):
        return np.stack([vectors[text] for text in texts])

    metrics, of_whole, of_part = both.measure(embed), whole.measure(embed), part.measure(embed)
    for key, value in of_whole.items():
        assert metrics[f"dev_icd/{key}"] == value
    assert metrics["dev_phecode/auc_2v3"] == of_part["auc_2v3"]
    assert metrics["dev_macro_auc_2v3"] == pytest.approx((of_whole["auc_2v3"] + of_part["auc_2v3"]) / 2)
    assert metrics["dev_macro_auc_0v1"] == of_whole["auc_0v1"]
    assert metrics["dev_macro_mean_auc"] == of_whole["mean_auc"]
    assert "dev_phecode/mean_auc" not in metrics
    assert both.primary_metric == "dev_mean_auc"


def test_sub_trees_of_joined_trees_stay_apart():
    """Would catch two trees whose sub-trees have the same numbers, and numbers that one of the trees lacks."""
    numbers = np.stack([np.arange(40) % 15, np.arange(40) % 15], axis=1)
    parts = {
        name: TreeEvaluator(PAIRS[:40], DISTANCES[:40], subtrees=numbers, n_bootstrap=0) for name in ("icd", "phecode")
    }
    both = TreeEvaluator.join(parts)
    assert TreeEvaluator(PAIRS[:40], DISTANCES[:40], subtrees=numbers.tolist()).measure(random_embeddings)
    assert len(np.unique(both.subtrees)) == 30 and both.get_config_dict()["resampling"] == "sub-trees"
    assert parts["icd"].get_config_dict()["resampling"] == "pairs"
    both.measure(random_embeddings)
    assert both.units["mean_auc"].rows.shape == (80, 4)
    bare = TreeEvaluator(PAIRS[:40], DISTANCES[:40], n_bootstrap=0)
    assert TreeEvaluator.join({**parts, "bare": bare}).subtrees is None
    with pytest.raises(InputError, match=r"two numbers for each of 40 pairs, found \(40,\)"):
        TreeEvaluator(PAIRS[:40], DISTANCES[:40], subtrees=numbers[:, 0])
    with pytest.raises(InputError, match="^subtrees: must be numbers from 0, found -1"):
        TreeEvaluator(PAIRS[:40], DISTANCES[:40], subtrees=numbers - 1)


@pytest.mark.parametrize(
    ("pairs", "distances", "message"),
    [
        (PAIRS[:3], [0, 1], "3 pairs and 2 distances"),
        (PAIRS[:2], [0, 0], r"at least two different ones are needed, found \[0\]"),
        (PAIRS[:2], [0, -1], "whole numbers from 0"),
        (PAIRS[:2], [0, 0.5], "whole numbers from 0"),
        ([("a", "b"), ("a", "b", "c")], [0, 1], r"pairs\[1\]: expected two texts"),
        ([("a", "b"), ("a", None)], [0, 1], r"pairs\[1\]: expected two texts"),
        ([], [], "whole numbers from 0"),
    ],
)
def test_bad_pairs_are_refused(pairs, distances, message):
    with pytest.raises(InputError, match=message):
        TreeEvaluator(pairs, distances)


def test_trees_have_to_be_as_many_as_pairs():
    with pytest.raises(InputError, match="2 pairs and 2 distances and 1 trees"):
        TreeEvaluator(PAIRS[:2], [0, 1], trees=["icd"])
    with pytest.raises(InputError, match="at least one tree"):
        TreeEvaluator.join({})
    with pytest.raises(InputError, match=r"^trees must be a Mapping, found list$"):
        TreeEvaluator.join([TreeEvaluator(PAIRS[:2], [0, 1])])
    with pytest.raises(InputError, match=r"^trees\['icd'\] must be a TreeEvaluator, found list$"):
        TreeEvaluator.join({"icd": PAIRS})
    with pytest.raises(InputError, match="^hierarchy must be a Hierarchy, found Terminology$"):
        TreeEvaluator.from_hierarchy(Terminology.read("toy"))


# ---------------------------------------------------------------------- files


def test_a_file_written_and_read_again_holds_the_same_pairs_and_its_digest_names_them(tmp_path):
    evaluator = TreeEvaluator([("Ménière's disease", "vertigo; aural"), ("a|b", "c")], [1, 0])
    evaluator.to_file(tmp_path / "new" / "pairs.txt")
    content = (tmp_path / "new" / "pairs.txt").read_bytes()
    again = TreeEvaluator.from_file(tmp_path / "new" / "pairs.txt")
    assert content.decode() == "1||Ménière's disease||vertigo; aural\n0||a|b||c\n"
    assert (again.pairs, list(again.distances)) == (evaluator.pairs, [1, 0])
    assert again.pairs_digest == evaluator.pairs_digest == hashlib.sha256(content).hexdigest()
    assert TreeEvaluator(evaluator.pairs, [0, 1]).pairs_digest != evaluator.pairs_digest


def test_a_file_with_windows_line_ends_and_a_byte_order_mark_reads_the_same(tmp_path):
    (tmp_path / "pairs.txt").write_bytes("0||a||b\r\n1||c||d".encode("utf-8-sig"))
    assert TreeEvaluator.from_file(tmp_path / "pairs.txt").pairs == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1||a", r"pairs\.txt:2: expected distance\|\|term\|\|term, found '1\|\|a'"),
        (b"1||a||b||c", r"pairs\.txt:2: expected"),
        (b"near||a||b", r"pairs\.txt:2: expected"),
        (b"1||||b", r"pairs\.txt:2: expected"),
        (b"", r"pairs\.txt:2: expected"),
        (b"1||\xff||b", r"pairs\.txt:2: not UTF-8"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    (tmp_path / "pairs.txt").write_bytes(b"0||a||b\n" + line + b"\n")
    with pytest.raises(InputError, match=message):
        TreeEvaluator.from_file(tmp_path / "pairs.txt")


def test_no_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        TreeEvaluator.from_file(tmp_path / "none.txt")
    with pytest.raises(InputError, match="is a folder"):
        TreeEvaluator.from_file(tmp_path)


@pytest.mark.parametrize("term", ["a||b", "a\nb"])
def test_a_term_the_format_cannot_say_is_not_written(tmp_path, term):
    """Would catch a file that reads back as other pairs."""
    with pytest.raises(InputError, match="cannot be written"):
        TreeEvaluator([(term, "b"), ("c", "d")], [0, 1]).to_file(tmp_path / "pairs.txt")
    assert not (tmp_path / "pairs.txt").exists()


# ---------------------------------------------------------------------- from a hierarchy, and for people


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    return Hierarchy(Terminology.read("toy"))


def test_pairs_of_a_hierarchy_become_strings(hierarchy):
    """Would catch the two texts of a pair, or the rows of pairs and distances, paired up wrongly."""
    evaluator = TreeEvaluator.from_hierarchy(hierarchy, pairs_per_class=20, seed=3, name="toy")
    assert evaluator.counts == {0: 20, 1: 20, 2: 20, 3: 20}
    text_id = {text: i for i, text in enumerate(hierarchy.terminology.strings)}
    labels = torch.tensor([[text_id[a], text_id[b]] for a, b in evaluator.pairs])
    assert hierarchy.distance(labels[:, 0], labels[:, 1]).diagonal().tolist() == evaluator.distances.tolist()


def test_fewer_pairs_than_asked_for_are_reported(hierarchy, caplog):
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        evaluator = TreeEvaluator.from_hierarchy(hierarchy, pairs_per_class=100_000, distances=[0, 2])
    assert f"distance 0: {evaluator.counts[0]} pairs, 100000 were asked for" in caplog.text


def test_the_table_of_the_terminal_shows_the_six_aucs_their_mean_and_the_rank_correlation():
    evaluator = TreeEvaluator(PAIRS, DISTANCES, name="dev")
    contract = TestTreeEvaluatorContract()
    table = evaluator.table(before=evaluator.measure(contract.opposite), after=evaluator.measure(contract.perfect))
    lines = [line.split() for line in table.splitlines()]
    assert [line[0] for line in lines[1:]] == ["0v1", "0v2", "0v3", "1v2", "1v3", "2v3", "mean", "spearman"]
    assert lines[1] == ["0v1", "0.000", "1.000", "+1.000"]
    assert lines[-1] == ["spearman", "-1.000", "1.000", "+2.000"]


def test_other_groups_of_the_same_pairs_are_other_settings():
    """Catches an interval over other sub-trees that is taken for one over these."""
    pairs, distances = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")], [0, 1, 0, 1]
    settings = [
        TreeEvaluator(pairs, distances, **groups).get_config_dict()
        for groups in (
            {},
            {"subtrees": [[0, 0], [0, 1], [0, 1], [1, 1]]},
            {"subtrees": [[0, 0], [0, 0], [0, 1], [1, 1]]},
            {"trees": ["A", "A", "B", "B"]},
            {"trees": ["A", "B", "A", "B"]},
        )
    ]
    assert all(one != other for i, one in enumerate(settings) for other in settings[:i])
