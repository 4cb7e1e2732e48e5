"""Mentions of NCBI disease in their abstracts: long forms, marked windows, and names found in the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.corpus.matching import TermMatcher
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.context_texts import expand_from_contexts, marked_contexts
from st_biomed.linking_data import LinkingDataset, open_linking
from st_biomed.linking_data.preparation import prepare

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def dataset(realdata: Path) -> LinkingDataset:
    folder = realdata / "benchmarks_dev" / "ncbi_disease"
    return open_linking("ncbi_disease", folder, dictionary=folder / "medic_06Jul2012.txt.gz")


def test_long_forms_are_those_of_the_benchmark(dataset: LinkingDataset) -> None:
    """Catches a context that is handled in another way than a document of a data set."""
    mentions = dataset.split("test")
    texts = [mention.text for mention in mentions]
    found = expand_from_contexts(texts, [dataset.documents[mention.document] for mention in mentions])
    step = prepare(dataset, ["expand_abbreviations"]).split("test")
    assert found == [mention.expansion or mention.text for mention in step]
    assert sum(text != long for text, long in zip(texts, found)) == 262


def test_every_mention_stands_in_its_abstract(dataset: LinkingDataset) -> None:
    mentions = dataset.split("test")
    found = marked_contexts(
        [mention.text for mention in mentions],
        [dataset.documents[mention.document] for mention in mentions],
        window=32,
    )
    for mention, text in zip(mentions, found):
        assert text is not None
        assert text.partition("[Ms]")[2].partition("[Me]")[0].split() == mention.text.split()


def test_names_that_are_found_where_there_is_no_recognizer(dataset: LinkingDataset) -> None:
    """The matcher of ``find_names``: mentions of the annotators that it finds exactly, and all that it finds."""
    catalog = Catalog.of(dataset.dictionary)
    matcher = TermMatcher.of_names(catalog.names, catalog.name_concepts, catalog.digest, "en")
    mentions = dataset.split("test")
    gold = {(mention.document, mention.start, mention.end) for mention in mentions}
    found = set()
    for document in {mention.document for mention in mentions}:
        spans = matcher.find(dataset.documents[document])
        found |= {(document, start, end) for start, end in zip(spans.starts.tolist(), spans.ends.tolist())}
    assert (len(gold), len(found), len(gold & found)) == (960, 790, 480)
