"""The Italian documents of E3C with the terms of the Italian ICD-9-CM tree and HPO."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mention_limits import Caps
from st_biomed.corpus.mentions import mention_contexts
from st_biomed.corpus.raw_text import documents
from st_biomed.records import Tally
from st_biomed.terminology import Terminology


@pytest.mark.realdata
def test_documents_and_mentions_of_the_italian_corpus(realdata: Path) -> None:
    """6,165 documents of layer 3 and 156 of layer 2; catches a form of file or a spelling that is no longer read."""
    terminology = Terminology.merge(
        Terminology.read("icd9cm", realdata / "italian" / "icd9cm_it_tree.tsv.gz"),
        Terminology.read("babelon", realdata / "multilingual" / "hpo" / "hp-it.babelon.tsv.gz"),
    )
    matcher = TermMatcher(terminology, "it")
    tally = Tally()
    paths = [realdata / "italian" / name for name in ("e3c_it_layer3.jsonl.gz", "e3c_it_layer2_xmi.tar.gz")]
    found = mention_contexts(matcher, documents(paths, tally=tally), caps=Caps(per_term=4))
    assert (tally.n_read, tally.n_kept) == (6_165 + 156, 6_321)
    coverage = found.coverage
    assert (coverage.words, coverage.mentions, coverage.ambiguous_mentions) == (5_881_903, 71_983, 5_145)
    assert (coverage.terms_found, coverage.terms, coverage.concepts_found, coverage.concepts) == (
        1_408,
        30_141,
        1_246,
        20_179,
    )
    assert len(found.dataset) == 4_163 and all(text.count("[Ms]") == 1 for text in found.dataset["text"])
