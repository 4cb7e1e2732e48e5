"""The four forms of ICD-9-CM, invented, and what the tests look at in them."""

from __future__ import annotations

from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

CODES = FIXTURES / "CMS99_DESC_LONG_DX.txt"
TABULAR = FIXTURES / "icd9cm_tabular.txt"
TABLE = FIXTURES / "icd9cm_hierarchy.csv"
TREE = FIXTURES / "icd9cm_it_tree.tsv"


def parents(terminology: Terminology) -> dict[str, str]:
    rows = terminology.parents.to_pylist()
    found = {terminology.codes[r["child"]]: terminology.codes[r["parent"]] for r in rows}
    return {child.removeprefix("ICD9CM:"): parent.removeprefix("ICD9CM:") for child, parent in found.items()}


def names(terminology: Terminology, code: str) -> list[str]:
    """The preferred name, then the others."""
    title = terminology.strings[terminology.preferred_texts[terminology.concept(code)]]
    return [title, *(name for name in terminology.concept_names(code) if name != title)]


NODES = "node_id\tparent_id\tdepth\tsection\tcode\tlabel_it\tnotes_raw\n0\t-1\t0\tdiagnosi\t\tdiagnosi\t\n"
