"""Files of vectors: what is read is what was written, and anything else is written anew."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.vector_cache import VectorCache

VECTORS = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
KEY = {"model": "a" * 64, "lower_case": True}


def written(folder, vectors=VECTORS, **options) -> VectorCache:
    cache = VectorCache(folder, KEY, len(vectors), **options)
    passed = [*cache.write(vectors[start : start + 3] for start in range(0, len(vectors), 3))]
    np.testing.assert_array_equal(np.concatenate(passed), vectors.astype(cache.dtype))
    return cache


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_vectors_come_back_as_they_passed(tmp_path, dtype):
    cache = written(tmp_path, dtype=dtype)
    found = VectorCache(tmp_path, dict(reversed(KEY.items())), 10, dtype).read()
    np.testing.assert_array_equal(found, VECTORS.astype(dtype))
    assert isinstance(found, np.memmap) and found.dtype == dtype
    assert set(tmp_path.iterdir()) == {cache.matrix_file, cache.key_file}


def test_nothing_there_is_not_worth_a_warning(tmp_path, caplog):
    assert VectorCache(tmp_path / "none", KEY, 10).read() is None
    assert caplog.text == ""


def test_another_key_is_another_file(tmp_path):
    written(tmp_path)
    assert VectorCache(tmp_path, {**KEY, "model": "b" * 64}, 10).read() is None
    assert VectorCache(tmp_path, KEY, 11).read() is None
    assert VectorCache(tmp_path, KEY, 10, "float16").read() is None


def damage_truncate(cache):
    cache.matrix_file.write_bytes(cache.matrix_file.read_bytes()[:-7])


def damage_flip(cache):
    content = bytearray(cache.matrix_file.read_bytes())
    content[-5] ^= 1
    cache.matrix_file.write_bytes(content)


def damage_stale(cache):
    found = json.loads(cache.key_file.read_text())
    found["key"]["model"] = "c" * 64
    cache.key_file.write_text(json.dumps(found))


def damage_key_text(cache):
    cache.key_file.write_text("{")


def damage_key_fields(cache):
    found = json.loads(cache.key_file.read_text())
    del found["sha256"]
    cache.key_file.write_text(json.dumps(found))


def damage_no_key(cache):
    cache.key_file.unlink()


def damage_no_matrix(cache):
    cache.matrix_file.unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_truncate, r"has 281 bytes, 288 were written"),
        (damage_flip, "sha256 differs"),
        (damage_stale, "belongs to other vectors"),
        (damage_key_text, "Expecting property name"),
        (damage_key_fields, "sha256"),
        (damage_no_key, "No such file"),
        (damage_no_matrix, "No such file"),
    ],
)
def test_a_damaged_file_is_refused_and_written_anew(tmp_path, caplog, damage, message):
    """Would catch figures of half a dictionary, or of another model."""
    damage(written(tmp_path))
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        assert VectorCache(tmp_path, KEY, 10).read() is None
    assert message in caplog.text and "embedded anew" in caplog.text
    np.testing.assert_array_equal(written(tmp_path).read(), VECTORS)


def test_a_run_that_is_cut_short_leaves_nothing(tmp_path):
    cache = VectorCache(tmp_path, KEY, 10)
    chunks = cache.write(iter([VECTORS[:3], VECTORS[3:6]]))
    next(chunks)
    chunks.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="expected 10 vectors, found 6"):
        list(cache.write(iter([VECTORS[:3], VECTORS[3:6]])))
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_half_precision_cannot_hold_are_refused(tmp_path):
    """Would catch infinite vectors in the cache, where every cosine is NaN."""
    cache = VectorCache(tmp_path, KEY, 10, "float16")
    with pytest.raises(InputError, match="float16 cannot hold these vectors, use 'float32'"):
        list(cache.write(iter([VECTORS * 1e6])))
    assert list(tmp_path.iterdir()) == []
