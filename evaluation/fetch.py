"""Download the files behind the committed results: ``python evaluation/fetch.py FOLDER``.

Each file of `data.yaml` is downloaded from its repository, checked, and compressed if its name ends in ``.gz``. A file that
exists is only checked. A few files cannot be downloaded, because they were made from other files; the command prints how.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import urllib.error
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import Any

import yaml

FILES = Path(__file__).with_name("data.yaml")
RAW, BLOBS = "https://raw.githubusercontent.com", "https://api.github.com"


def main(folder: Path, *, raw: str = RAW, blobs: str = BLOBS) -> int:
    """Download every file. The exit status is 1 if a file is missing at the end.

    Args:
        folder: The data folder.
        raw: Address of the server of files by commit.
        blobs: Address of the server of blobs.
    """
    missing = 0
    for name, entry in yaml.safe_load(FILES.read_text("utf-8")).items():
        try:
            print(f"{name}: {fetched(folder / name, entry, raw, blobs)}", flush=True)
        except (OSError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            missing += 1
    if missing:
        print(
            f"{missing} files are missing; the benchmarks that need them are skipped with a message", file=sys.stderr
        )
    return int(missing > 0)


def fetched(path: Path, entry: dict[str, Any], raw: str, blobs: str) -> str:
    """Download one file if it is missing, check it, and return what was done.

    Raises:
        ValueError: The file differs from the measured one, or must be made by hand.
        OSError: It could not be downloaded or written.
    """
    if path.is_file():
        check(path.read_bytes(), path, entry)
        return "exists"
    if "fetch" not in entry:
        at = f" at {entry['commit']}" if "commit" in entry else ""
        raise ValueError(f"must be made from {entry['repository']}{at}: {entry['path']}")
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
    except (urllib.error.URLError, HTTPException) as error:
        raise OSError(f"{address}: {error}") from error


def check(content: bytes, path: Path, entry: dict[str, Any]) -> None:
    """Reject a file that differs from the measured one. For a gzipped file the uncompressed content is compared.

    Raises:
        ValueError: With both digests.
    """
    zipped = path.suffix == ".gz"
    wanted = entry["content" if zipped else "sha256"]
    try:
        found = hashlib.sha256(gzip.decompress(content) if zipped else content).hexdigest()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"is damaged ({error}); remove {path} to fetch it anew") from error
    if found != wanted:
        raise ValueError(f"has SHA-256 {found}, the results were measured on {wanted}; remove {path} to fetch it anew")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python evaluation/fetch.py FOLDER", file=sys.stderr)
        raise SystemExit(2)
    raise SystemExit(main(Path(sys.argv[1])))
