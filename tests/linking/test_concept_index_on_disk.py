"""A concept index in a folder: what may be loaded, and a build that was killed goes on."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.files.sealed import sealed
from st_biomed.linking import ConceptIndex, EncodingOptions
from st_biomed.terminology import Terminology
from tests.fresh import run_fresh


def test_no_file_is_a_pickle_and_a_copy_is_an_index(index: ConceptIndex, tmp_path: Path) -> None:
    copy = index.save(tmp_path / "copy")
    assert sorted(path.name for path in copy.iterdir()) == [
        "concepts.parquet",
        "index.json",
        "names.parquet",
        "origins.parquet",
        "vectors.npy",
    ]
    assert ConceptIndex.load(copy).search(["flumpa"]) == index.search(["flumpa"])
    assert json.loads((copy / "index.json").read_text())["sources"][0]["license"] == "CC0-1.0"
    with pytest.raises(InputError, match="copy: already contains an index"):
        index.save(copy)


def test_a_copy_has_the_files_of_an_index_alone(index: ConceptIndex, tmp_path: Path) -> None:
    """Catches a forged index whose list of files leads out of its folder, and over a file beside the copy."""
    (tmp_path / "beside.txt").write_text("theirs")
    header = json.loads((index.folder / "index.json").read_text())
    header.pop("checksum")
    header["files"]["../beside.txt"] = {"bytes": 6, "xxh3_128": "x"}
    (index.folder / "index.json").write_text(sealed(header))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "beside.txt").write_text("mine")
    copy = ConceptIndex.load(index.folder).save(tmp_path / "home" / "copy")
    assert (tmp_path / "home" / "beside.txt").read_text() == "mine"
    assert len(ConceptIndex.load(copy)) == len(index)


def test_an_index_that_was_built_again_is_not_saved_as_the_loaded_one(
    index: ConceptIndex, zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    """Catches a copy of other concepts than those that were searched."""
    ConceptIndex.build(zorb.subset(codes=["ZORB:1"]), tiny_bert, index.folder, overwrite=True)
    with pytest.raises(InputError, match="index: is another index than the one that was loaded; load it again"):
        index.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_another_model_is_refused(index: ConceptIndex, tiny_bert: SentenceTransformer, tmp_path: Path) -> None:
    tiny_bert.max_seq_length = 7
    with pytest.raises(InputError, match=r"was built with model .*model \(sha256 \w{12}\), this one has sha256"):
        ConceptIndex.load(tmp_path / "index", tiny_bert)


def test_an_index_is_pickled_without_its_vectors(
    index: ConceptIndex, zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    """Catches a matrix of gigabytes that is copied to each process, and an index that was built again meanwhile."""
    content = pickle.dumps(index)
    assert len(content) < 1000
    assert pickle.loads(content).search(["flumpa"]) == index.search(["flumpa"])
    given = ConceptIndex.build(zorb, tiny_bert, tmp_path / "given")
    for other in (given, ConceptIndex.load(tmp_path / "given", tiny_bert)):
        assert pickle.loads(pickle.dumps(other)).search(["flumpa"]) == index.search(["flumpa"])
    with pytest.raises(InputError, match="was built with a model given as an object; give it to load"):
        pickle.loads(pickle.dumps(ConceptIndex.load(tmp_path / "given"))).search(["flumpa"])
    ConceptIndex.build(zorb.subset(codes=["ZORB:1"]), tiny_bert, index.folder, overwrite=True)
    with pytest.raises(InputError, match="index: is another index than the one that was pickled"):
        pickle.loads(content)


@pytest.mark.parametrize(
    "name", ["names.parquet", "concepts.parquet", "origins.parquet", "vectors.npy", "vectors.faiss"]
)
def test_a_file_that_is_not_the_one_that_was_written_is_named(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path, name: str
) -> None:
    """Catches an index that answers from a matrix that was cut short, or from one of another build."""
    folder = tmp_path / "index"
    ConceptIndex.build(zorb, tiny_bert, folder, kind="hnsw")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-7])
    with pytest.raises(InputError, match=f"{name}: truncated, has {len(whole) - 7:,} bytes and had {len(whole):,}"):
        ConceptIndex.load(folder, verify=False)
    (folder / name).write_bytes(whole[:-7] + bytes(255 - byte for byte in whole[-7:]))
    with pytest.raises(InputError, match=f"{name}: damaged or from another folder"):
        ConceptIndex.load(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name}: is missing; build the index again"):
        ConceptIndex.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"format": 3', '"format": 2', "is of format 2, this version reads 3; build the index again"),
        ('"names"', '"nouns"', r"index.json: damaged or edited"),
        ("{", "[", r"index.json: damaged \(JSONDecodeError\)"),
        ('"names": 7', '"names": 8', "index.json: damaged or edited"),
    ],
)
def test_a_header_that_was_edited_is_one_line(
    index: ConceptIndex, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "index" / "index.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        ConceptIndex.load(tmp_path / "index")


def test_folders_that_are_in_use_or_hold_no_index(index: ConceptIndex, zorb: Terminology, tmp_path: Path) -> None:
    model = index._encoder.model
    with pytest.raises(
        InputError, match="index: already contains an index; choose another folder, or replace it with --overwrite"
    ):
        ConceptIndex.build(zorb, model, tmp_path / "index")
    assert ConceptIndex.build(zorb, model, tmp_path / "index", kind="hnsw", overwrite=True).manifest.kind == "hnsw"
    with pytest.raises(InputError, match="base model 'no/such' is not a local folder"):
        ConceptIndex.build(zorb, "no/such", tmp_path / "index", overwrite=True)
    assert (
        ConceptIndex.load(tmp_path / "index").manifest.kind == "hnsw"
    )  # nothing is removed before the model is there
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="full: is not empty and has no index.json"):
            ConceptIndex.build(zorb, model, tmp_path / "full", overwrite=overwrite)
    with pytest.raises(InputError, match=r"full: no index.json in it; expected a folder written by"):
        ConceptIndex.load(tmp_path / "full")
    with pytest.raises(InputError, match="nowhere: no such folder"):
        ConceptIndex.load(tmp_path / "nowhere")


def test_arguments_are_checked_before_anything_is_written(
    index: ConceptIndex, zorb: Terminology, tmp_path: Path
) -> None:
    model = index._encoder.model
    with pytest.raises(InputError, match="unknown kind 'flat': allowed are 'auto', 'exact', 'hnsw', 'ivfpq'"):
        ConceptIndex.build(zorb, model, tmp_path / "new", kind="flat")
    with pytest.raises(InputError, match="recall must be above 0 and at most 1, found 1.1"):
        ConceptIndex.build(zorb, model, tmp_path / "new", recall=1.1)
    with pytest.raises(InputError, match="unknown dtype 'float8'"):
        EncodingOptions(dtype="float8")
    with pytest.raises(InputError, match="rows_per_commit must be at least 1, found 0"):
        EncodingOptions(rows_per_commit=0)
    with pytest.raises(InputError, match="k must be an integer of at least 1, found 0"):
        index.search(["flumpa"], k=0)
    with pytest.raises(InputError, match="k must be an integer of at least 1, found '3'"):
        index.link(["flumpa"], k="3")
    with pytest.raises(InputError, match="threshold must be a number or None, found '0.5'"):
        index.search(["flumpa"], threshold="0.5")
    with pytest.raises(InputError, match="threshold 5: the scores of the index are cosines, from -1 to 1"):
        index.link(["flumpa"], threshold=5)
    with pytest.raises(InputError, match="texts: expected a list of strings, found 'flumpa'"):
        index.search("flumpa")
    with pytest.raises(InputError, match="texts: expected a list of strings, found None"):
        index.search(["flumpa", None])
    assert not (tmp_path / "new").exists()


def test_a_vector_that_is_not_finite_stops_the_build_and_names_the_text(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    next(tiny_bert[0].parameters()).data[:] = np.nan
    with pytest.raises(InputError, match="the model returns NaN or infinity for 'disease of the flumpa'"):
        ConceptIndex.build(zorb, tiny_bert, tmp_path / "index")


_KILLED = """
import os, signal, sys
import numpy as np
from st_biomed.linking import ConceptIndex, EncodingOptions, vectors
from st_biomed.terminology import Terminology

write = vectors.replace_text
commits = 0

def kill_at_the_third(path, text):
    # The rows of the third block are in the file, and encoding.json does not know of them yet.
    global commits
    commits += 1
    if commits == 4:  # the first one is of no row
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, text)

vectors.replace_text = kill_at_the_third
terminology, model, folder = sys.argv[1:]
ConceptIndex.build(Terminology.load(terminology), model, folder, encoding=EncodingOptions(rows_per_commit=10))
"""


@pytest.mark.long
def test_a_build_that_was_killed_goes_on_and_ends_as_an_unbroken_one(
    many_names: Callable[[int], Terminology], tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches rows that are lost, doubled or shifted by a kill, and a build that begins anew."""
    terminology = many_names(64)
    terminology.save(tmp_path / "terminology")
    words = [str(path) for path in (tmp_path / "terminology", tiny_bert_folder, tmp_path / "broken")]
    process = run_fresh(_KILLED, *words)
    assert process.returncode == -9, process.stderr
    with pytest.raises(InputError, match="encoding was interrupted at 20 of 64 names; run the same build again"):
        ConceptIndex.load(tmp_path / "broken")

    options = EncodingOptions(rows_per_commit=10)
    unbroken = ConceptIndex.build(terminology, tiny_bert_folder, tmp_path / "unbroken", encoding=options)
    encoded: list[str] = []
    from st_biomed.linking.encoding import NameEncoder

    encode = NameEncoder.encode

    def counted(self, texts, *, task):
        encoded.extend(texts if task == "document" else ())
        return encode(self, texts, task=task)

    monkeypatch.setattr(NameEncoder, "encode", counted)
    resumed = ConceptIndex.build(terminology, tiny_bert_folder, tmp_path / "broken", encoding=options)
    assert len(encoded) == 1 + 44  # the first name tells the dimension
    for name in unbroken.manifest.files:
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes()
    assert resumed.manifest == unbroken.manifest
    assert not (tmp_path / "broken" / "encoding.json").exists()


def test_an_interrupted_encoding_is_not_resumed_with_another_model(
    many_names: Callable[[int], Terminology],
    tiny_bert: SentenceTransformer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches a matrix half of whose rows are another model's; ``overwrite`` begins anew."""
    from st_biomed.linking import encode_names

    terminology, options = many_names(30), EncodingOptions(rows_per_commit=10)
    blocks = encode_names._local_blocks
    monkeypatch.setattr(encode_names, "_local_blocks", lambda *given, **by_name: [next(blocks(*given, **by_name))])
    with pytest.raises(InputError, match="vectors.npy: missing or damaged"):
        ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", encoding=options)
    monkeypatch.undo()
    tiny_bert.max_seq_length = 7
    with pytest.raises(InputError, match="holds an interrupted encoding with another model; say --overwrite"):
        ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", encoding=options)
    assert len(ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", overwrite=True).catalog) == 30
