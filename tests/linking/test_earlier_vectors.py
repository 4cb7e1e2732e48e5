"""An index of a new release takes the vectors of unchanged names from the last one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex, EncodingOptions
from st_biomed.linking.encoding import NameEncoder
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

Many = Callable[[int], Terminology]


def released(terminology: Terminology, *names: str) -> Terminology:
    """A release with names that sort before, between and after the old ones."""
    new = Terminology.from_records([Term("ZORB:0", name) for name in names], SourceInfo("ZORB2", "Zorb 2"))
    return Terminology.merge(terminology, new)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_only_new_names_are_encoded(
    many_names: Many, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    """Over several blocks; catches rows that slip, names that are encoded twice or as mentions, and vectors of a
    name that is gone."""
    old, names = many_names(50), ("AAA", "nebza", "zzz")
    options = EncodingOptions(dtype=dtype, rows_per_commit=16)  # type: ignore[arg-type]
    ConceptIndex.build(old, tiny_bert_folder, tmp_path / "old", encoding=options)
    new = released(old.subset(codes=[f"ZORB:{i}" for i in range(6)]), *names)
    expected = ConceptIndex.build(new, tiny_bert_folder, tmp_path / "whole", encoding=options)
    encode, encoded, tasks = NameEncoder.encode, list[str](), dict[str, object]()

    def counted(self: NameEncoder, texts: list[str], **more: object) -> np.ndarray:
        encoded.extend(texts)
        tasks.update(dict.fromkeys(texts, more["task"]))
        return encode(self, texts, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(NameEncoder, "encode", counted)
    options = EncodingOptions(dtype=dtype, rows_per_commit=16, earlier=tmp_path / "old")  # type: ignore[arg-type]
    found = ConceptIndex.build(new, tiny_bert_folder, tmp_path / "old", encoding=options, overwrite=True)
    # The others are names with a letter left out, which measure the recall.
    assert {*encoded} & {*new.strings} == {*names} and {tasks[name] for name in names} == {"document"}
    assert found.catalog.digest == expected.catalog.digest
    np.testing.assert_allclose(found.vectors.matrix, expected.vectors.matrix, atol=2e-3)
    assert [one[0].name for one in found.search([*names])] == [*names]


@pytest.mark.parametrize(
    "other, line",
    [
        ({"dtype": "float16"}, r"old has dtype float32, and the new index float16"),
        ({"bf16": True}, r"old has bf16 False, and the new index True"),
        ({"similarity": "dot"}, r"old has similarity cosine, and the new index dot"),
        ({"length": 7}, r"old is of another encoder \(sha256 \w{12}\) than the new index \(\w{12}\)"),
        ({"earlier": "nowhere"}, r"earlier: nowhere: no such folder"),
        ({"earlier": 5}, r"earlier: expected the folder of an index, found 5"),
    ],
)
def test_vectors_of_another_encoder_or_precision_are_refused(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path, other: dict[str, object], line: str
) -> None:
    """Catches an index whose rows cannot be compared, and a new one that is left half built."""
    ConceptIndex.build(zorb, tiny_bert, tmp_path / "old", encoding=EncodingOptions(bf16=False))
    encoding = {"earlier": tmp_path / "old", "bf16": False, **other}
    tiny_bert.max_seq_length = encoding.pop("length", tiny_bert.max_seq_length)  # type: ignore[assignment]
    similarity = encoding.pop("similarity", None)
    with pytest.raises(InputError, match=line):
        ConceptIndex.build(
            zorb,
            tiny_bert,
            tmp_path / "new",
            similarity=similarity,  # type: ignore[arg-type]
            encoding=EncodingOptions(**encoding),  # type: ignore[arg-type]
        )
    assert not (tmp_path / "new").exists()


def test_the_precision_is_that_of_the_earlier_index(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    """Catches a build that is refused because this machine would choose another precision."""
    for bf16 in (True, False):
        ConceptIndex.build(zorb, tiny_bert, tmp_path / f"{bf16}", encoding=EncodingOptions(bf16=bf16))
        options = EncodingOptions(earlier=tmp_path / f"{bf16}")
        assert ConceptIndex.build(zorb, tiny_bert, tmp_path / f"{bf16}2", encoding=options).manifest.bf16 is bf16
    with pytest.raises(InputError, match="earlier: the Ray engine encodes all names"):
        EncodingOptions(engine="ray", earlier="old")
