"""What a union was made of: its plan, the content of its files and the code that reads and unites them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.files.sealed import checksum, checksum_of
from st_biomed.terminology.storage import saved_digest
from st_biomed.terminology.union_plan import UnionPlan

MADE_OF = "made of"
"""The key of the record in the report of a union."""
_PACKAGE = Path(__file__).parents[1]
_CODE = (
    *("csr.py", "records.py", "files", "readers", "terminology"),
    *(f"settings/{name}.py" for name in ("checks", "keyword_options", "registry", "yaml_files")),
)
"""The modules that read sources and unite them. Versions of other packages do not count."""


def made_of(plan: UnionPlan, folder: Path | None = None) -> dict[str, Any]:
    """The record of a union, ready to be written as JSON.

    Args:
        folder: Where paths that are not found as they are lie below.

    Returns:
        ``plan``, the settings; ``files``, the checksum of each file by its path below the folder, ``None`` for one that is
        missing; ``code``, the checksum of the modules that make a union.
    """
    files: dict[str, str | None] = {}
    for source in plan.sources:
        for path in source.below(folder).paths:
            for file in _files_of(path):
                name = file.relative_to(folder) if folder is not None and file.is_relative_to(folder) else file
                files[name.as_posix()] = checksum_of(file) if file.is_file() else None
    record = {"plan": asdict(plan), "files": dict(sorted(files.items())), "code": code_checksum()}
    written: dict[str, Any] = json.loads(json.dumps(record, default=str))
    return written


def code_checksum() -> str:
    """The checksum of the modules that read sources and unite them."""
    modules = sorted(file for name in _CODE for file in _files_of(_PACKAGE / name) if file.suffix == ".py")
    return checksum("\n".join(f"{file.name} {checksum_of(file)}" for file in modules).encode())


def what_changed(folder: Path, report: Path, now: Mapping[str, Any]) -> str:
    """The difference between a saved union and what would be made now, in words; empty if there is none.

    Args:
        folder: The saved terminology.
        report: The report that was written with it.
        now: The result of :func:`made_of`.
    """
    try:
        digest, written = saved_digest(folder), json.loads(report.read_text("utf-8"))
        if written["terminology"] != digest:
            return f"{report} is of another terminology"
        return "; ".join(_differences(written[MADE_OF], now))
    except InputError as error:
        return f"{error}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{report} does not say what it was made of"


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    changed = [f"{key!r} of the plan changed" for key in now["plan"] if before["plan"].get(key) != now["plan"][key]]
    for name in sorted({*before["files"], *now["files"]}):
        first, second = before["files"].get(name), now["files"].get(name)
        if first != second:
            changed.append(f"{name} is {'new' if first is None else 'gone' if second is None else 'another file'}")
    return changed if before["code"] == now["code"] else [*changed, "the code that reads and unites changed"]


def _files_of(path: Path) -> list[Path]:
    """A file, or all files of a folder and of the folders that it links."""
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    seen: set[Path] = set()
    for folder, below, files in os.walk(path, followlinks=True):
        if (real := Path(folder).resolve()) in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()  # of two ways to a folder, the same one on every machine
        found += [file for name in files if (file := Path(folder, name)).is_file()]
    return sorted(found)
