from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.terminology import Terminology

CODES = ["Z:2", "Z:10", "Z:1"]
VECTORS = np.array([[2.0, 0.0], [10.0, 1.0], [1.0, 3.0]])


@pytest.fixture
def table() -> KGETable:
    return KGETable(CODES, VECTORS, model="transe", terminology="abc")


def test_codes_are_sorted_with_their_vectors(table: KGETable) -> None:
    assert table.codes == ("Z:1", "Z:10", "Z:2")
    np.testing.assert_array_equal(table.vectors, VECTORS[[2, 1, 0]])
    assert (len(table), table.dimension, table.vectors.dtype) == (3, 2, np.float32)
    assert table.digest == KGETable(CODES[::-1], VECTORS[::-1], model="other").digest
    assert table.digest != KGETable(CODES, VECTORS[::-1], model="transe").digest


def test_a_code_without_a_vector_has_no_row(table: KGETable) -> None:
    np.testing.assert_array_equal(table.rows(["Z:2", "Z:3", "Z:1"]), [2, -1, 0])


def test_the_vectors_cannot_be_changed(table: KGETable) -> None:
    with pytest.raises(ValueError, match="read-only"):
        table.vectors[0] = 0


def test_it_is_saved_and_loaded(table: KGETable, tmp_path: Path) -> None:
    again = KGETable.load(table.save(tmp_path / "kge"))
    assert (again.codes, again.model, again.terminology, again.digest) == (
        table.codes,
        "transe",
        "abc",
        table.digest,
    )


@pytest.mark.parametrize(
    ("codes", "vectors", "message"),
    [
        (["Z:1"], VECTORS, r"expected \[1, D\] for as many codes, found shape \[3, 2\]"),
        ([], np.empty((0, 2)), r"expected \[0, D\]"),
        (CODES, VECTORS[:, 0], r"found shape \[3\]"),
        (["Z:1", "Z:2", "Z:1"], VECTORS, "codes: Z:1 occurs twice"),
        (CODES, np.where(VECTORS == 10, np.nan, VECTORS), "1 of 3 have NaN or infinity, the first of Z:10"),
    ],
)
def test_what_is_no_table_is_refused(codes: list[str], vectors: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        KGETable(codes, vectors, model="transe")


def test_damaged_files_are_refused(table: KGETable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table.json in it; expected a folder written by KGETable.save or"):
        KGETable.load(tmp_path)
    folder = table.save(tmp_path / "kge")
    about = json.loads((folder / "table.json").read_text())
    (folder / "table.json").write_text(json.dumps({**about, "digest": "0"}))
    with pytest.raises(InputError, match="table.json: damaged or edited"):
        KGETable.load(folder)
    (folder / "table.json").write_text(json.dumps({"model": "transe", "terminology": "", "digest": "0"}))
    with pytest.raises(InputError, match="table.json: is of format unknown, this version reads 2; train it again"):
        KGETable.load(folder)


def test_a_text_stands_for_the_row_of_its_one_concept() -> None:
    """Catches the first concept of an ambiguous text taken for all of them."""
    terminology = Terminology.read("toy")
    codes = terminology.codes
    concepts = terminology.text_concepts
    table = KGETable(codes[1:], np.arange(2.0 * (len(codes) - 1)).reshape(-1, 2), model="transe")
    rows = table.rows_of_texts(terminology)
    assert (concepts.counts > 1).any()
    for text in range(terminology.n_texts):
        of = concepts.row(text).tolist()
        known = len(of) == 1 and of[0] > 0
        assert rows[text] == (table.codes.index(codes[of[0]]) if known else -100)
    with pytest.raises(InputError, match="its codes look like 'TOY.*the table's like 'Z:1'"):
        KGETable(CODES, VECTORS, model="transe").rows_of_texts(terminology)
