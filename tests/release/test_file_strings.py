"""Claims about reading files: their strings, and whether they are what their names say."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from zorb_terms import TERM as ZORB_TERM
from zorb_terms import ZORB, terminology

from st_biomed.release.file_strings import READ_BYTES, fault_of, strings_in
from st_biomed.release.privacy import judge
from st_biomed.release.term_search import TermSearch
from st_biomed.terminology import Terminology

TERM = "Chronic zorbal inflammation, of the left flenn"


def write_json(path: Path) -> None:
    path.write_text('{"a": 1, "a": {"x": ["\\u0043hronic zorbal inflammation\\nof the left flenn"]}, "a": 2}')


def write_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"sampler": [TERM, 5]}, protocol=4))


def write_archive(path: Path) -> None:
    torch.save({"sampler": (1, TERM, torch.zeros(3))}, path)


def write_old_archive(path: Path) -> None:
    torch.save({"sampler": TERM}, path, _use_new_zipfile_serialization=False)


def write_array(path: Path) -> None:
    torch.save({"texts": np.array(["x", TERM, TERM + " and more"])}, path)


def write_safetensors(path: Path) -> None:
    header = json.dumps({"__metadata__": {"note": TERM}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)


def write_markdown(path: Path) -> None:
    path.write_text("chronic&nbsp;zorbal inflammation&#44; of the left&#32;flenn")


def write_log(path: Path) -> None:
    path.write_bytes(b"\xff\x00 step 1: " + TERM.encode() + b"\x00\xfe")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("run.json", write_json),
        ("sampler.pkl", write_pickle),
        ("training_args.bin", write_archive),
        ("training_args.bin", write_old_archive),
        ("training_args.bin", write_array),
        ("model.safetensors", write_safetensors),
        ("README.md", write_markdown),
        ("train.log", write_log),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_reads_the_strings_of_every_kind_of_file(tmp_path: Path, name: str, write) -> None:
    """Would catch a term that hides in an escape, a repeated key, beside a pickle's opcodes or in a header."""
    write(tmp_path / name)
    assert TermSearch({name: strings_in(tmp_path / name)}).find(pa.array([TERM]))


def test_a_pickle_is_read_without_being_executed(tmp_path: Path) -> None:
    """Would catch reading a file to check by unpickling it."""
    (tmp_path / "x.pkl").write_bytes(b"\x80\x02cos\nmkdir\n" + pickle.dumps(str(tmp_path / "made"))[2:-1] + b"\x85R.")
    strings_in(tmp_path / "x.pkl")
    assert not (tmp_path / "made").exists()


# ---------------------------------------------------------------------- what is not what its name says


def safetensors(header: object, content: bytes, behind: bytes = b"") -> bytes:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + content + behind


def tensor(start: int, end: int) -> dict[str, object]:
    return {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]}


NAME = ZORB_TERM.encode()
DAMAGED = {
    "data behind the last tensor": safetensors({"a": tensor(0, 8)}, bytes(8), NAME),
    "data between two tensors": safetensors(
        {"a": tensor(0, 8), "b": tensor(8 + len(NAME), 99)}, bytes(8) + NAME + bytes(47)
    ),
    "data before the first tensor": safetensors({"a": tensor(len(NAME), len(NAME) + 8)}, NAME + bytes(8)),
    "data behind the header's JSON": safetensors(json.dumps({"a": tensor(0, 8)}).encode() + b" " + NAME, bytes(8)),
    "no tensors but data": safetensors({}, NAME),
    "text": NAME,
    "nothing": b"",
    "too few bytes": safetensors({"a": tensor(0, 8)}, bytes(4)),
    "a header longer than the file": (1 << 62).to_bytes(8, "little") + NAME,
    "a pickle": pickle.dumps({"x": ZORB_TERM}),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_safetensors_file_is_a_header_and_its_tensors_and_nothing_else(
    what: str, release: Path, licensed: Terminology, tiny_bert_folder: Path
) -> None:
    """Catches names behind the weights, where nobody who loads the model meets them."""
    (release / "model.safetensors").write_bytes(DAMAGED[what])
    fault, *held = judge(release, [licensed], tiny_bert_folder).breaches
    assert fault.startswith("model.safetensors: is not a whole safetensors file and nothing else (")
    assert bool(held) is (ZORB_TERM.encode() in DAMAGED[what])


@pytest.mark.parametrize(
    "note", [{"__metadata__": {"note": "gradthic flumpitis"}}, {"gradthic.flumpitis": tensor(0, 0)}]
)
def test_a_header_of_tensors_is_free_text(note: dict, release: Path, tiny_bert_folder: Path) -> None:
    """Catches a name of two words among the metadata of the weights, or as the name of a tensor."""
    (release / "model.safetensors").write_bytes(safetensors({**note, "a": tensor(0, 8)}, bytes(8)))
    (held,) = judge(release, [terminology(ZORB, [("gradthic flumpitis",)])], tiny_bert_folder).breaches
    assert held.startswith("model.safetensors: holds 'gradthic flumpitis'")


def zipped(member: str = "x.txt", content: bytes = NAME) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return stream.getvalue()


UNREADABLE = {
    "an archive": ("README.md", zipped()),
    "an archive behind text": ("README.md", b"# A model\n" + zipped()),
    "compressed text": ("results.csv", gzip.compress(NAME)),
    "bytes": ("LICENSE", bytes(range(256)) * 10),
    "text with zeros": ("README.md", NAME + b"\0"),
    "a pickle as JSON": ("run.json", pickle.dumps(ZORB_TERM)),
    "half a JSON": ("config.json", b'{"a": "gradthic'),
    "JSON and something behind": ("modules.json", b"[] gradthic"),
    "JSON ten thousand deep": ("1_Pooling/config.json", b"[" * 10_000),
    "a vocabulary with zeros": ("vocab.txt", b"zorb\0\n"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_that_cannot_be_searched_does_not_leave(
    what: str, release: Path, licensed: Terminology, tiny_bert_folder: Path
) -> None:
    """Catches an archive that is named as a card, and a file of which half was read."""
    name, content = UNREADABLE[what]
    (release / name).write_bytes(content)
    assert fault_of(release / name).startswith(("is not UTF-8 text", "is not JSON", "is not readable JSON"))
    assert any(
        breach.startswith(f"{name}: is not ") for breach in judge(release, [licensed], tiny_bert_folder).breaches
    )


@pytest.mark.parametrize(
    "content",
    [zipped()[:-30], b"PK\x05\x06" + bytes(18), zipped(content=bytes(1_000)) + NAME, zipped("a.json", b"[" * 10_000)],
    ids=["cut", "end alone", "something behind", "deep JSON"],  # the content has the time in it
)
def test_a_damaged_archive_is_no_traceback(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert strings_in(tmp_path / "x.zip")


def test_an_archive_is_unpacked_up_to_a_size(tmp_path: Path) -> None:
    """Catches a small file that unpacks to gigabytes."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(4):
            archive.writestr(f"{i}.txt", "zorb " * (READ_BYTES // 10))
    assert (tmp_path / "x.zip").stat().st_size < 100_000
    assert sum(string.count("zorb") for string in strings_in(tmp_path / "x.zip")) == READ_BYTES // 5


def test_a_locked_member_does_not_hide_the_others(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("locked.txt", "x")
        archive.writestr("open.txt", "zorb")
    content = bytearray((tmp_path / "x.zip").read_bytes())
    content[6] |= 1  # the flag of an encrypted member, here and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(content)
    assert {"locked.txt", "open.txt", "zorb"} <= set(strings_in(tmp_path / "x.zip"))


def test_a_file_that_nobody_may_read_is_named(
    release: Path, licensed: Terminology, tiny_bert_folder: Path, monkeypatch
) -> None:
    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("st_biomed.release.privacy.fault_of", denied)
    assert "README.md: cannot be read (Permission denied)" in judge(release, [licensed], tiny_bert_folder).breaches
