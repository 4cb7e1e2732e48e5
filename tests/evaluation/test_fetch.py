"""Files behind the results are fetched from where they lie: a server on the loopback interface stands in for it."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from evaluation import fetch

COMMIT, BLOB = "a" * 40, "b" * 40
SERVED = {
    f"/raw/org/terms/{COMMIT}/flumpa.csv": b"flumpa,gradtha\n",
    f"/raw/org/terms/{COMMIT}/other.csv": b"another file\n",
    f"/raw/org/terms/{COMMIT}/cut.csv": b"flumpa\n",
    f"/blobs/repos/org/terms/git/blobs/{BLOB}": gzip.compress(b"zorb\n"),
}


def entry(content: bytes, **where: str) -> dict[str, str]:
    digest = hashlib.sha256(content).hexdigest()
    shared = {"repository": "https://github.com/org/terms", "license": "CC0-1.0", "path": "some/place"}
    return {**shared, "sha256": digest, "content": digest, **where}


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = SERVED.get(self.path)
            self.send_response(404 if content is None else 200)
            if self.path.endswith("cut.csv"):
                self.send_header("Content-Length", "99")
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def run(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **files: dict[str, str]) -> int:
    listed = tmp_path / "data.yaml"
    listed.write_text(yaml.safe_dump({name.replace("__", "."): about for name, about in files.items()}))
    monkeypatch.setattr(fetch, "FILES", listed)
    return fetch.main(tmp_path / "data", raw=f"{server}/raw", blobs=f"{server}/blobs")


def test_files_are_fetched_gzipped_where_they_are_not_and_left_alone_where_they_are(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    files = {
        "flumpa__csv": entry(b"flumpa,gradtha\n", commit=COMMIT, fetch="flumpa.csv"),
        "flumpa__csv__gz": entry(b"flumpa,gradtha\n", commit=COMMIT, fetch="flumpa.csv"),
        "zorb__txt__gz": entry(b"zorb\n", blob=BLOB, fetch="zorb.gz"),
    }
    assert run(server, tmp_path, monkeypatch, **files) == 0
    data = tmp_path / "data"
    assert (data / "flumpa.csv").read_bytes() == gzip.decompress((data / "flumpa.csv.gz").read_bytes())
    assert gzip.decompress((data / "zorb.txt.gz").read_bytes()) == b"zorb\n"
    assert run("http://127.0.0.1:9", tmp_path, monkeypatch, **files) == 0
    assert capsys.readouterr().out.count(": exists") == 3
    assert sorted(path.name for path in data.iterdir()) == ["flumpa.csv", "flumpa.csv.gz", "zorb.txt.gz"]


def test_a_damaged_file_or_answer_does_not_end_the_list(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Catches a traceback of a truncated file or of an answer that was cut off, after which nothing is fetched."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.csv.gz").write_bytes(gzip.compress(b"flumpa\n" * 99)[:-9])
    files = {
        "a__csv__gz": entry(b"flumpa\n" * 99, commit=COMMIT, fetch="flumpa.csv"),
        "b__csv": entry(b"flumpa\n", commit=COMMIT, fetch="cut.csv"),
        "c__csv": entry(b"flumpa,gradtha\n", commit=COMMIT, fetch="flumpa.csv"),
    }
    assert run(server, tmp_path, monkeypatch, **files) == 1
    output = capsys.readouterr().err
    assert (
        "a.csv.gz: is damaged (" in output and "cut.csv: IncompleteRead" in output and "2 files are missing" in output
    )
    assert (data / "c.csv").is_file()


def test_another_file_an_address_that_is_gone_and_what_is_made_by_hand_are_told(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Catches results that are repeated on other data, and a list that ends at its first missing file."""
    files = {
        "a__csv": entry(b"flumpa\n", commit=COMMIT, fetch="other.csv"),
        "b__csv": entry(b"flumpa\n", commit=COMMIT, fetch="gone.csv"),
        "c__csv": entry(b"flumpa\n", commit=COMMIT),
        "d__csv": entry(b"flumpa,gradtha\n", commit=COMMIT, fetch="flumpa.csv"),
        "e__csv": entry(b"flumpa\n"),
    }
    assert run(server, tmp_path, monkeypatch, **files) == 1
    output = capsys.readouterr().err
    assert "a.csv: has SHA-256" in output and "gone.csv: HTTP Error 404" in output and "4 files are missing" in output
    assert "e.csv: must be made from https://github.com/org/terms: some/place" in output
    assert f"c.csv: must be made from https://github.com/org/terms at {COMMIT}: some/place" in output
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["d.csv"]
