from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import EntityLinkingEvaluator, FoldsEvaluator
from st_biomed.evaluators.entity_linking.folds import mean_of_folds
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.linking_data import LinkingDataset, LinkingDictionary, Mention, open_dataset
from st_biomed.records import SourceInfo
from tests.contracts.evaluator_contract import EvaluatorContract

SOURCE = SourceInfo("ZORB", "Zorb")
NAMES = {"aa": (1.0, 0.0), "bb": (0.0, 1.0)}
VECTORS = NAMES | {"like aa": (0.9, 0.1), "like bb": (0.1, 0.9), "more aa": (0.8, 0.1)}
OPTIONS = {"columns": ["id", "mention"], "pattern": "ZORB_{fold}/{split}.txt", "names": "ZORB_{fold}/standard.txt"}


class TestFoldsEvaluatorContract(EvaluatorContract):
    evaluator_class = FoldsEvaluator
    chance = 1 / 20

    def make(self, **options) -> FoldsEvaluator:
        """Two folds of the same 20 names and half the mentions each."""
        dictionary = LinkingDictionary.from_entries([(f"name {i}", [f"X{i}"]) for i in range(20)])
        mentions = [Mention(f"mimpic {i}", (frozenset({f"X{i}"}),)) for i in range(20)]
        folds = [LinkingDataset("zorb", {"test": tuple(mentions[start::2])}, dictionary, SOURCE) for start in (0, 1)]
        return FoldsEvaluator([EntityLinkingEvaluator(fold) for fold in folds], **options)

    def perfect(self, texts: list[str]) -> np.ndarray:
        return np.eye(20)[[int(text.split()[1]) for text in texts]]

    def opposite(self, texts: list[str]) -> np.ndarray:
        return self.perfect(texts) * np.array([[-1 if text.startswith("mimpic") else 1] for text in texts])


def embed(texts: list[str]) -> np.ndarray:
    return np.array([VECTORS[text] for text in texts], dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two folds: one of two mentions, both right, and one of three, one right."""
    mentions = [("X1\tlike aa", "X2\tlike bb"), ("X1\tlike bb", "X2\tlike aa", "X1\tmore aa")]
    for fold, lines in enumerate(mentions):
        place = tmp_path / f"ZORB_{fold}"
        place.mkdir()
        (place / "test.txt").write_text("\n".join(lines))
        (place / "standard.txt").write_text("X1\taa\nX2\tbb\n")
    return tmp_path


def protocol(folder: Path, **settings: object) -> LinkingSettings:
    return LinkingSettings("zorb", "folds", str(folder), options=OPTIONS, dev="", folds=[0, 1], ks=[1, 2], **settings)


def test_every_fold_counts_the_same(folder: Path) -> None:
    """Catches a mean over all mentions, 3 of 5, and counts that are averaged."""
    (evaluator,) = protocol(folder).evaluators()
    metrics = evaluator.measure(embed)
    assert evaluator.primary_metric == "zorb_acc@1"
    assert metrics["zorb_acc@1"] == pytest.approx((1 + 1 / 3) / 2)
    assert evaluator.units["acc@1"].value == pytest.approx((1 + 1 / 3) / 2)
    assert metrics["zorb_acc@1_low"] < metrics["zorb_acc@1"] < metrics["zorb_acc@1_high"]
    assert (metrics["zorb_acc@2"], metrics["zorb_n_mentions"]) == (1, 5)
    assert evaluator.headline == {"acc@1": "zorb_acc@1", "acc@2": "zorb_acc@2"}
    assert len(evaluator.get_config_dict()["folds"]) == 2


def test_the_dictionary_of_all_folds_is_read_and_kept_once(folder: Path, monkeypatch) -> None:
    """Catches a terminology of a million names that is read for each fold, and held in memory as often."""
    (folder / "names.txt").write_text("X1||aa\nX2||bb\nX2||bb\nX2||Bb\n")
    options = {key: value for key, value in OPTIONS.items() if key != "names"}
    settings = LinkingSettings(
        "zorb", "folds", str(folder), str(folder / "names.txt"), options, {"lower_case": {}}, dev="", folds=[0, 1]
    )
    alone = [settings.open(fold) for fold in settings.folds]
    read, opened = open_dataset.open_dictionary, []
    monkeypatch.setattr(
        open_dataset, "open_dictionary", lambda source, **named: opened.append(source) or read(source, **named)
    )
    for evaluator in settings.evaluators():
        first, second = (fold.dataset for fold in evaluator.folds)
        assert first.dictionary is second.dictionary and len(first.dictionary) == 3
        assert first.tallies["dictionary"] == second.tallies["dictionary"]
        assert first.split("test") != second.split("test")
    assert len(opened) == 1
    raw = settings.evaluators()[0]
    counts = [str(dataset.tallies["dictionary"]) for dataset in (*alone, *(fold.dataset for fold in raw.folds))]
    assert len(set(counts)) == 1, "the counts of a fold do not depend on the others"
    own, other = (fold.dataset.dictionary for fold in protocol(folder).evaluators()[0].folds)
    assert own.names == other.names == ["aa", "bb"], "the names of each fold are in its own file"


def test_documents_are_drawn_when_asked() -> None:
    """Catches intervals over mentions although documents were asked for, and a document that is two in two folds."""
    dictionary = LinkingDictionary.from_entries([("aa", ["X1"]), ("bb", ["X2"])])
    texts = {"like aa": "X1", "like bb": "X1"}
    mentions = [Mention(text, (frozenset({code}),), document=text) for text, code in texts.items()]
    data = LinkingDataset("zorb", {"test": (*mentions, mentions[0])}, dictionary, SOURCE)
    evaluator = FoldsEvaluator([EntityLinkingEvaluator(data, by_document=True, n_bootstrap=0) for _ in range(2)])
    evaluator.measure(embed)
    assert evaluator.units["acc@1"].clusters.tolist() == ["like aa", "like bb", "like aa"] * 2
    config = evaluator.get_config_dict()
    assert config["by_document"] is True and "repeated_mentions" not in config
    with pytest.raises(InputError, match=r"folds: expected the same by_document in each, found \[False, True\]"):
        FoldsEvaluator([*evaluator.folds, EntityLinkingEvaluator(data)])


def test_a_suite_measures_them_before_and_after(folder: Path) -> None:
    suite = LinkingSuite([protocol(folder)])
    assert suite.dev is None
    metrics = suite.tests[0].measure(embed)
    assert "zorb (2 folds)" in suite.table(before={"zorb": metrics})


def test_what_cannot_be_averaged_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="zorb: folds are for testing only; set dev: '' for no split"):
        LinkingSettings("zorb", "folds", str(folder), options=OPTIONS, folds=[0, 1])
    with pytest.raises(InputError, match="folds: expected at least one, found none"):
        FoldsEvaluator([])
    evaluator = EntityLinkingEvaluator(protocol(folder).open(0))
    other = EntityLinkingEvaluator(protocol(folder).open(1), ks=(1, 3))
    with pytest.raises(InputError, match=r"folds: expected the same ks in each, found \[\(1, 3\), \(1, 5\)\]"):
        FoldsEvaluator([evaluator, other])
    cut = EntityLinkingEvaluator(protocol(folder).open(0), truncate_dim=2)
    with pytest.raises(InputError, match="folds: truncate_dim, bf16 and the cache are options .*, found 2 in a fold"):
        FoldsEvaluator([evaluator, cut])
    FoldsEvaluator([evaluator, cut], truncate_dim=2)


def test_counts_of_a_named_evaluator_are_sums():
    """Catches a count that is averaged because it has the name before it."""
    assert mean_of_folds([{"x_n_b": 2, "x_a": 2}, {"x_n_b": 4, "x_a": 4}], "x_") == {"x_n_b": 6, "x_a": 3}


def test_a_mention_of_several_folds_is_drawn_once() -> None:
    """Catches intervals that are too narrow because one mention counts as several independent ones."""
    dictionary = LinkingDictionary.from_entries([("aa", ["X1"]), ("bb", ["X2"])])
    mentions = [Mention(text, (frozenset({code}),)) for text, code in (("like aa", "X1"), ("like bb", "X1")) * 15]
    parts = [tuple(Mention(f"{m.text}", m.gold, document=str(i)) for i, m in enumerate(mentions)), tuple(mentions)]
    data = [LinkingDataset("zorb", {"test": part}, dictionary, SOURCE) for part in parts]

    def interval(*folds: int) -> tuple[float, bool]:
        evaluator = FoldsEvaluator([EntityLinkingEvaluator(data[0]) for _ in folds], name="zorb")
        found = evaluator.measure(embed)
        return found["zorb_acc@1_high"] - found["zorb_acc@1_low"], "repeated_mentions" in evaluator.get_config_dict()

    (once, repeated_once), (twice, repeated_twice) = interval(0), interval(0, 0)
    assert twice == pytest.approx(once, abs=0.02) and once > 0.3, "two folds of the same mentions tell no more"
    assert (repeated_once, repeated_twice) == (False, True)


@pytest.mark.parametrize(
    "other", [{"start": 9, "end": 16}, {"gold": (frozenset({"X2"}),)}, {"document": "e"}, {"text": "more aa"}], ids=str
)
def test_mentions_that_differ_in_place_or_concept_are_two(other: dict) -> None:
    """Catches two mentions of one string that are drawn as if they were one."""
    dictionary = LinkingDictionary.from_entries([("aa", ["X1"]), ("bb", ["X2"])])
    mention = Mention("like aa", (frozenset({"X1"}),), document="d", start=0, end=7)
    repeated = []
    for second in (mention, replace(mention, **other)):
        data = [LinkingDataset("zorb", {"test": (one,)}, dictionary, SOURCE) for one in (mention, second)]
        config = FoldsEvaluator([EntityLinkingEvaluator(fold) for fold in data]).get_config_dict()
        repeated.append("repeated_mentions" in config)
    assert repeated == [True, False]


def test_a_figure_that_a_fold_lacks_has_no_mean() -> None:
    """Catches a subset that is empty in a later fold and ends the measurement."""
    assert mean_of_folds([{"acc@1": 0.5, "refined_acc@1": 1.0}, {"acc@1": 1.0}]) == {"acc@1": 0.75}


def test_unsettled_mentions_are_counted() -> None:
    assert mean_of_folds([{"zorb_concept_unsettled": 3.0}, {"zorb_concept_unsettled": 0.0}], "zorb_") == {
        "zorb_concept_unsettled": 3.0
    }
