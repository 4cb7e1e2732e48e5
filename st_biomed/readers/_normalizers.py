"""Normalizers of names: named, versioned, and the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import check_name

_WHITE = r"[\s\v\x1c-\x1f\x{85}\p{Z}]+"  # the separators of ``str.split``
_BRACKETS = re.compile(r"\(.*?\)")


def coder(name: str) -> str:
    """The cleaning of CODER (Yuan et al. 2022): lower case, without brackets and their content, NOS and hyphens.

    A name of which nothing is left stays as it is.
    """
    cleaned = f" {name.lower()} ".replace(" nos ", " ")
    return " ".join(_BRACKETS.sub("", cleaned).replace("-", " ").split()) or name


NORMALIZERS: dict[str, tuple[int, Callable[[str], str] | None]] = {
    "none": (1, None),
    "lower": (1, str.lower),
    "coder": (2, coder),
}
"""Name to version and function; the version increases with every change of the function's result."""


def name_normalizer(name: str) -> Callable[[str], str]:
    """A normalizer of single names, for readers that yield one name at a time.

    Args:
        name: A key of ``NORMALIZERS``.

    Raises:
        InputError: Unknown name.
    """
    check_name("normalizer", name, NORMALIZERS)
    return NORMALIZERS[name][1] or str


def single_spaced_column(texts: pa.Array) -> pa.Array:
    """Apply :func:`~st_biomed.records.single_spaced` to a column of strings."""
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, _WHITE, " "))


def normalize(texts: pa.Array, name: str) -> pa.Array:
    """The texts, stripped and normalized.

    Lower case is Python's: arrow's differs for a few characters (İ, a final Σ).

    Args:
        name: A key of ``NORMALIZERS``.

    Raises:
        InputError: Unknown name.
    """
    check_name("normalizer", name, NORMALIZERS)
    texts = pc.utf8_trim_whitespace(texts)
    function = NORMALIZERS[name][1]
    if function is None:
        return texts
    if function is str.lower:
        ascii_only = pc.string_is_ascii(texts)
        lowered = pc.ascii_lower(texts)
        if pc.all(ascii_only).as_py():
            return lowered
        others = pa.array(map(str.lower, texts.filter(pc.invert(ascii_only)).to_pylist()), pa.string())
        return pc.replace_with_mask(lowered, pc.invert(ascii_only), others)
    return pa.array(map(function, texts.to_pylist()), pa.string())
