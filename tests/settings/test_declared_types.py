"""Types that annotations declare: what fits them, and how a message names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from st_biomed.settings.declared_types import fits, in_words


@pytest.mark.parametrize(
    ("declared", "right", "wrong"),
    [
        (int, [3, np.int64(3)], [True, np.True_, 3.0, "3", None]),
        (float, [3, 0.5, np.float32(0.5), np.int16(3)], [False, np.True_, "0.5", None]),
        (bool, [True], [1, 0, "true", None]),
        (str | None, ["a", None], [3, ["a"], b"a"]),
        (Iterable[str], [["a"], ("a", "b"), {"a"}, iter([3])], ["a", b"a", ["a", 3], 3, None]),
        (str | Sequence[str], ["a", ["a", "b"]], [["a", 3], 3]),
        (list[str], [[], ["a"]], [("a",), ["a", 1], "a"]),
        (dict[str, Any], [{}, {"a": 3}], [{3: "a"}, ["a"]]),
        (Any, [3, None, "a"], []),
    ],
)
def test_what_fits_a_declared_type(declared: Any, right: list[Any], wrong: list[Any]):
    """Would catch a truth value taken for a number, a text for several, and a number of NumPy refused."""
    assert [value for value in right if not fits(value, declared)] == []
    assert [value for value in wrong if fits(value, declared)] == []


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (int | None, "a whole number"),
        (bool | None, "true or false"),
        (float | str, "a number or text"),
        (str | Iterable[str] | None, "texts"),
        (list[str], "a list of texts"),
        (list[dict[str, Any]], "a list of mappings"),
        (dict[str, str] | str, "a mapping or text"),
        (bytes, "bytes"),
    ],
)
def test_a_declared_type_in_words(declared: Any, words: str):
    assert in_words(declared) == words
