"""A repository of the Hub in this process: its commits, branches and tags, and what the Hub refuses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

NOW = "2026-01-01T00:00:00.000Z"


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        self.status, self.message, self.code = status, message, code


@dataclass
class Repo:
    """A repository: every commit is a whole tree of paths to bytes."""

    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: dict[str, str] = field(default_factory=dict)

    def commit(self, head: str, tree: dict[str, bytes]) -> str:
        content = json.dumps(
            [len(self.commits), *((path, hashlib.sha1(data).hexdigest()) for path, data in tree.items())]
        )
        oid = hashlib.sha1(content.encode()).hexdigest()
        self.commits[oid] = tree
        (self.pulls if head.startswith("refs/pr/") else self.heads)[head] = oid
        return oid

    def resolve(self, revision: str) -> str:
        for named in (self.heads, self.tags, self.pulls):
            if revision in named:
                return named[revision]
        if revision not in self.commits:
            raise Refusal(404, "no such revision", "RevisionNotFound")
        return revision

    def refs(self) -> dict[str, list[dict[str, str]]]:
        """The branches and tags, as the Hub lists them."""

        def listed(kind: str, refs: dict[str, str]) -> list[dict[str, str]]:
            return [{"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": oid} for name, oid in refs.items()]

        return {"branches": listed("heads", self.heads), "tags": listed("tags", self.tags), "converts": []}


@dataclass
class Fault:
    """What is to go wrong: an answer with an error, or a connection that is closed with the request half read."""

    method: str
    path: str
    times: int
    status: int | None
    message: str
    code: str


def git_oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def chunks(request: BaseHTTPRequestHandler) -> Iterator[bytes]:
    while size := int(request.rfile.readline().strip() or b"0", 16):
        yield request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
