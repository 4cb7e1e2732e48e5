"""Linking benchmarks whose intervals and tests draw documents: which they are, and that units of both kinds never mix."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import EntityLinkingEvaluator, FoldsEvaluator
from st_biomed.evaluators.benchmark import Benchmark, benchmark_names
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.leaderboard.comparison import compare
from st_biomed.leaderboard.metric_descriptions import drawn_of
from st_biomed.leaderboard.models import ModelSpec
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.leaderboard.run import measure
from st_biomed.leaderboard.select_results import one_of_each
from st_biomed.linking_data.formats import linking_format
from st_biomed.records import Tally
from tests.evaluators.linking_by_hand import at_angles, dataset, hand_made, mention

FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"
FOLDERS = {"folds": "coder_folds"}
OPTIONS = {
    "folds": {"fold": 1, "pattern": "fold_{fold}/{split}.txt", "names": "fold_{fold}/standard.txt"},
    "mantra": {"language": "fr"},
    "quaero": {"units": "MEDLINE"},
    "xlbel": {"language": "es"},
}
"""Folders and options of the fixtures, where they are not those of their format and benchmark."""

SETTINGS = {
    "format": "ncbi_disease",
    "path": str(FIXTURES / "ncbi_disease"),
    "dictionary": str(FIXTURES / "ncbi_disease" / "medic.txt"),
}


def settings(**changed) -> LinkingSettings:
    return LinkingSettings(**{"name": "zorb", **SETTINGS, "steps": {"lower_case": {}}, "by_document": True, **changed})


def test_the_evaluators_of_every_split_draw_documents():
    """Catches a benchmark whose raw form, dev part or evaluators in training have other units than its test."""
    suite = LinkingSuite([settings()], n_bootstrap=0)
    assert suite.dev is not None and len(suite.tests) == 2
    suite.add_dataset(suite.tests[0].dataset, "added", by_document=True)
    evaluators = [*suite.tests, *suite.dev.evaluators, *settings().dev_evaluators()]
    assert len(evaluators) == 6 and all(evaluator.by_document for evaluator in evaluators)
    test = suite.tests[1]
    test.measure(lambda texts: np.array([[len(text), 1.0] for text in texts]))
    expected = [mention_.document for mention_ in test.queries.mentions]
    assert test.units["acc@1"].clusters.tolist() == expected and len(set(expected)) < len(expected)
    assert not any(evaluator.by_document for evaluator in settings(by_document=False).evaluators())


def test_mentions_without_documents_are_refused(tmp_path: Path):
    (tmp_path / "test.tsv").write_text("flumpas\tZORB:1\n")
    (tmp_path / "names.txt").write_text("ZORB:1||flumpa\n")
    given = {"format": "tsv", "path": str(tmp_path), "dictionary": str(tmp_path / "names.txt"), "steps": {}, "dev": ""}
    with pytest.raises(
        InputError, match="test': by_document: 1 of 1 mentions have no document; by_document: false dra"
    ):
        settings(**given).evaluators()
    assert len(settings(**given, by_document=False).evaluators()) == 1


@pytest.mark.parametrize(
    "name", sorted(name for name in benchmark_names() if Benchmark.read(name).evaluator == "entity_linking")
)
def test_packaged_benchmarks_draw_documents_where_mentions_share_them(name: str):
    """Catches intervals over mentions of a corpus of documents, and a benchmark that could never be measured."""
    benchmark = Benchmark.read(name).evaluator_settings()
    assert isinstance(benchmark, LinkingSettings)
    form = benchmark.format
    options = {**benchmark.options, **OPTIONS.get(form, {})}
    corpus = linking_format(form).read(FIXTURES / FOLDERS.get(form, form), tally=Tally(), **options)
    mentions = [mention_ for split in corpus.mentions.values() for mention_ in split]
    documents = Counter(mention_.document for mention_ in mentions)
    assert mentions
    if benchmark.by_document:
        assert "" not in documents
    else:
        assert "" in documents or set(documents.values()) == {1}


def test_figures_by_mention_are_measured_again_and_not_compared(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Catches saved units of mentions beside units of documents in one test, and an older figure that is kept."""
    benchmark = Benchmark("zorb", "entity_linking", {**SETTINGS, "steps": {}, "dev": "dev"}, "Zorbs")
    texts = sorted(
        {
            text
            for evaluator in settings(steps={}).evaluators()
            for text in evaluator.queries.texts + evaluator.names.texts
        }
    )
    models = []
    for seed, name in enumerate(("one", "two")):
        vectors = np.random.default_rng(seed).normal(size=(len(texts), 4))
        np.savez(tmp_path / f"{name}.npz", texts=np.array(texts), vectors=vectors)
        models.append(ModelSpec(name, str(tmp_path / f"{name}.npz")))
    folder = ResultsFolder(tmp_path / "out")
    old = measure(models, [benchmark], folder, n_bootstrap=0).results
    by_document = replace(benchmark, settings={**benchmark.settings, "by_document": True})
    new = measure(models, [by_document], folder, n_bootstrap=0).results
    assert len(folder.results) == 4 and [a.metrics for a in old] == [b.metrics for b in new]
    assert all(folder.units(result)["acc@1"].clusters is not None for result in new)
    (test,) = compare(new, "one", folder).values()
    assert test["two"].n == 5
    with caplog.at_level(logging.WARNING):
        assert compare([old[0], new[1]], "one", folder) == {}
    assert "found mentions one by one and mentions in clusters; measure both in one way" in caplog.text
    chosen, notes = one_of_each([*old, new[1]])
    assert chosen == [new[1]] and "by_document True, not False" in notes[0]


def test_other_documents_are_another_measurement():
    """Catches a figure that is kept although the mentions are in other documents now."""
    entries = [("flumpa", ["MESH:X1"])]
    digests = set()
    for documents in (("d1", "d1"), ("d1", "d2")):
        mentions = [mention("flumpas", "X1", document=document) for document in documents]
        config = EntityLinkingEvaluator(dataset(entries, mentions), by_document=True).get_config_dict()
        digests.add(config["documents_sha256"])
        assert "documents_sha256" not in EntityLinkingEvaluator(dataset(entries, mentions)).get_config_dict()
    assert len(digests) == 2


def test_folds_say_that_they_draw_documents():
    """Catches a table of folds whose notes say that single mentions are drawn."""
    folds = FoldsEvaluator([hand_made(by_document=True)], name="zorb")
    folds.measure(at_angles)
    config = folds.get_config_dict()
    found = Result("zorb", "zorb", "one", "", config, {"zorb_acc@1": 0.5}, "zorb_acc@1", {})
    assert drawn_of(found) == "Intervals and tests draw documents with all their mentions."
    assert "by_document" not in FoldsEvaluator([hand_made()]).get_config_dict()
