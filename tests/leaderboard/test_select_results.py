"""One result of each model and evaluator: what may not stand side by side is left out, and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.results import Result
from st_biomed.leaderboard.select_results import in_order_of, named, one_of_each


def result(model: str = "one", evaluator: str = "zorb", metric: str = "acc@1", digest: str = "", **settings: Any):
    settings = {"n_bootstrap": 9, "bootstrap_seed": 0, "as_published": False, **settings}
    primary = f"{evaluator}_{metric}"
    return Result(evaluator, evaluator, model, digest or f"{model}-digest", settings, {primary: 0.5}, primary, {})


def test_sound_and_published_scores_do_not_mix():
    """Would catch a dot of inner products among those of cosines."""
    sound, published = result(), result("two", as_published=True)
    assert one_of_each([sound, published]) == ([sound], [])
    assert one_of_each([sound, published], as_published=True) == ([published], [])


def test_what_is_scored_in_one_way_stands_in_both():
    """Spearman has no published scoring of its own; measured twice it is still one figure."""
    sound, again = result(metric="spearman"), result(metric="spearman", as_published=True)
    assert one_of_each([sound, again]) == ([sound], [])
    assert one_of_each([sound, again], as_published=True) == ([again], [])
    assert one_of_each([sound], as_published=True) == ([sound], [])
    other = result(evaluator="gradtha", metric="spearman", as_published=True)
    assert one_of_each([sound, other]) == ([sound, other], [])


def test_a_model_that_scripts_cut_keeps_its_sound_results():
    """Would catch a table of sound results with the figures of cut names, and without those of whole names."""
    sound = [result(digest="whole"), result(evaluator="gradtha", metric="spearman", digest="whole")]
    published = [
        result(digest="cut", as_published=True),
        result(evaluator="gradtha", metric="spearman", digest="cut", as_published=True),
    ]
    assert one_of_each([*sound, *published]) == (sound, [])
    assert one_of_each([*published, *sound], as_published=True) == (published, [])
    only_cut = result(evaluator="veng", metric="spearman", digest="cut", as_published=True)
    assert one_of_each([*sound, only_cut]) == (sound, [])


def test_a_name_stands_for_the_model_that_was_asked_for_last():
    """Would catch a column of two models: rows of one from before training again, rows of the other from after."""
    old = [result(digest="aaaaaaaaaa"), result(evaluator="gradtha", digest="aaaaaaaaaa")]
    new = result(digest="bbbbbbbbbb")
    chosen, notes = one_of_each([*old, new])
    assert chosen == [new]
    assert notes == ["one: 2 results of another model of this name (digest aaaaaaaa) left out, shown is bbbbbbbb."]
    assert one_of_each([new, *old]).results == old


def test_of_several_settings_the_last_is_taken_for_all_models():
    """Would catch models compared on other pairs: a row of seed 0 beside a row of seed 1."""
    first = [result(model, seed=0) for model in ("one", "two")]
    chosen, notes = one_of_each([*first, result(seed=1)])
    assert [(result.model, result.settings["seed"]) for result in chosen] == [("one", 1)]
    assert notes == ["zorb: 2 results with other settings left out (one, two); shown: seed 1, not 0."]


def test_the_draws_of_the_intervals_do_not_part_what_is_compared():
    few, many = result(n_bootstrap=0), result("two", n_bootstrap=1000)
    assert one_of_each([few, many]) == ([few, many], [])
    folds = [result(folds=[{"n_bootstrap": n, "k": 1}]) for n in (0, 9)]
    assert one_of_each(folds) == ([folds[1]], [])


def test_another_way_to_embed_is_noted():
    found = [result(), result("two", bf16=True)]
    assert one_of_each(found) == (found, ["zorb: bf16 is off for one, True for two."])


def test_one_model_under_two_names_is_noted():
    found = [result("one", digest="same"), result("uno", digest="same")]
    assert one_of_each(found) == (found, ["one and uno are the same model."])


def test_nothing_gives_nothing():
    assert one_of_each([]) == ([], []) and in_order_of([], []) == []


def test_what_was_asked_for_stands_first():
    first, second = result("one"), result("two")
    other = result("one", "gradtha")
    assert in_order_of([first, other, second], [second, other]) == [second, first, other]


def test_models_and_benchmarks_are_named_as_anywhere():
    raw = replace(result(evaluator="zorb_raw"), benchmark="zorb", definition={"file": "a/zorb_file.yaml"})
    found = [result("one"), result("two"), raw]
    assert named(found) == found
    assert named(found, models=["two"]) == [found[1]]
    assert named(found, benchmarks=["zorb"]) == found and named(found, benchmarks=["zorb_raw"]) == [raw]
    assert named(found, benchmarks=["zorb_file"]) == [raw]
    with pytest.raises(InputError, match="no result of a model 'TWO': did you mean 'two'"):
        named(found, models=["TWO"])
    with pytest.raises(InputError, match="no result of a benchmark 'x'; available are zorb, zorb_raw, zorb_file"):
        named(found, benchmarks=["x"])
