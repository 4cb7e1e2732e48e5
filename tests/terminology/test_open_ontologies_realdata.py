"""The seven open ontologies that `evaluation/sapbert_open.sh` trains on, merged by code."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.terminology import Terminology

pytestmark = pytest.mark.realdata

FILES = {
    "hp.v2024-04-26.json.gz": "obograph",
    "doid.2024-01-31.obo.gz": "obo",
    "ncit-disease-2018-06-08.json.gz": "obograph",
    "ordo-2_6-2018-07-12.json.gz": "obograph",
    "maxo.2024-05-24.json.gz": "obograph",
    "uberon.2015-04-23.obo.gz": "obo",
    "drugbank_vocabulary.csv.gz": "drugbank",
}


def test_they_have_268761_names_of_104197_concepts(realdata: Path):
    """Catches names that a reader or the merge loses or adds: the figures of the result page are of these."""
    parts = [Terminology.read(reader, realdata / "ontologies" / file) for file, reader in FILES.items()]
    merged = Terminology.merge(*parts)
    assert (len(merged.codes), merged.n_texts) == (104_197, 268_761)
    assert (merged.parents.num_rows, merged.relations.num_rows) == (139_806, 77_562)
