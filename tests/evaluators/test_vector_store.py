"""Vectors on disk: what is read is what was written, whatever was cut off or damaged in between."""

from __future__ import annotations

import json
import logging
import multiprocessing
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.vector_store import VectorStore

TEXTS = [f"flumpa {i}" for i in range(10)]
KEY = {"model": "a" * 64}


def numbers(texts):
    """Three numbers that tell one text from another."""
    return np.array([[len(text), int(text.split()[1]), 0.1] for text in texts], dtype=np.float32)


class Counted:
    def __init__(self, embed=numbers):
        self.embed, self.asked = embed, []

    def __call__(self, texts):
        self.asked.extend(texts)
        return self.embed(texts)


def store(folder, embed=numbers, **options) -> VectorStore:
    return VectorStore(folder, KEY, embed, **options)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_text_is_embedded_once_in_any_order_and_process(tmp_path, dtype):
    embed = Counted()
    first = store(tmp_path, embed, dtype=dtype, piece=3)
    expected = numbers(TEXTS).astype(dtype)
    np.testing.assert_array_equal(first(TEXTS[:7]), expected[:7])
    np.testing.assert_array_equal(first([*TEXTS[5:], TEXTS[0], TEXTS[5]]), expected[[5, 6, 7, 8, 9, 0, 5]])
    np.testing.assert_array_equal(store(tmp_path, embed, dtype=dtype)(TEXTS[::-1]), expected[::-1])
    assert sorted(embed.asked) == TEXTS and first(TEXTS).dtype == dtype


def test_another_key_or_dtype_is_another_store(tmp_path):
    embed = Counted()
    for key, dtype in ((KEY, "float32"), ({"model": "b"}, "float32"), (KEY, "float16")):
        VectorStore(tmp_path, key, embed, dtype=dtype)(TEXTS[:1])
    assert len(embed.asked) == 3 and len(list(tmp_path.iterdir())) == 3


def test_no_text_is_written(tmp_path):
    """Would catch licensed names that stay behind in a cache."""
    store(tmp_path)(TEXTS)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"flumpa" not in written and len(written) > 100


def test_a_killed_run_goes_on_after_its_last_piece(tmp_path):
    """Would catch pieces that are lost with the run, and vectors without entries that shift all later ones."""

    def dies(texts):
        if "flumpa 6" in texts:
            raise KeyboardInterrupt
        return numbers(texts)

    with pytest.raises(KeyboardInterrupt):
        store(tmp_path, dies, piece=3)(TEXTS)
    (folder,) = tmp_path.iterdir()
    with (folder / "vectors.bin").open("ab") as file:
        file.write(b"a vector whose entry was never written")
    with (folder / "entries.bin").open("ab") as file:
        file.write(b"half")
    embed = Counted()
    np.testing.assert_array_equal(store(tmp_path, embed)(TEXTS), numbers(TEXTS))
    assert embed.asked == TEXTS[6:]
    np.testing.assert_array_equal(store(tmp_path, embed)(TEXTS), numbers(TEXTS))


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_damaged_vectors_are_embedded_anew_and_said(tmp_path, caplog, damage):
    """Would catch figures of damaged vectors."""
    store(tmp_path)(TEXTS)
    (path,) = tmp_path.rglob("vectors.bin")
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[2 * 12 + 1] ^= 1
        path.write_bytes(content)
    elif damage == "cut":
        path.write_bytes(content[: 9 * 12 + 5])
    else:
        path.unlink()
    embed = Counted()
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        np.testing.assert_array_equal(store(tmp_path, embed)(TEXTS), numbers(TEXTS))
    assert embed.asked == {"flip": TEXTS[2:3], "cut": TEXTS[9:], "gone": TEXTS}[damage]
    assert f"{len(embed.asked)} vectors are not what was written" in caplog.text
    again = Counted()
    np.testing.assert_array_equal(store(tmp_path, again)(TEXTS), numbers(TEXTS))
    assert again.asked == []


def fill(folder, start):
    embedder = store(folder, piece=1)
    for i in range(start, start + 20):
        embedder([f"flumpa {i}"])


def test_two_processes_may_write_at_once(tmp_path):
    """Would catch rows that two processes write over one another."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=fill, args=(tmp_path, start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    embed = Counted()
    texts = [f"flumpa {i}" for i in range(30)]
    np.testing.assert_array_equal(store(tmp_path, embed)(texts), numbers(texts))
    assert embed.asked == []


def test_what_cannot_be_stored_is_refused(tmp_path):
    with pytest.raises(InputError, match="float16 cannot hold these vectors, use 'float32'"):
        store(tmp_path, lambda texts: numbers(texts) * 1e6, dtype="float16")(TEXTS)
    store(tmp_path)(TEXTS[:5])
    with pytest.raises(InputError, match="holds vectors of 3 dimensions, found 2"):
        store(tmp_path, lambda texts: numbers(texts)[:, :2])(TEXTS)
    with pytest.raises(InputError, match="unknown cache_dtype 'float64'"):
        store(tmp_path, dtype="float64")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cache_dir: .*file is a file"):
        store(tmp_path / "file")


def test_vectors_that_are_not_finite_are_not_stored(tmp_path):
    """Would catch a folder that answers NaN to every later run, since a GPU failed once."""

    def broken(texts):
        vectors = numbers(texts)
        vectors[1, 0] = np.nan
        return vectors

    with pytest.raises(InputError, match=f"1 of 3 vectors hold NaN or infinity, e.g. that of '{TEXTS[1]}'"):
        store(tmp_path, broken)(TEXTS[:3])
    np.testing.assert_array_equal(store(tmp_path)(TEXTS), numbers(TEXTS))


def test_the_key_says_what_the_vectors_are(tmp_path):
    store(tmp_path)(TEXTS)
    (path,) = tmp_path.rglob("key.json")
    record = json.loads(path.read_text())
    assert (record["key"], record["dimension"]) == ({**KEY, "dtype": "float32", "format": 2}, 3)


def test_a_key_that_is_damaged_or_of_another_store_is_named(tmp_path):
    """Would catch vectors of one model measured as those of another."""
    for name in "ab":
        VectorStore(tmp_path / name, {"model": name}, numbers)(TEXTS)
    key, other = (next((tmp_path / name).rglob("key.json")) for name in "ab")
    for content, message in (
        (b"{", "damaged"),
        (b"\xff", "damaged"),
        (other.read_bytes(), "belongs to another store"),
    ):
        key.write_bytes(content)
        with pytest.raises(InputError, match=rf"key\.json: {message}.*; remove .*its vectors are embedded anew"):
            VectorStore(tmp_path / "a", {"model": "a"}, numbers)(TEXTS)


def test_vectors_of_another_model_are_embedded_anew(tmp_path):
    """Both files of another store, which fit each other."""
    for name in "ab":
        VectorStore(tmp_path / name, {"model": name}, lambda texts: numbers(texts) + 1)(TEXTS)
    key, other = (next((tmp_path / name).rglob("key.json")) for name in "ab")
    for name in ("vectors.bin", "entries.bin"):
        shutil.copyfile(other.with_name(name), key.with_name(name))
    embed = Counted()
    np.testing.assert_array_equal(VectorStore(tmp_path / "a", {"model": "a"}, embed)(TEXTS), numbers(TEXTS))
    assert sorted(embed.asked) == TEXTS


HOLD = """
import sys, time
from st_biomed.files import lock
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_who_is_waited_for_is_said(tmp_path, capsys, monkeypatch):
    """Would catch a command that waits for another one of the same model without a word."""
    monkeypatch.setattr("st_biomed.files.locks._SILENT", 0.1)
    waits = store(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLD, waits.folder], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        threading.Timer(0.5, process.kill).start()
        np.testing.assert_array_equal(waits(TEXTS), numbers(TEXTS))
    output = capsys.readouterr().err
    assert f"(process {process.pid} on " in output and "waiting until it is done there" in output


def test_no_text_has_no_vector(tmp_path):
    """Catches an index without a type, and a store that is said to be damaged because nothing was stored."""
    assert store(tmp_path)([]).shape == (0, 0)
    store(tmp_path)(TEXTS)
    assert store(tmp_path)([]).shape == (0, 3)
