"""The result of a format's reader: mentions, documents, and the names in the files themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file
from st_biomed.files.encodings import UTF_8, undecodable
from st_biomed.files.gzipped import matching, open_decompressed, plain_name
from st_biomed.linking_data.records import Mention

OFFSET = "[0-9]{1,9}"
"""Pattern of a character offset."""

SPLIT_WORDS = {
    "train": ("train", "training", "trng"),
    "dev": ("dev", "development", "validation", "valid", "val"),
    "test": ("test",),
}
"""Split to the words for it in names of files and folders."""


@dataclass
class Corpus:
    """Mentions with the original ids of the files.

    Attributes:
        mentions: Mentions by split, in the order of the files.
        documents: Text of each document by its id.
        names: Name and id of the concepts named in the files: the dictionary if no other is given.
        variant: The part of the data set, e.g. ``"disease"`` or ``"fold-3"``.
        prefix: CURIE prefix of bare ids if this part has another than the format.
    """

    mentions: dict[str, list[Mention]] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, str], None] = field(default_factory=dict)
    variant: str = ""
    prefix: str | None = None

    def add(self, split: str, mention: Mention) -> None:
        self.mentions.setdefault(split, []).append(mention)

    def add_name(self, name: str, identifier: str) -> None:
        """Add a concept's name, unless it was added before."""
        if name and identifier:
            self.names.setdefault((name, identifier))


def read_text(path: Path) -> str:
    """The whole text of a document, including the line ends that offsets count; the file may be gzipped.

    Raises:
        InputError: No such file, or one that is not UTF-8.
    """
    with open_decompressed(check_file(path)) as (stream, _):
        data = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise undecodable(path, UTF_8) from error


def require_folder(path: Path) -> Path:
    """``path``, if it is a folder.

    Raises:
        InputError: It is not a folder.
    """
    if path.is_file():
        raise InputError(f"{path}: is a file; expected its folder")
    if not path.is_dir():
        raise InputError(f"{path}: no such folder")
    return path


def files_by_split(path: Path, wanted: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of a corpus in several files, by split.

    Args:
        path: A file, whose split is always ``all``, or a folder. The split is in the names of files
            (``CDR_TrainingSet.BioC.xml``) or of folders below it (``train``); otherwise all files are ``all``.
        wanted: Whether a file is of the format.

    Returns:
        Split to its files, in the order train, dev, test.

    Raises:
        InputError: No such file; a folder without such a file, or with files with and without a split.
    """
    if path.is_file() or not path.exists():
        return {"all": [check_file(path)]}
    files_of: dict[str, list[Path]] = {}
    for entry in matching(path, "*"):
        split = _split_of(plain_name(entry)) if entry.is_file() or entry.name.isalpha() else ""
        if entry.is_dir() and split:
            files_of.setdefault(split, []).extend(filter(wanted, matching(entry, "*")))
        elif entry.is_file() and wanted(entry):
            files_of.setdefault(split or "all", []).append(entry)
    files_of = {split: files_of[split] for split in (*SPLIT_WORDS, "all") if files_of.get(split)}
    if not files_of:
        raise InputError(f"{path}: contains no file of this format, nor a folder train, dev or test with one")
    if len(files_of) > 1 and "all" in files_of:
        other = next(files[0] for split, files in files_of.items())
        raise InputError(f"{path}: {files_of['all'][0].name} does not name its split, unlike {other.name}")
    return files_of


def _split_of(name: str) -> str:
    """The split in the words of a name, ``CDR_TrainingSet.BioC.xml``; empty if there is none, or several."""
    words = {word.lower().removesuffix("set") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    splits = [split for split, spelled in SPLIT_WORDS.items() if words & set(spelled)]
    return splits[0] if len(splits) == 1 else ""


def split_files(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """The file, plain or gzipped, or folder of each split that a folder has.

    Args:
        patterns: Glob patterns with ``{split}`` for the word for the split, tried in turn.

    Returns:
        Split to path, in the order train, dev, test; at least one.

    Raises:
        InputError: There are no files, or two for one split.
    """
    path_of: dict[str, Path] = {}
    patterns = list(patterns)
    for split, words in SPLIT_WORDS.items():
        for pattern in patterns:
            paths = sorted(
                {path for word in words for path in matching(require_folder(folder), pattern.replace("{split}", word))}
            )
            if len(paths) > 1:
                raise InputError(f"{folder}: two files for the split {split}: {paths[0].name} and {paths[1].name}")
            if paths:
                path_of[split] = paths[0]
                break
    if not path_of:
        looked_for = " or ".join(pattern.replace("{split}", "train|dev|test") for pattern in patterns)
        raise InputError(f"{folder}: contains no file of a split; looked for {looked_for}")
    return path_of
