"""Columns in and columns out: the call for people with data frames and datasets."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex
from st_biomed.linking.match_columns import mentions_of

MENTIONS = ["flumpa disease", None, "  ", "gradthitis ", float("nan")]


class Series:
    """A column of a library that is not installed: it has values and, like pandas, an index of its own."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def tolist(self) -> list[Any]:
        return self.values

    def __iter__(self):
        raise AssertionError("a column is taken as a whole")


@pytest.mark.parametrize(
    "column",
    [
        MENTIONS,
        tuple(MENTIONS),
        Series(MENTIONS),
        np.array(MENTIONS, dtype=object),
        pa.array(["flumpa disease", None, "  ", "gradthitis ", None]),
        pa.chunked_array([["flumpa disease", None], ["  ", "gradthitis ", None]]),
        (text for text in MENTIONS),
    ],
    ids=["list", "tuple", "series", "numpy", "arrow", "chunked", "generator"],
)
def test_every_kind_of_column_gives_the_same_columns(column: Any, index: ConceptIndex) -> None:
    """Catches a missing value that is linked as the text `nan`, and rows that slip behind one."""
    found = index.link(column)
    assert found["concept"] == ["ZORB:1", None, None, "ZORB:2", None]
    assert found["label"] == ["flumpa disease", None, None, "gradtha disease", None]
    assert found["name"] == ["flumpa disease", None, None, "gradthitis", None]
    scores = found["score"]
    assert scores[0] == pytest.approx(1, abs=1e-2) and scores[1] is None and len(scores) == 5
    assert list(found) == ["concept", "label", "name", "score"]


def test_several_concepts_are_lists(index: ConceptIndex) -> None:
    best = index.search(["flumpa disease"], k=2)[0]
    found = index.link(["flumpa disease", ""], k=2, prefix="linked_")
    assert found == {
        f"linked_{name}": [[getattr(match, name) for match in best], None]
        for name in ("concept", "label", "name", "score")
    }
    assert index.link(["flumpa of old"], k=2, threshold=1)["concept"] == [[]]
    assert index.link(["flumpa of old"], threshold=1)["concept"] == [None]
    assert index.link(["flumpitis"], types=["organ"])["concept"] == ["ZORB:4"]
    assert index.link([], k=3) == {"concept": [], "label": [], "name": [], "score": []}


def test_a_data_frame_gets_the_columns_whatever_its_index(index: ConceptIndex) -> None:
    """Catches columns that are aligned by an index of 0, 1, 2 and land beside other rows."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"term": ["gradthitis", None, "flumpa disease"], "n": [1, 2, 3]}, index=[7, 5, 6])
    linked = frame.assign(**index.link(frame["term"]))
    assert list(linked.columns) == ["term", "n", "concept", "label", "name", "score"]
    assert linked.index.tolist() == [7, 5, 6]
    assert linked["concept"].tolist()[0::2] == ["ZORB:2", "ZORB:1"] and pandas.isna(linked["concept"][5])
    for kind in ("string", "category", "object"):
        assert index.link(frame["term"].astype(kind))["concept"] == ["ZORB:2", None, "ZORB:1"]
    assert mentions_of(pandas.Series([pandas.NA, pandas.NaT, "a"], dtype=object)) == [None, None, "a"]
    with pytest.raises(
        InputError, match=r'texts: expected one column of strings, e.g. frame\["term"\], found a DataFrame'
    ):
        index.link(frame)


def test_a_dataset_gets_the_columns_by_map(index: ConceptIndex) -> None:
    from datasets import Dataset

    dataset = Dataset.from_dict({"term": ["gradthitis", "", "flumpa disease", None] * 3, "n": list(range(12))})
    linked = dataset.map(lambda batch: index.link(batch["term"]), batched=True, batch_size=5)
    assert linked["concept"][:] == ["ZORB:2", None, "ZORB:1", None] * 3
    assert linked["n"][:] == list(range(12))
    several = dataset.map(lambda batch: index.link(batch["term"], k=2), batched=True, batch_size=5)
    assert several["concept"][0] == [match.concept for match in index.search(["gradthitis"], k=2)[0]]
    assert index.link(dataset["term"])["concept"] == linked["concept"][:]
    with pytest.raises(InputError, match="found a Dataset"):
        index.link(dataset)
    with pytest.raises(InputError, match="Dataset.map needs batched=True"):
        dataset.map(index.link, input_columns="term")
    with pytest.raises(InputError, match='found a LazyBatch; Dataset.map needs input_columns="term"'):
        dataset.map(index.link, batched=True)


@pytest.mark.parametrize("column", ["flumpa", b"flumpa", {"term": ["flumpa"]}, pa.table({"term": ["flumpa"]})])
def test_what_is_no_column_is_refused(column: Any, index: ConceptIndex) -> None:
    """Catches a string that is linked letter by letter, and the names of columns linked in place of their values."""
    with pytest.raises(InputError, match=r'texts: expected one column of strings, e.g. frame\["term"\], found '):
        index.link(column)


@pytest.mark.long
def test_a_dataset_is_linked_by_the_call_itself(index: ConceptIndex) -> None:
    """In several processes, and from the cache the second time; catches an index that is pickled with its vectors."""
    from datasets import Dataset

    dataset = Dataset.from_dict({"term": ["gradthitis", "", "flumpa disease", None] * 3})
    arguments: Any = {"input_columns": "term", "batched": True, "batch_size": 2, "fn_kwargs": {"on_error": "reject"}}
    linked = dataset.map(index.link, **arguments)
    assert linked["concept"][:] == ["ZORB:2", None, "ZORB:1", None] * 3 and linked["error"][:] == [None] * 12
    fresh = ConceptIndex.load(index.folder)
    assert dataset.map(fresh.link, **arguments)._fingerprint == linked._fingerprint
    assert dataset.map(index.link, **arguments, num_proc=2)["concept"][:] == linked["concept"][:]


def test_a_bad_value_does_not_end_a_job(index: ConceptIndex, caplog: pytest.LogCaptureFixture) -> None:
    """Catches a row that is lost, and one that takes the concept of the next."""
    column = [3, "gradthitis", "\ud800", None, b"flumpa", "flumpa disease"]
    found = index.link(column, on_error="reject", prefix="p_")
    assert found["p_concept"] == [None, "ZORB:2", None, None, None, "ZORB:1"]
    assert found["p_error"] == [
        "texts: expected strings, None or NaN, found 3",
        None,
        "texts: expected UTF-8, found half a character (a lone surrogate), '\\ud800'",
        None,
        "texts: expected strings, None or NaN, found b'flumpa'",
        None,
    ]
    assert [record.getMessage() for record in caplog.records] == [
        "link: 3 of 6 rows rejected, first row 0: texts: expected strings, None or NaN, found 3"
    ]
    assert index.link(["flumpa"], on_error="reject")["error"] == [None]
    assert index.link([1], k=2, on_error="reject")["concept"] == [None]
    with pytest.raises(InputError, match="unknown on_error 'skip': allowed are 'reject', 'stop'"):
        index.link(["flumpa"], on_error="skip")  # type: ignore[arg-type]
    for call in (index.link, index.search):
        with pytest.raises(InputError, match=r"texts: expected UTF-8, found half a character \(a lone surrogate\)"):
            call(["flumpa", "\ud800"])


@pytest.mark.parametrize("k", [1, 2])
def test_a_dataset_may_begin_with_a_batch_without_a_concept(k: int, index: ConceptIndex, tmp_path: Path) -> None:
    """Catches columns whose type is null in the first 1,000 rows, which datasets refuses at the first concept."""
    from datasets import Dataset

    terms = [None, "", "flumpa of old"] * 334 + ["gradthitis", None, "flumpa disease"]
    dataset = Dataset.from_dict({"term": terms})
    given = {"k": k, "threshold": 1, "on_error": "reject"}
    linked = dataset.map(index.link, input_columns="term", batched=True, fn_kwargs=given)
    assert len(linked) == 1005 and linked["concept"][:] == index.link(terms, **given)["concept"]
    assert linked["concept"][-3:] == (["ZORB:2", None, "ZORB:1"] if k == 1 else [["ZORB:2"], None, ["ZORB:1"]])
    kinds = {name: linked.features.arrow_schema.field(name).type for name in linked.column_names}
    of = (lambda kind: kind) if k == 1 else pa.list_
    assert kinds["concept"] == of(pa.string()) and kinds["score"] == of(pa.float64())
    assert kinds["error"] == pa.string()
    linked.to_parquet(tmp_path / "linked.parquet")


def test_columns_are_lists_for_everyone_but_arrow(index: ConceptIndex) -> None:
    """Catches columns of a kind of their own, which other libraries do not know."""
    found = index.link(["flumpa disease", None, "gradthitis"], k=2)
    assert all(isinstance(column, list) for column in found.values())
    assert repr(found["concept"]) == repr([*found["concept"]]) and json.loads(json.dumps(found)) == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert pa.table(found).schema.field("score").type == pa.list_(pa.float64())
    assert pa.table(index.link([None])).schema.field("score").type == pa.float64()
    pandas = pytest.importorskip("pandas")
    plain = {name: [*column] for name, column in found.items()}
    pandas.testing.assert_frame_equal(pandas.DataFrame(found), pandas.DataFrame(plain))
    found["concept"][:] = [1, 2, 3]  # a list may be changed, and arrow then sees what is in it
    assert pa.array(found["concept"]).type == pa.int64()


def test_texts_that_stand_for_a_missing_one_are_not_linked(index: ConceptIndex) -> None:
    """Catches NULL that is linked as a word."""
    column = ["NULL", " N/A ", "NULLA", None, "null"]
    found = index.link(column, missing=("NULL", "N/A"))["concept"]
    assert [concept is None for concept in found] == [True, True, False, True, False]
    assert None not in index.link(["NULL", "N/A"])["concept"]
    assert index.link(column, k=2, missing=[" NULL"])["score"][0] is None
    with pytest.raises(InputError, match="missing: expected a list of texts, found 'NULL'"):
        index.link(column, missing="NULL")
    with pytest.raises(InputError, match="missing: expected texts, found None"):
        index.link(column, missing=[None])  # type: ignore[list-item]


def test_a_mistyped_condition_is_one_line(index: ConceptIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a TypeError of a class that nobody has called, after all texts are encoded."""
    encoder = index.use()
    monkeypatch.setattr(encoder, "encode", None)
    calls = (index.search, index.link, lambda texts, **given: index.check(**given))
    for call, texts in ((call, texts) for call in calls for texts in (["flumpa"], [])):
        with pytest.raises(InputError, match="unknown condition 'leaf': allowed are .*; did you mean 'leaves'?"):
            call(texts, leaf=True)
    with pytest.raises(InputError, match="unknown condition 'leaf'"):
        index.search_vectors(np.zeros((1, 16)), leaf=True)


@pytest.mark.parametrize("value", [3, b"flumpa", ["flumpa"], True])
def test_a_value_that_is_no_text_is_refused_with_its_row(value: Any, index: ConceptIndex) -> None:
    with pytest.raises(InputError, match="texts: expected strings, None or NaN, found .* in row 1"):
        index.link(["flumpa", value])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"k": 0}, "k must be an integer of at least 1, found 0"),
        ({"threshold": 3}, "threshold 3: the scores of the index are cosines, from -1 to 1"),
        ({"threshold": "high"}, "threshold must be a number or None, found 'high'"),
    ],
)
@pytest.mark.parametrize("texts", [[None], [], ["flumpa"]])
def test_limits_are_checked_also_where_nothing_is_searched(
    texts: list[str | None], limits: dict[str, Any], message: str, index: ConceptIndex
) -> None:
    """Catches a wrong limit that a first batch without a mention lets pass."""
    with pytest.raises(InputError, match=message):
        index.link(texts, **limits)
