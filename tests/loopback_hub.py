"""A Hub in this process: as much of huggingface.co as pushing, loading, branches, tags, pull requests and collections need.

In memory, on the loopback interface, for the real ``huggingface_hub`` client. It can be told to fail.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import transformers.utils.hub as transformers_hub
from huggingface_hub import constants, hf_api

from tests.loopback_repo import NOW, Fault, Refusal, Repo, chunks, git_oid

WRITER, READER, STRANGER = "hf_writer", "hf_reader", "hf_stranger"
"""Tokens: of a member of ``org``, of a member who may only read, and of nobody the Hub knows."""


class LoopbackHub:
    """The server; ``url`` is its address, ``requests`` what it was asked."""

    def __init__(self) -> None:
        self.large: Callable[[str], bool] = lambda path: False
        self.repos: dict[str, Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.collections: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: Any) -> None:
                pass

            def answer(self) -> None:
                hub.handle(self)

            do_GET = do_HEAD = do_POST = do_PUT = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def fail(
        self, method: str, path: str, times: int, status: int | None, message: str = "told to fail", code: str = ""
    ) -> None:
        """Let requests go wrong whose path has a match of ``path``: with a status, or (None) cut off half-way."""
        self.faults.append(Fault(method, path, times, status, message, code))

    def tree(self, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        repo = self.repos[repo_id]
        return repo.commits[repo.resolve(revision)]

    # ------------------------------------------------------------------ the wire

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        path, query = unquote(parts.path), parse_qs(parts.query)
        length = int(request.headers.get("Content-Length") or 0)
        with self.lock:
            self.requests.append(f"{request.command} {path}")
            fault = next(
                (
                    fault
                    for fault in self.faults
                    if fault.times and fault.method == request.command and re.search(fault.path, path)
                ),
                None,
            )
            if fault is not None:
                fault.times -= 1
        if fault is not None and fault.status is None:
            request.rfile.read(length // 2)
            request.close_connection = True
            request.connection.close()
            return
        body = b"".join(chunks(request)) if request.headers.get("Transfer-Encoding") else request.rfile.read(length)
        try:
            if fault is not None:
                raise Refusal(fault.status or 500, fault.message, fault.code)
            with self.lock:
                status, headers, content = 200, *self.route(request, path, query, body)
        except Refusal as refusal:
            status, content = refusal.status, json.dumps({"error": refusal.message}).encode()
            headers = {"X-Error-Message": " ".join(refusal.message.split()), "Content-Type": "application/json"}
            headers |= {"X-Error-Code": refusal.code} if refusal.code else {}
        request.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)

    def route(
        self, request: BaseHTTPRequestHandler, path: str, query: dict[str, list[str]], body: bytes
    ) -> tuple[dict[str, str], bytes]:
        token = (request.headers.get("Authorization") or "").removeprefix("Bearer ")
        if path == "/api/agent-harnesses":
            raise Refusal(404, "not here")
        if path.startswith("/blobs/"):
            self.blobs[path.removeprefix("/blobs/")] = body
            return {}, b""
        if match := re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/(refs/pr/\d+|[^/]+)/(.+)", path):
            return self.resolve(*match.groups(), token)
        answer = self.api(request.command, path, query, body, token)
        return {"Content-Type": "application/json"}, json.dumps(answer).encode()

    # ------------------------------------------------------------------ what may be asked

    def api(self, method: str, path: str, query: dict[str, list[str]], body: bytes, token: str) -> Any:
        if token and token not in (WRITER, READER):
            raise Refusal(401, "Invalid credentials in Authorization header")
        if path == "/api/whoami-v2":
            if not token:
                raise Refusal(401, "Invalid username or password.")
            role = {"accessToken": {"role": "write" if token == WRITER else "read"}}
            return {"type": "user", "name": token.removeprefix("hf_"), "auth": role, "orgs": [{"name": "org"}]}
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}
        if path.startswith("/api/collections"):
            return self.collect(method, path, query, body, token)
        if path == "/api/repos/create":
            return self.create(json.loads(body), token)
        if match := re.fullmatch(r"/([\w.-]+/[\w.-]+)\.git/info/lfs/objects/batch", path):
            self.writable(match[1].split("/")[0], token)
            return {"transfer": "basic", "objects": [self.lfs(item) for item in json.loads(body)["objects"]]}
        match = re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)(?:/([\w-]+)(?:/(.+))?)?", path)
        if match is None:
            raise Refusal(404, f"{method} {path} is not part of this Hub", "EntryNotFound")
        repo_id, verb, rest = match.groups()
        repo = self.visible(repo_id, token)
        if method == "POST":
            self.writable(repo_id.split("/")[0], token)
        return getattr(self, f"_{verb or 'revision'}".replace("-", "_"))(repo_id, repo, rest or "main", query, body)

    def create(self, asked: dict[str, Any], token: str) -> Any:
        owner = asked["organization"] or token.removeprefix("hf_")
        self.writable(owner, token)
        repo_id = f"{owner}/{asked['name']}"
        if repo_id in self.repos:
            raise Refusal(409, "You already created this model repo")
        private = asked.get("visibility") == "private" or bool(asked.get("private"))  # older clients say the second
        self.repos[repo_id] = Repo(private=private)
        self.repos[repo_id].commit("main", {".gitattributes": b"*.safetensors filter=lfs\n"})
        return {"url": f"{self.url}/{repo_id}", "name": repo_id}

    def visible(self, repo_id: str, token: str) -> Repo:
        repo = self.repos.get(repo_id)
        if repo is None or (repo.private and token not in (WRITER, READER)):
            raise Refusal(401 if not token else 404, "Repository not found", "RepoNotFound")
        return repo

    def writable(self, owner: str, token: str) -> None:
        if not token:
            raise Refusal(401, "Invalid username or password.")
        if token != WRITER or owner not in ("org", "my-group", "writer"):
            raise Refusal(403, f"You don't have the rights to write to the namespace {owner}")

    def _revision(self, repo_id: str, repo: Repo, revision: str, query: Any, body: bytes) -> Any:
        oid = repo.resolve(revision)
        siblings = [{"rfilename": path} for path in sorted(repo.commits[oid])]
        return {"id": repo_id, "_id": "0", "sha": oid, "private": repo.private, "siblings": siblings, "tags": []}

    def _refs(self, repo_id: str, repo: Repo, rest: str, query: Any, body: bytes) -> Any:
        return repo.refs()

    def _tree(self, repo_id: str, repo: Repo, rest: str, query: Any, body: bytes) -> Any:
        revision, folder = re.fullmatch(r"(refs/pr/\d+|[^/]+)(/.+)?", rest).groups()  # type: ignore[union-attr]
        tree = repo.commits[repo.resolve(revision)]
        if folder:
            raise Refusal(404, "no such folder", "EntryNotFound")
        return [{"type": "file", "path": path, "size": len(data), "oid": git_oid(data)} for path, data in tree.items()]

    def _branch(self, repo_id: str, repo: Repo, name: str, query: Any, body: bytes) -> Any:
        if name in repo.heads:
            raise Refusal(409, "Reference already exists")
        repo.heads[name] = repo.resolve(json.loads(body or b"{}").get("startingPoint", "main"))
        return {}

    def _tag(self, repo_id: str, repo: Repo, revision: str, query: Any, body: bytes) -> Any:
        name = json.loads(body)["tag"]
        if name in repo.tags:
            raise Refusal(409, "Tag reference exists already")
        repo.tags[name] = repo.resolve(revision)
        return {}

    def _preupload(self, repo_id: str, repo: Repo, revision: str, query: Any, body: bytes) -> Any:
        tree = repo.commits[repo.resolve(revision)]
        files = []
        for file in json.loads(body)["files"]:
            path, large = file["path"], self.large(file["path"])
            known = {}
            if path in tree:
                known = {"oid": hashlib.sha256(tree[path]).hexdigest() if large else git_oid(tree[path])}
            files.append({"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, **known})
        return {"files": files}

    def lfs(self, item: dict[str, Any]) -> dict[str, Any]:
        held = item["oid"] in self.blobs
        return item if held else {**item, "actions": {"upload": {"href": f"{self.url}/blobs/{item['oid']}"}}}

    def _commit(self, repo_id: str, repo: Repo, revision: str, query: dict[str, list[str]], body: bytes) -> Any:
        parent = repo.resolve(revision)
        tree = dict(repo.commits[parent])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header" and value.get("parentCommit") not in (None, parent):
                raise Refusal(412, "A commit has happened since. Please refresh and try again.")
            if line["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            if line["key"] == "lfsFile":
                tree[value["path"]] = self.blobs[value["oid"]]
            if line["key"] == "deletedFile":
                del tree[value["path"]]
        if not query.get("create_pr"):
            oid = repo.commit(revision, tree)
            return {"commitUrl": f"{self.url}/{repo_id}/commit/{oid}", "commitOid": oid}
        number = len(repo.pulls) + 1
        oid = repo.commit(f"refs/pr/{number}", tree)
        pull = f"{self.url}/{repo_id}/discussions/{number}"
        return {"commitUrl": f"{self.url}/{repo_id}/commit/{oid}", "commitOid": oid, "pullRequestUrl": pull}

    def collect(self, method: str, path: str, query: dict[str, list[str]], body: bytes, token: str) -> Any:
        slug = path.removeprefix("/api/collections").strip("/").removesuffix("/items")
        if method == "GET" and slug:
            return self.collections[slug]
        if method == "GET":
            held = [
                collection
                for collection in self.collections.values()
                if collection["owner"]["name"] == query["owner"][0]
            ]
            return [{name: value for name, value in collection.items() if name != "position"} for collection in held]
        asked = json.loads(body)
        if slug:
            held = self.collections[slug]
            self.writable(held["owner"]["name"], token)
            item = asked["item"]
            if item["id"] in [listed["id"] for listed in held["items"]]:
                raise Refusal(409, "is in the collection already")
            held["items"].append({**item, "_id": str(len(held["items"])), "position": len(held["items"])})
            return held
        self.writable(asked["namespace"], token)
        slug = f"{asked['namespace']}/{asked['title'].lower().replace(' ', '-')}-{len(self.collections)}"
        fixed = {"items": [], "lastUpdated": NOW, "position": 0, "theme": "blue", "upvotes": 0}
        named = {"slug": slug, "title": asked["title"], "owner": {"name": asked["namespace"]}}
        self.collections[slug] = {**named, "private": asked["private"], **fixed}
        return self.collections[slug]

    def resolve(self, repo_id: str, revision: str, path: str, token: str) -> tuple[dict[str, str], bytes]:
        repo = self.visible(repo_id, token)
        oid = repo.resolve(revision)
        if path not in repo.commits[oid]:
            raise Refusal(404, f"{path} is not in the repository", "EntryNotFound")
        data = repo.commits[oid][path]
        return {"X-Repo-Commit": oid, "ETag": f'"{hashlib.sha256(data).hexdigest()}"'}, data


@contextmanager
def loopback_hub(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[LoopbackHub]:
    """A running Hub, which for this process is the only one there is; it is known as WRITER there.

    Args:
        monkeypatch: Takes it back.
        cache: Folder for what is downloaded.
    """
    hub = LoopbackHub()
    monkeypatch.setenv("HF_TOKEN", WRITER)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(hf_api.api, "endpoint", hub.url)
    if hasattr(transformers_hub, "_hf_api"):  # made once with the address of then: another Hub's, which is closed
        monkeypatch.setattr(transformers_hub, "_hf_api", None)
    template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    try:
        yield hub
    finally:
        hub.close()
