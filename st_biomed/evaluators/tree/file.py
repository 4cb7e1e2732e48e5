"""The papers' text format of evaluation pairs: ``distance||term||term``, one pair per line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files import writing


def read_pairs(path: str | Path) -> tuple[list[tuple[str, str]], list[int]]:
    """The pairs and their distances.

    Raises:
        InputError: No such file, or a line of another form, with file and line.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}; a file of pairs is needed")
    pairs, distances = [], []
    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), 1):
        try:
            distance, *terms = line.decode("utf-8-sig").removesuffix("\r").split("||")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}:{number}: not UTF-8 ({error.reason} at byte {error.start})") from None
        if len(terms) != 2 or not all(terms) or not distance.isdecimal():
            raise InputError(f"{path}:{number}: expected distance||term||term, found {line.decode()!r}")
        distances.append(int(distance))
        pairs.append((terms[0], terms[1]))
    return pairs, distances


def pair_lines(pairs: Iterable[tuple[str, str]], distances: Iterable[int]) -> bytes:
    """The content of a pair file."""
    return "".join(f"{distance}||{a}||{b}\n" for distance, (a, b) in zip(distances, pairs)).encode()


def write_pairs(path: str | Path, pairs: Sequence[tuple[str, str]], distances: Iterable[int]) -> None:
    """Write a pair file.

    Raises:
        InputError: A term with ``||`` or a line break, which the format cannot represent.
    """
    write_lines(path, (text for pair in pairs for text in pair), pair_lines(pairs, distances))


def write_lines(path: str | Path, texts: Iterable[str], content: bytes) -> None:
    """Write lines whose cells are separated by ``||``.

    Args:
        texts: The content of the cells.
        content: The lines.

    Raises:
        InputError: A text with ``||`` or a line break.
    """
    for text in texts:
        if "||" in text or "\n" in text or "\r" in text:
            raise InputError(f"{path}: a term with '||' or a line break cannot be written: {text!r}")
    with writing(path) as draft:
        draft.write_bytes(content)
