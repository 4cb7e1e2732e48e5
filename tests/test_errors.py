"""Errors on the screen."""

from __future__ import annotations

import sys

import pytest
from tqdm import tqdm

from st_biomed.errors import InputError, check_name, print_error


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
