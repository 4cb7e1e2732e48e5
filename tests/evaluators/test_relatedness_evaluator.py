"""Relatedness of term pairs against scores of people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from st_biomed.errors import InputError
from st_biomed.evaluators import RelatednessEvaluator
from tests.contracts.evaluator_contract import EvaluatorContract

N = 60
FIRST, SECOND = [f"flumpa {i}" for i in range(N)], [f"terkia {i}" for i in range(N)]
SCORES = [i / 10 for i in range(N)]


class TestRelatednessContract(EvaluatorContract):
    evaluator_class = RelatednessEvaluator
    best, chance, worst, tolerance = 1.0, 0.0, -1.0, 0.3

    def make(self, **options) -> RelatednessEvaluator:
        return RelatednessEvaluator(FIRST, SECOND, SCORES, **options)

    def perfect(self, texts: list[str]) -> np.ndarray:
        """The angle of a pair falls with its score."""
        angles = [(N - int(text.split()[1])) / N if text.startswith("terkia") else 0.0 for text in texts]
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def opposite(self, texts: list[str]) -> np.ndarray:
        angles = [int(text.split()[1]) / N if text.startswith("terkia") else 0.0 for text in texts]
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_correlations_are_those_of_scipy_with_ties():
    """Catches a rank by position, and a Pearson of the ranks."""
    rng = np.random.default_rng(0)
    table = dict(zip([*FIRST, *SECOND], rng.normal(size=(2 * N, 5))))
    scores = rng.integers(0, 5, N).astype(float)
    metrics = RelatednessEvaluator(FIRST, SECOND, scores, n_bootstrap=0).measure(
        lambda texts: np.stack([table[text] for text in texts])
    )
    a, b = (np.stack([table[text] for text in side]) for side in (FIRST, SECOND))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert metrics["spearman"] == pytest.approx(spearmanr(cosines, scores).statistic)
    assert metrics["pearson"] == pytest.approx(pearsonr(cosines, scores).statistic, abs=1e-6)
    assert metrics["n"] == N


def test_the_interval_holds_the_figure_and_depends_on_the_seed_alone():
    evaluators = [
        RelatednessEvaluator(FIRST, SECOND, SCORES, n_bootstrap=200, bootstrap_seed=seed) for seed in (0, 0, 1)
    ]
    rng = np.random.default_rng(5)
    noise = dict(zip([*FIRST, *SECOND], rng.normal(size=(2 * N, 3))))
    figures, again, other = (e.measure(lambda texts: np.stack([noise[t] for t in texts])) for e in evaluators)
    assert figures == again and figures["spearman_low"] != other["spearman_low"]
    assert figures["spearman_low"] < figures["spearman"] < figures["spearman_high"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mayo.csv", '"Mean","CUI1","CUI2","TERM1","TERM2"\n6,X,Y,"a b",c\n2,X,Y,d,e\n1,X,Y,f,g\n5,X,Y,,h\n'),
        ("pedersen.csv", "Term 1,Term 2,Physician,Coder\na b,c,6,1\nd,e,2,1\nf,g,1,1\n ,h,5,1\n"),
        ("mini.csv", "Physicians,Coders,TERM1,TERM2\n6,1,a b,c\n2,1,d,e\n1,1,f,g\n5,1,,h\n"),
        ("own.tsv", "term1\tterm2\tscore\na b\tc\t6\nd\te\t2\nf\tg\t1\n\th\t5\n"),
    ],
)
def test_published_tables_are_read_and_what_is_missing_is_counted(tmp_path: Path, name: str, text: str):
    """Catches the codes read for terms, the coders' column for the physicians', and pairs lost in silence."""
    (tmp_path / name).write_text(text)
    evaluator = RelatednessEvaluator.from_file(tmp_path / name)
    assert evaluator.texts == ["a b", "c", "d", "e", "f", "g"]
    assert evaluator.scores.tolist() == [6, 2, 1]
    assert (evaluator.n_missing, evaluator.name) == (1, name.split(".")[0])


@pytest.mark.parametrize("score", ["Agents", "", "NaN", "inf"])
def test_a_row_without_a_score_is_refused_or_counted(tmp_path: Path, score: str):
    """Catches a term that a stray comma cut in two, read as a pair, a row that is gone without a count, and NaN."""
    (tmp_path / "x.csv").write_text(f"term1,term2,score\na,b,1\nc,d,{score}\ne,f,3\ng,h,2\n")
    with pytest.raises(InputError, match=rf"x\.csv:3: score '{score}' is not a number"):
        RelatednessEvaluator.from_file(tmp_path / "x.csv")
    evaluator = RelatednessEvaluator.from_file(tmp_path / "x.csv", unscored="skip")
    assert (evaluator.scores.tolist(), evaluator.n_missing) == ([1, 3, 2], 1)
    with pytest.raises(InputError, match="unknown unscored 'drop'"):
        RelatednessEvaluator.from_file(tmp_path / "x.csv", unscored="drop")


def test_other_columns_can_be_named(tmp_path: Path):
    (tmp_path / "x.csv").write_text("uno,due,voto,mean\na,b,1,9\nc,d,2,9\ne,f,3,9\n")
    evaluator = RelatednessEvaluator.from_file(tmp_path / "x.csv", terms=("uno", "due"), score="voto", name="it")
    assert evaluator.scores.tolist() == [1, 2, 3] and evaluator.primary_metric == "it_spearman"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["b"], [1, 2]), "must be equally many, found 1, 1 and 2"),
        ((["a"] * 3, ["b"] * 3, [1, 2, float("nan")]), "pair 3 has no finite score"),
        ((["a"] * 3, ["b"] * 3, [1, "high", 3]), "pair 2 has 'high', expected a number"),
        ((["a"] * 3, ["b"] * 3, [1, 2, None]), "pair 3 has None, expected a number"),
        ((["a", 7, "c"], ["b"] * 3, [1, 2, 3]), "pair 2 has 7, expected a string"),
        (
            (["a", None, "c"], ["b", "c", float("nan")], [1, 2, 3]),
            "at least three with both terms are needed, found 1",
        ),
        (
            (["a", "b", "c"], ["b", "c", "d"], [2, 2, 2]),
            "scores: all are 2, which no correlation can be measured with",
        ),
        ((["a", "", "c"], ["b", "c", "d"], [1, 2, 3]), "at least three with both terms are needed, found 2"),
    ],
)
def test_bad_pairs_are_refused(arguments, message: str):
    with pytest.raises(InputError, match=message):
        RelatednessEvaluator(*arguments)


def test_pairs_with_a_missing_term_are_left_out():
    """Catches the empty cells of a data frame, which are None or NaN."""
    first, second = ["a", None, "b", "c", "d"], ["e", "f", float("nan"), "g", " h "]
    evaluator = RelatednessEvaluator(first, second, [1, 2, 3, 4, 5])
    assert (evaluator.texts, evaluator.n_missing) == (["a", "e", "c", "g", "d", "h"], 2)
    assert evaluator.scores.tolist() == [1, 4, 5]


def test_a_bad_table_is_one_line(tmp_path: Path):
    (tmp_path / "x.csv").write_text("term1,term2,score\na,b,1\nc,d,high\n")
    with pytest.raises(InputError, match=r"x.csv:3: score 'high' is not a number"):
        RelatednessEvaluator.from_file(tmp_path / "x.csv")
    (tmp_path / "y.csv").write_text("term1,term2\na,b\n")
    with pytest.raises(InputError, match=r"y.csv:1: no column 'mean' or 'score'"):
        RelatednessEvaluator.from_file(tmp_path / "y.csv")


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "n"), [("MayoSRS", 101), ("MiniMayoSRS", 29), ("Pedersen2007", 30)])
def test_published_sets_have_their_pairs(realdata: Path, name: str, n: int):
    path = realdata / "benchmarks_dev" / "similarity" / f"{name}.csv"
    evaluator = RelatednessEvaluator.from_file(path)
    assert (len(evaluator.scores), evaluator.n_missing) == (n, 0)
