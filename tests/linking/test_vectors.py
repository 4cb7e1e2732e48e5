"""A matrix that is written block by block goes on where it was stopped, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.linking.vectors import MATRIX, PROGRESS, ResumableMatrix, open_matrix

ROWS = np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32)


def begin(folder: Path, dtype: str = "float32", **settings: Any) -> ResumableMatrix:
    return ResumableMatrix(folder, ROWS.shape, dtype, {"model": "m", **settings})


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_blocks_make_the_matrix(tmp_path: Path, dtype: str) -> None:
    for start in (0, 4, 8):
        matrix = begin(tmp_path, dtype)  # a process of its own each time
        assert matrix.done == start
        matrix.append(ROWS[start : start + 4])
    whole = open_matrix(tmp_path, ROWS.shape)
    assert whole.dtype == dtype
    np.testing.assert_array_equal(whole, ROWS.astype(dtype))


def test_what_was_written_and_not_committed_is_cut_off(tmp_path: Path) -> None:
    """Catches rows that are there twice after a kill between writing and committing."""
    begin(tmp_path).append(ROWS[:4])
    with (tmp_path / MATRIX).open("ab") as file:
        file.write(b"half a row")
    begin(tmp_path).append(ROWS[4:])
    np.testing.assert_array_equal(open_matrix(tmp_path, ROWS.shape), ROWS)


def test_nothing_else_is_resumed(tmp_path: Path) -> None:
    begin(tmp_path).append(ROWS[:4])
    with pytest.raises(InputError, match="was begun with model 'm' and does not go on with 'n'; overwrite it"):
        begin(tmp_path, model="n")
    with pytest.raises(InputError, match="was begun with dtype 'float32' and does not go on with 'float16'"):
        begin(tmp_path, "float16")
    with pytest.raises(InputError, match="was begun with rows 10 and does not go on with 11"):
        ResumableMatrix(tmp_path, (11, 3), "float32", {"model": "m"})
    (tmp_path / MATRIX).write_bytes((tmp_path / MATRIX).read_bytes()[:-1])
    with pytest.raises(InputError, match=r"has 175 bytes, 176 were committed; overwrite it"):
        begin(tmp_path)
    (tmp_path / PROGRESS).write_text("{")
    with pytest.raises(InputError, match=r"encoding.json: damaged \(JSONDecodeError\)"):
        begin(tmp_path)


def test_blocks_of_another_width_and_too_many_rows_are_refused(tmp_path: Path) -> None:
    matrix = begin(tmp_path)
    with pytest.raises(InputError, match=r"expected at most \[10, 3\], found \[2, 4\]"):
        matrix.append(np.zeros((2, 4)))
    with pytest.raises(InputError, match=r"expected at most \[10, 3\], found \[11, 3\]"):
        matrix.append(np.zeros((11, 3)))


def test_an_unfinished_matrix_is_not_opened(tmp_path: Path) -> None:
    begin(tmp_path).append(ROWS[:4])
    with pytest.raises(InputError, match="vectors.npy: missing or damaged"):
        open_matrix(tmp_path, ROWS.shape)
    np.save(tmp_path / MATRIX, ROWS)
    with pytest.raises(InputError, match=r"has shape \[10, 3\], expected \[10, 4\]"):
        open_matrix(tmp_path, (10, 4))
