"""Errors on the screen."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tqdm import tqdm

from st_biomed.errors import InputError, check_name, check_number, check_numbers, print_error


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


@pytest.mark.parametrize("found", ["flump", None, ["flumpa"]])
def test_a_name_of_a_closed_list_is_returned_or_refused(found):
    """Catches a name that is accepted because it is no text, and one that is refused although it is listed."""
    assert check_name("gland", "flumpa", {"flumpa": 1}) == "flumpa"
    with pytest.raises(InputError, match="unknown gland .*: allowed are 'flumpa'"):
        check_name("gland", found, {"flumpa": 1})


def test_numbers_of_numpy_are_numbers():
    """Catches an argument that was computed with numpy, and a truth value taken for a number."""
    found = check_number("alpha", np.float32(0.5))
    assert found == 0.5 and type(found) is float
    assert check_numbers("alpha", [np.int64(2), 3], 2) == (2.0, 3.0)
    for wrong in (True, np.True_, "1", np.float64("nan")):
        with pytest.raises(InputError, match="alpha must be a finite number"):
            check_number("alpha", wrong)
