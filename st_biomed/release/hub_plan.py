"""The plan of a push to the Hub: the request, the state of the Hub, and the files to send, in readable form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from st_biomed.errors import InputError
from st_biomed.release.run_data import RunData, began_from

_LARGE_SUFFIXES = (".safetensors", ".model")  # of files in a release; every new repository's .gitattributes lists them
_LARGE_BYTES = 10_000_000  # from this size on, the Hub does not accept regular files
_SHOWN_RESULTS = 6


@dataclass(frozen=True)
class Repository:
    """The Hub's information on a name.

    Attributes:
        repo_id: ``owner/name``.
        public: Whether a new repository is public; private by default.
        user: The user of the token; empty if the Hub was not asked.
        reads_only: Whether the token has no write access.
        exists: Whether the repository exists, as far as the token may see.
        files: Paths on its main branch.
        target: Paths on the branch to write to.
        heads: Branch to its newest commit.
    """

    repo_id: str
    user: str
    reads_only: bool = False
    exists: bool = False
    private: bool = True
    files: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the repository has no contents: it was just created, by hand or by an interrupted push."""
        return set(self.files) <= {".gitattributes"}


@dataclass(frozen=True)
class PushOptions:
    """The target and options of a push.

    Args:
        repo_id: ``owner/name``.
        public: Whether a new repository is public; private by default.
        branch: Branch to commit to instead of main; created if necessary.
        pull_request: Whether to open a pull request instead of changing main.
        tag: Name of a tag for the commit.
        update: Whether a repository with contents may be changed.
        collection: Title of the owner's collection to which the model is added.

    Raises:
        InputError: An invalid name of a repository, or options that exclude each other.
    """

    repo_id: str
    public: bool = False
    branch: str = ""
    pull_request: bool = False
    tag: str = ""
    update: bool = False
    collection: str = ""

    def __post_init__(self) -> None:
        try:
            validate_repo_id(self.repo_id)
        except HFValidationError as error:
            raise InputError(f"repository {self.repo_id!r}: {' '.join(str(error).split())}") from None
        if self.repo_id.count("/") != 1:
            raise InputError(f"repository {self.repo_id!r}: write owner/name, e.g. my-group/my-model")
        for name, clashes in (("branch", self.branch), ("tag", self.tag)):
            if self.pull_request and clashes:
                raise InputError(f"pull requests are made against main and have no {name}: leave --{name} out")
        if re.fullmatch(r"refs/.*", self.branch):
            raise InputError(f"branch {self.branch!r}: give the name of a branch")

    def check(self, repository: Repository) -> None:
        """Reject a push that would change existing contents, or publish more widely than requested.

        Raises:
            InputError: With the option that allows it, or another remedy.
        """
        name = self.repo_id
        if repository.reads_only:
            raise InputError(f"{name}: the token of {repository.user} may only read; use one that may write")
        if not repository.exists:
            if self.pull_request:
                raise InputError(f"{name}: no such repository; a pull request needs one: push without --pr")
            return
        if repository.private and self.public:
            raise InputError(f"{name}: already exists and is private; make it public in its settings, then push again")
        if not repository.private and not self.public:
            raise InputError(f"{name}: already exists and is public; give --public to publish in it")
        if not (repository.empty or self.update or self.pull_request):
            raise InputError(
                f"{name}: already exists and contains {len(repository.files)} files; give --update or --pr"
            )
        if self.tag in repository.tags:
            raise InputError(f"{name}: already has a tag {self.tag!r}; choose another")


@dataclass(frozen=True)
class PlannedFile:
    """One file: its path in the release and its bytes."""

    path: str
    size: int

    @property
    def large(self) -> bool:
        """Whether the Hub is expected to store it separately from git (LFS or Xet); the Hub decides on arrival."""
        return self.path.endswith(_LARGE_SUFFIXES) or self.size > _LARGE_BYTES


@dataclass(frozen=True)
class HubPlan:
    """The plan of a push; its string is for users.

    Attributes:
        removed: Files of an earlier release in the repository that this release lacks.
        verdict: The findings of the check on licensed names, in a few lines.
        obstacle: The reason that a push would fail; empty if none is known.
        identity: Identity of the folder, to detect its replacement.
    """

    folder: Path
    run: RunData
    options: PushOptions
    repository: Repository
    files: tuple[PlannedFile, ...]
    removed: tuple[str, ...]
    verdict: str
    obstacle: str = ""
    identity: tuple[int, int] | None = None

    def __str__(self) -> str:
        width = max(len(file.path) for file in self.files)
        large = sum(file.large for file in self.files)
        rows = [
            ("release", f"{self.folder} to {self.options.repo_id}"),
            ("repository", self._repository()),
            ("card", f"base model {began_from(self.run)}, license {self.run['license']}"),
            *(("", line) for line in self._results()),
            *(("" if i else "license", line) for i, line in enumerate(self.verdict.splitlines())),
            (
                "files",
                f"{len(self.files)}, {_size(sum(file.size for file in self.files))}, {large} of them through LFS",
            ),
            *(("", f"{file.path:{width}} {_size(file.size):>9}{'  large' * file.large}") for file in self.files),
            *(("removed" if path == self.removed[0] else "", path) for path in self.removed),
        ]
        if self.obstacle:
            rows.append(("obstacle", self.obstacle))
        return "\n".join(f"{name:11}{text}".rstrip() for name, text in rows)

    def _repository(self) -> str:
        seen = "public" if self.options.public else "private"
        if not self.repository.user:
            return f"{seen}; the Hub was not asked"
        state = "new" if not self.repository.exists else "empty" if self.repository.empty else "existing"
        to = "a pull request" if self.options.pull_request else f"branch {self.options.branch or 'main'}"
        tag = f", tag {self.options.tag}" if self.options.tag else ""
        collection = f", in the collection {self.options.collection!r}" if self.options.collection else ""
        return f"{state}, {seen}, {to}{tag}{collection}, as {self.repository.user}"

    def _results(self) -> list[str]:
        """The headline figures before and after."""
        lines = []
        for benchmark, stages in self.run["results"].items():
            after, before = stages.get("after", {}), stages.get("before", {})
            for name in [name for name in after if name in self.run["headline"]] or list(after):
                lines.append(f"{benchmark}: {name} {_number(before.get(name))} before, {_number(after[name])} after")
        more = len(lines) - _SHOWN_RESULTS
        return [*lines[:_SHOWN_RESULTS], *([f"and {more} more figures"] if more > 0 else [])]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _size(size: float) -> str:
    """Bytes in readable units, in powers of ten like on the Hub."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
