"""Errors on the screen."""

from __future__ import annotations

import sys

import pytest
from tqdm import tqdm

from st_biomed.errors import InputError, print_error


@pytest.mark.parametrize("leave", [True, False])
def test_an_error_is_the_last_line_beside_a_progress_bar(leave, capsys):
    """Catches an error on the line of a bar, or above a bar that is drawn again."""
    bar = tqdm(total=9, file=sys.stderr, leave=leave, desc="zorb")
    bar.update(2)
    print_error(InputError("no flumpa"))
    bar.close()
    printed = capsys.readouterr().err
    assert "zorb" in printed
    assert printed.rstrip("\r").splitlines()[-1] == "error: no flumpa"
