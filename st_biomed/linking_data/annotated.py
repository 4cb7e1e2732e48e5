"""What the reader of a format returns: mentions, documents, and the names that the files themselves give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.encodings import UTF_8, undecodable
from st_biomed.files.gzipped import matching, opened, plain_name
from st_biomed.files.tables import check_file
from st_biomed.linking_data.records import Mention

OFFSET = "[0-9]{1,9}"
"""Pattern of a character offset."""

SPLIT_WORDS = {
    "train": ("train", "training", "trng"),
    "dev": ("dev", "development", "validation", "valid", "val"),
    "test": ("test",),
}
"""Split to the words that files and folders call it."""


@dataclass
class Corpus:
    """Mentions as they are annotated, their ids as the files have them.

    Attributes:
        mentions: By split, in the order of the files.
        documents: Text of each document by its id.
        names: Name and id of the concepts that the files name themselves: a dictionary where no other is given.
        variant: Which part of the data set it is, e.g. ``"disease"`` or ``"fold-3"``.
    """

    mentions: dict[str, list[Mention]] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, str], None] = field(default_factory=dict)
    variant: str = ""

    def add(self, split: str, mention: Mention) -> None:
        self.mentions.setdefault(split, []).append(mention)

    def add_name(self, name: str, identifier: str) -> None:
        """A concept's name; what was added before is kept once."""
        if name and identifier:
            self.names.setdefault((name, identifier))


def read_text(path: Path) -> str:
    """The whole text of a document, whose line ends are characters that offsets count; the file may be gzipped.

    Raises:
        InputError: No such file, or one that is not UTF-8.
    """
    with opened(check_file(path)) as (stream, _):
        data = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise undecodable(path, UTF_8) from error


def check_folder(path: Path) -> Path:
    """``path``, which has to be a folder.

    Raises:
        InputError: It is not.
    """
    if path.is_file():
        raise InputError(f"{path}: is a file; expected the folder that holds it")
    if not path.is_dir():
        raise InputError(f"{path}: no such folder")
    return path


def files_by_split(path: Path, wanted: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of a corpus in several files, by split.

    Args:
        path: A file, which is the split ``all`` whatever it is called; or a folder, in which the names of files
            (``CDR_TrainingSet.BioC.xml``) or of folders below it (``train``) tell the split, or else all files are ``all``.
        wanted: Which files are looked at.

    Returns:
        Split to its files, in the order train, dev, test.

    Raises:
        InputError: No such file; a folder without such a file, or with files of splits and others that tell none.
    """
    if path.is_file() or not path.exists():
        return {"all": [check_file(path)]}
    found: dict[str, list[Path]] = {}
    for entry in matching(path, "*"):
        split = _split_of(plain_name(entry)) if entry.is_file() or entry.name.isalpha() else ""
        if entry.is_dir() and split:
            found.setdefault(split, []).extend(filter(wanted, matching(entry, "*")))
        elif entry.is_file() and wanted(entry):
            found.setdefault(split or "all", []).append(entry)
    found = {split: found[split] for split in (*SPLIT_WORDS, "all") if found.get(split)}
    if not found:
        raise InputError(f"{path}: holds no file of this format, nor a folder train, dev or test with one")
    if len(found) > 1 and "all" in found:
        other = next(files[0] for split, files in found.items())
        raise InputError(f"{path}: {found['all'][0].name} does not name its split, unlike {other.name}")
    return found


def _split_of(name: str) -> str:
    """The split that a word of a name stands for, ``CDR_TrainingSet.BioC.xml``; empty where none does, or two do."""
    words = {word.lower().removesuffix("set") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    found = [split for split, spelled in SPLIT_WORDS.items() if words & set(spelled)]
    return found[0] if len(found) == 1 else ""


def split_files(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """The file, plain or gzipped, or folder of each split that a folder has.

    Args:
        folder: Where to look.
        patterns: Glob patterns with ``{split}`` for the word that the split is called by, tried in turn.

    Returns:
        Split to path, in the order train, dev, test; at least one.

    Raises:
        InputError: There is none, or two for one split.
    """
    found: dict[str, Path] = {}
    patterns = list(patterns)
    for split, words in SPLIT_WORDS.items():
        for pattern in patterns:
            paths = sorted(
                {path for word in words for path in matching(check_folder(folder), pattern.format(split=word))}
            )
            if len(paths) > 1:
                raise InputError(f"{folder}: two files for the split {split}: {paths[0].name} and {paths[1].name}")
            if paths:
                found[split] = paths[0]
                break
    if not found:
        looked_for = " or ".join(pattern.format(split="train|dev|test") for pattern in patterns)
        raise InputError(f"{folder}: holds no file of a split; looked for {looked_for}")
    return found
