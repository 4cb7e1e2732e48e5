"""Fetch the files behind the committed results: ``python evaluation/fetch.py FOLDER``.

What `data.yaml` lists is downloaded from where it lies, checked, and gzipped where it is here and is not there. A file that
is there already is checked alone. Some entries are made from their origin rather than copied: these are named with what to do.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

FILES = Path(__file__).with_name("data.yaml")
RAW, BLOBS = "https://raw.githubusercontent.com", "https://api.github.com"


def main(folder: Path, *, raw: str = RAW, blobs: str = BLOBS) -> int:
    """Fetch every file; 1 where one is missing in the end.

    Args:
        folder: Where to.
        raw: What serves files of a commit.
        blobs: What serves blobs.
    """
    missing = 0
    for name, entry in yaml.safe_load(FILES.read_text("utf-8")).items():
        try:
            print(f"{name}: {fetched(folder / name, entry, raw, blobs)}", flush=True)
        except (OSError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            missing += 1
    if missing:
        print(f"{missing} files are missing; what needs one of them says so", file=sys.stderr)
    return int(missing > 0)


def fetched(path: Path, entry: dict[str, Any], raw: str, blobs: str) -> str:
    """Have one file in its place, and say how it came there.

    Raises:
        ValueError: It is another file than was measured, or has to be made by hand.
        OSError: It could not be downloaded or written.
    """
    if path.is_file():
        check(path.read_bytes(), path, entry)
        return "is there"
    if "fetch" not in entry:
        raise ValueError(f"has to be made from {entry['repository']} at {entry['commit']}: {entry['path']}")
    content = download(entry, raw, blobs)
    if path.suffix == ".gz" and not content.startswith(b"\x1f\x8b"):
        content = gzip.compress(content, mtime=0)
    check(content, path, entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(content)
    draft.rename(path)
    return f"fetched from {entry['repository']} ({entry['license']})"


def download(entry: dict[str, Any], raw: str, blobs: str) -> bytes:
    owner = entry["repository"].removeprefix("https://github.com/")
    if "blob" in entry:
        address = f"{blobs}/repos/{owner}/git/blobs/{entry['blob']}"
    else:
        address = f"{raw}/{owner}/{entry['commit']}/{entry['fetch']}"
    request = urllib.request.Request(address, headers={"Accept": "application/vnd.github.raw"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()
    except urllib.error.URLError as error:
        raise OSError(f"{address}: {error}") from error


def check(content: bytes, path: Path, entry: dict[str, Any]) -> None:
    """Refuse what is not the file that was measured: of a gzipped one the content counts.

    Raises:
        ValueError: With both digests.
    """
    zipped = path.suffix == ".gz"
    wanted = entry["content" if zipped else "sha256"]
    found = hashlib.sha256(gzip.decompress(content) if zipped else content).hexdigest()
    if found != wanted:
        raise ValueError(f"has SHA-256 {found}, the results were measured on {wanted}; remove {path} to fetch it anew")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python evaluation/fetch.py FOLDER", file=sys.stderr)
        raise SystemExit(2)
    raise SystemExit(main(Path(sys.argv[1])))
