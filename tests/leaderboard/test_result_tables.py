"""Tables: the best where there is a better, a sentence for whatever a person could misread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.published_figures import PublishedFigure
from st_biomed.leaderboard.markdown_and_html import markdown
from st_biomed.leaderboard.metric_descriptions import better, largest_value
from st_biomed.leaderboard.result_tables import tables_of
from st_biomed.leaderboard.results import Result

SETTINGS = {"n_bootstrap": 0, "bootstrap_seed": 0, "as_published": False}


def result(model: str, primary: str, evaluator: str = "zorb", **metrics: float) -> Result:
    named = {f"{evaluator}_{key}": value for key, value in metrics.items()}
    headline = {key: f"{evaluator}_{key}" for key in metrics}
    return Result("zorb", evaluator, model, model, SETTINGS, named, f"{evaluator}_{primary}", headline)


def written(*results: Result, benchmark: Benchmark | None = None) -> str:
    return markdown("Results", tables_of(results, {} if benchmark is None else {"zorb": benchmark}))


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("acc@1", 1),
        ("refined_acc@5", 1),
        ("mrr@64", 1),
        ("filtered_mrr", 1),
        ("recall_ceiling", 1),
        ("share_of_maximum", 1),
        ("has_n_parts/auc", 1),
        ("a/n_b/mcsm", 1),
        ("filtered_mr", -1),
        ("filtered_head_mr", -1),
        ("theta", 0),
        ("maximum", 0),
        ("n", 0),
        ("n_terms", 0),
        ("treats/n", 0),
        ("coverage", 0),
        ("concept_unsettled", 0),
        ("exact_match_acc@1", 0),
        ("refined_exact_match_acc@1", 0),
    ],
)
def test_every_figure_has_its_direction(metric: str, direction: int):
    assert better(metric) == direction


def test_a_threshold_has_no_best_and_a_small_mean_rank_is_better():
    """Would catch a bold theta, and the worst mean rank in bold."""
    text = written(result("one", "f1", f1=0.25, theta=0.9), result("two", "f1", f1=0.5, theta=0.8))
    assert "| theta (no better direction) | 0.900 | 0.800 |" in text and "| f1 | 0.250 | **0.500** |" in text
    text = written(
        result("one", "filtered_mrr", filtered_mrr=0.2, filtered_mr=3.0),
        result("two", "filtered_mrr", filtered_mrr=0.1, filtered_mr=9.0),
    )
    assert "| filtered_mr (smaller is better) | **3.000** | 9.000 |" in text


def test_a_threshold_that_was_chosen_on_the_data_is_said():
    searched = result("one", "f1", f1=0.25)
    assert "chosen on the terms that it is measured on" in written(searched)
    given = replace(searched, settings={**SETTINGS, "theta": 0.5})
    assert "The threshold theta was given." in written(given)
    other = written(replace(searched, settings={**SETTINGS, "validation": 0.2}))
    assert "theta is chosen on 20% of the terms, which are not measured" in other and "flatters" not in other


def test_mcsm_says_how_many_neighbors_and_the_most_there_is():
    found = replace(result("one", "mcsm", mcsm=2.0), settings={**SETTINGS, "k": 40, "n_concepts": 100})
    assert "Of 40 neighbors; the largest possible value is 11.091" in written(found)
    few = replace(found, settings={**SETTINGS, "k": 40, "n_concepts": 2})
    assert largest_value(few) == pytest.approx(1.0) and largest_value(result("one", "f1", f1=0.1)) is None


def test_trees_say_what_a_duel_is_and_what_chance_is():
    found = replace(result("one", "mean_auc", mean_auc=0.5), headline={"1v2": "zorb_mean_auc"})
    text = written(found)
    assert "1v2: area under the ROC curve of pairs at distance 1 against pairs at distance 2" in text
    assert "0.5 is chance" in text and "names of one concept are at distance 0" in text
    assert "0.5 is chance" in written(result("one", "macro_auc", macro_auc=0.5))


def test_relations_say_what_their_intervals_draw():
    """Would catch an interval over pairs that is read as one over relations; results of before say nothing of it."""
    plain = result("one", "macro_auc", macro_auc=0.5)
    assert "draw" not in written(plain)
    for drawn, sentence in (
        ("pairs", "draw the pairs within each relation"),
        ("relations and pairs", "draw relations, and"),
    ):
        assert sentence in written(replace(plain, settings={**SETTINGS, "resampling": drawn}))


def test_relations_that_are_drawn_together_are_counted():
    """Would catch 28 relations that are read as 28 independent ones, and a sentence without a group of several."""
    settings = {**SETTINGS, "resampling": "pairs", "pairs": {"isa": 9, "inverse_isa": 9, "near": 4}, "n_groups": 2}
    grouped = replace(result("one", "macro_auc", macro_auc=0.5), settings=settings)
    assert "are drawn together: 3 relations are 2 groups" in written(grouped)
    assert "together" not in written(replace(grouped, settings={**settings, "n_groups": 3}))


@pytest.mark.parametrize(
    ("metric", "settings", "sentence"),
    [
        ("mean_auc", {"resampling": "sub-trees"}, "sub-trees with all their pairs. Measured on 40 pairs."),
        ("mean_auc", {"resampling": "pairs", "n_bootstrap": 9}, "Intervals over 40 pairs."),
        ("mean_auc", {"resampling": "pairs", "n_bootstrap": 0}, "Measured on 40 pairs."),
        ("acc@1", {"by_document": True}, "documents with all their mentions. Measured on 40 pairs."),
    ],
)
def test_units_that_are_not_drawn_one_by_one_are_only_counted(metric: str, settings: dict, sentence: str):
    """Would catch intervals over pairs, where sub-trees or documents are drawn."""
    found = replace(result("one", metric, **{metric: 0.5}), units={f"zorb_{metric}": [40, "pair"]})
    text = written(replace(found, settings={**SETTINGS, **settings}))
    assert sentence in " ".join(text.split()) and text.count("40 pairs") == 1


def test_scoring_as_published_is_said_where_it_differs():
    """Would catch the note below Spearman, which is scored in one way only."""
    settings = {**SETTINGS, "as_published": True}
    linking = replace(result("one", "acc@1", **{"acc@1": 0.5}), settings=settings)
    assert "Scored as published: inner products" in written(linking)
    assert "as published" not in written(replace(result("one", "spearman", spearman=0.5), settings=settings))


def test_raw_is_said_to_be_before_the_steps():
    raw = result("one", "acc@1", "zorb_raw", **{"acc@1": 0.5})
    assert "before the steps of its preparation" in written(raw)
    assert "before the steps" not in written(replace(raw, benchmark="zorb_raw"))


def test_published_figures_stand_beside_ours_or_are_named_once():
    """Would catch a figure that is dropped because its metric is misspelt, or not in the headline."""
    published = [
        PublishedFigure("Terk", "zorb_pearson", 0.75, "Terk 1999", "cosine"),
        PublishedFigure("Terk", "zorb_raw_spearman", 0.5, "Terk 1999", "cosine"),
        PublishedFigure("Terk", "zorb_spaerman", 0.25, "Terk 1999", "cosine"),
    ]
    benchmark = Benchmark("zorb", "relatedness", {"path": "x"}, published=published)
    found = result("one", "spearman", spearman=0.5, pearson=0.625)
    found = replace(found, headline={"spearman": "zorb_spearman"})
    text = written(found, result("one", "spearman", "zorb_raw", spearman=0.375), benchmark=benchmark)
    assert "| pearson | 0.625 | 0.750 |" in text and "| spearman | 0.375 | 0.500 |" in text
    assert text.count("Published, but not among what is measured here: zorb_spaerman.") == 1


def test_the_protocol_of_a_figure_is_said_and_so_is_that_it_is_over_other_units():
    """Would catch figures of 70,405 mentions that stand beside ours of 40,157 without a word."""
    figures = [("Terk", "zorb_acc@1", 0.5), ("Terk", "zorb_acc@5", 0.75), ("Skark", "zorb_acc@1", 0.25)]
    found = replace(result("one", "acc@1", **{"acc@1": 0.5, "acc@5": 0.5}), units={"zorb_acc@1": [40157, "mention"]})
    found = replace(found, settings={**SETTINGS, "as_published": True})

    def written_over(n: int) -> str:
        published = [PublishedFigure(*figure, "Terk 1999, Table 1", "the whole corpus", n) for figure in figures]
        return written(found, benchmark=Benchmark("zorb", "entity_linking", {}, published=published))

    assert written_over(0).count("Published, Terk; Skark: Terk 1999, Table 1. Protocol: the whole corpus.\n") == 1
    other = "The published figures are over 70,405 mentions, ours over 40,157."
    figures.insert(0, ("Terk", "zorb_acc@5", 0.5))  # which has no units here
    assert other in written_over(70405) and other not in written_over(0) and "ours over" not in written_over(40157)


def test_the_title_of_a_benchmark_that_is_gone_stays():
    found = replace(result("one", "spearman", spearman=0.5), definition={"title": "Zorbs of old"})
    assert "Zorbs of old.\n" in written(found)
