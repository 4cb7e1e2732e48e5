"""The folded form of names, in which equal names are equal."""

from __future__ import annotations

import pyarrow as pa
import pytest

from st_biomed.release.normalized_names import letters_of, words_of

ASCII = ["".join(map(chr, range(128))), "Zorb_like disease-2 (A/B)", " 10%\t", ""]


@pytest.mark.parametrize("fold", [words_of, letters_of])
def test_strings_of_ascii_are_folded_alike_whatever_stands_beside_them(fold):
    """Catches a faster pattern for ASCII that separates other characters."""
    for string in ASCII:
        assert fold(pa.array([string])).to_pylist() == fold(pa.array([string, "\u4e2d"])).to_pylist()[:-1]
    assert fold(pa.array([], pa.string())).to_pylist() == []
