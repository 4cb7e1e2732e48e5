"""A matrix that is written block by block goes on where it was stopped, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.linking.vectors import MATRIX, PROGRESS, ResumableMatrix, open_matrix

ROWS = np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32)


def begin(folder: Path, dtype: str = "float32", *, anew: bool = False, **settings: Any) -> ResumableMatrix:
    return ResumableMatrix(folder, ROWS.shape, dtype, {"model": "m", **settings}, anew=anew)


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


def test_finished_parts_stay_before_the_first_block(tmp_path: Path) -> None:
    """Catches parts of Ray that a resumed build removes, because no block was committed when it was stopped."""
    begin(tmp_path)
    part = tmp_path / "parts" / "0.parquet"
    part.parent.mkdir()
    part.touch()
    assert begin(tmp_path).done == 0 and part.exists()
    begin(tmp_path, model="n")
    assert not part.exists()


def test_nothing_else_is_resumed(tmp_path: Path) -> None:
    begin(tmp_path).append(ROWS[:4])
    with pytest.raises(
        InputError, match="holds an interrupted encoding with model 'm' and does not go on with 'n'; say --overwrite"
    ):
        begin(tmp_path, model="n")
    with pytest.raises(
        InputError, match="holds an interrupted encoding with dtype 'float32' and does not go on with 'float16'"
    ):
        begin(tmp_path, "float16")
    with pytest.raises(InputError, match="holds an interrupted encoding with rows 10 and does not go on with 11"):
        ResumableMatrix(tmp_path, (11, 3), "float32", {"model": "m"})
    (tmp_path / PROGRESS).write_text("{")
    with pytest.raises(InputError, match=r"encoding.json: damaged \(JSONDecodeError\); say --overwrite"):
        begin(tmp_path)


def test_what_is_overwritten_is_begun_anew(tmp_path: Path) -> None:
    for damage in (False, True):
        begin(tmp_path).append(ROWS[:4])
        (tmp_path / "parts").mkdir()
        if damage:
            (tmp_path / PROGRESS).write_text("{")
        assert begin(tmp_path, model="n", anew=True).done == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == [PROGRESS, MATRIX]
    begin(tmp_path, model="n").append(ROWS[:4])
    assert begin(tmp_path, model="n", anew=True).done == 4  # the same goes on
    assert begin(tmp_path, model="m", anew=True).done == 0
    assert begin(tmp_path, model="n").done == 0  # nothing was encoded yet, so nothing is lost


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (lambda content: content[:-1], 8),
        (lambda content: content[:150] + b"?" + content[151:], 0),
        (lambda content: content[:-1] + b"?", 8),
        (lambda content: content[:-30] + b"?" + content[-29:], 4),
        (lambda content: b"?" + content[1:], 0),
        (lambda content: b"", 0),
        (None, 0),
    ],
)
def test_blocks_that_are_damaged_are_encoded_anew(
    tmp_path: Path, damage: Callable[[bytes], bytes] | None, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Catches rows of nobody's name, of which the checksum of the finished index is then taken."""
    for start in (0, 4, 8):
        begin(tmp_path).append(ROWS[start : start + 4])
    path = tmp_path / MATRIX
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    matrix = begin(tmp_path)
    assert matrix.done == kept and f"vectors.npy: damaged; {kept} of 10 names are kept" in caplog.text
    assert begin(tmp_path).done == kept
    matrix.append(ROWS[kept:])
    np.testing.assert_array_equal(open_matrix(tmp_path, ROWS.shape), ROWS)


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
