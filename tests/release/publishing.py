"""What the tests of publishing share: names, the state of a folder, and what a refusal says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from st_biomed.errors import InputError

NAME = "org/tiny-hiprbert"
TERMS = ["acute flenn", "chronic disease of the tove"]


def digest(folder: Path) -> str:
    """Of every path, content and time of change."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files_read = [
        (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files
    ]
    return hashlib.sha256(json.dumps(files_read).encode()).hexdigest()


def refused(send, *arguments, **options) -> str:
    with pytest.raises(InputError) as error:
        send(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)
