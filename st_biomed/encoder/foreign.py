"""The error for a model that asks for code of somebody else, and the word that allows it."""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError

FLAG_HELP = (
    "Run third-party code that a model needs; otherwise only code of sentence-transformers and of this package is run."
)
_HOW = (
    "code of others is not run unasked: read it, then allow it with --trust-remote-code (of a recipe --trust_remote_code "
    "true, in Python trust_remote_code=True)"
)


class ForeignCode(InputError):
    """A model asks for code, or for another repository, that neither sentence-transformers nor this package has.

    Args:
        path: The file that asks.
        found: What for.
    """

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path}: {found}; {_HOW}")
