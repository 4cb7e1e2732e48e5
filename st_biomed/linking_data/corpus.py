"""What the reader of a format returns: mentions, documents, and the names that the files themselves give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from st_biomed.errors import InputError
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


def plain_or_gzipped(folder: Path, name: str) -> Path | None:
    """A file of this name in a folder, as it is or with ``.gz`` behind; nothing where there is neither."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def check_folder(path: Path) -> Path:
    """``path``, which has to be a folder.

    Raises:
        InputError: It is not.
    """
    if path.is_file():
        raise InputError(f"{path}: is a file, the folder that holds it is needed")
    if not path.is_dir():
        raise InputError(f"{path}: no such folder")
    return path


def split_files(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """The file (or folder) of each split that a folder has.

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
            paths = sorted({path for word in words for path in check_folder(folder).glob(pattern.format(split=word))})
            if len(paths) > 1:
                raise InputError(f"{folder}: two files for the split {split}: {paths[0].name} and {paths[1].name}")
            if paths:
                found[split] = paths[0]
                break
    if not found:
        looked_for = " or ".join(pattern.format(split="train|dev|test") for pattern in patterns)
        raise InputError(f"{folder}: holds no file of a split; looked for {looked_for}")
    return found
