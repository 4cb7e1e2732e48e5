"""Columns of more text than one array of strings can hold, with a limit of a few bytes in place of 2 GiB."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from datasets import Value

from st_biomed import arrow_strings
from st_biomed.arrow_strings import combine_string_chunks, take_strings
from st_biomed.samplers import ShuffledBatches
from st_biomed.terminology import Terminology
from st_biomed.training_data.context_arguments import ContextArguments
from st_biomed.training_data.relations import relation_pairs

STRINGS = pa.chunked_array([["flumpa", "zorb"], ["gland"]])
TOY = Terminology.read("toy")


@pytest.mark.parametrize(("largest", "kind"), [(19, pa.string()), (18, pa.large_string())])
def test_strings_are_large_where_one_array_cannot_hold_them(largest: int, kind: pa.DataType, monkeypatch):
    monkeypatch.setattr(arrow_strings, "_LARGEST", largest)
    found = take_strings(STRINGS, np.array([2, 0, 1, 1]))
    assert found.type == kind and found.to_pylist() == ["gland", "flumpa", "zorb", "zorb"]


def test_a_table_has_one_array_a_column_whatever_its_size(monkeypatch: pytest.MonkeyPatch):
    table = pa.table({"text": STRINGS, "n": pa.chunked_array([[1], [2, 3]])})
    for largest, kind in ((10**6, pa.string()), (10, pa.large_string())):
        monkeypatch.setattr(arrow_strings, "_LARGEST", largest)
        found = combine_string_chunks(table)
        assert found["text"].num_chunks == 1 and found.schema.types == [kind, pa.int64()]
        assert found.to_pylist() == table.to_pylist()


def test_training_data_of_large_strings_are_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches names and contexts of two types, which datasets do not put together."""
    text = tmp_path / "text.txt"
    text.write_text("".join(f"a case of {name}.\n" for name in TOY.strings[:20]))
    tokenizer = SimpleNamespace(tokenize=lambda text, verbose=True: text.split())
    contexts = ContextArguments(corpus=[str(text)], language="en", bare_names=True)
    rows = [contexts.rows(TOY, tokenizer)[0], relation_pairs(TOY)]
    monkeypatch.setattr(arrow_strings, "_LARGEST", 100)
    large = [contexts.rows(TOY, tokenizer)[0], relation_pairs(TOY)]
    for expected, found in zip(rows, large):
        assert found[:] == expected[:]
        assert Value("large_string") in found.features.values() and Value("string") not in found.features.values()
        assert len(list(ShuffledBatches.of(found)(found, 4, False))) == len(found) // 4
