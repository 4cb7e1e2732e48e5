"""A push to the Hub before it happens: what is asked for, what the Hub has, and what would be sent, for people to read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from st_biomed.errors import InputError
from st_biomed.release.run_data import RunData, began_from

_LARGE_SUFFIXES = (".safetensors", ".model")  # of what a release holds, in every new repository's .gitattributes
_LARGE_BYTES = 10_000_000  # from here on the Hub takes no regular file
_SHOWN_RESULTS = 6


@dataclass(frozen=True)
class Repository:
    """What the Hub has under a name.

    Attributes:
        repo_id: ``owner/name``.
        user: As whom it was asked; empty where it was not.
        reads_only: Whether the token may write nowhere.
        exists: Whether there is one, as far as the token may see.
        private: Whether it is private.
        files: Paths on its main branch.
        target: Paths on the branch that is to be written to.
        heads: Branch to its newest commit.
        tags: Names.
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
        """Whether nobody has put anything there: it was just made, by hand or by a push that broke."""
        return set(self.files) <= {".gitattributes"}


@dataclass(frozen=True)
class PushOptions:
    """Where a release goes, and how.

    Args:
        repo_id: ``owner/name``.
        public: Let everyone see it.
        branch: Commit there instead of to main; made where there is none.
        pull_request: Open a pull request instead of changing main.
        tag: Name of a tag for the commit.
        update: Whether a repository that holds something may be changed.
        collection: Title of a collection of the owner that the model belongs to.

    Raises:
        InputError: No name of a repository, or options that exclude each other.
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
            raise InputError(f"branch {self.branch!r}: give a branch's own name")

    def check(self, repository: Repository) -> None:
        """Refuse a push that would change what somebody has, or show it to others than meant.

        Raises:
            InputError: With the option that allows it, or what else to do.
        """
        name = self.repo_id
        if repository.reads_only:
            raise InputError(f"{name}: the token of {repository.user} may only read, one that may write is needed")
        if not repository.exists:
            if self.pull_request:
                raise InputError(f"{name}: no such repository, a pull request needs one: push without --pr")
            return
        if repository.private and self.public:
            raise InputError(f"{name}: is there and private; make it public in its settings, then push again")
        if not repository.private and not self.public:
            raise InputError(f"{name}: is there and public; give --public to publish in it")
        if not (repository.empty or self.update or self.pull_request):
            raise InputError(f"{name}: is there and holds {len(repository.files)} files; give --update or --pr")
        if self.tag in repository.tags:
            raise InputError(f"{name}: has a tag {self.tag!r}, which stays where it is; choose another")


@dataclass(frozen=True)
class PlannedFile:
    """One file: its path in the release and its bytes."""

    path: str
    size: int

    @property
    def large(self) -> bool:
        """Whether the Hub is expected to store it apart from git (LFS or Xet); it decides itself when it is sent."""
        return self.path.endswith(_LARGE_SUFFIXES) or self.size > _LARGE_BYTES


@dataclass(frozen=True)
class HubPlan:
    """What a push would do; its string is for people.

    Attributes:
        folder: The release folder.
        run: Its record.
        options: What is asked for.
        repository: What the Hub has.
        files: What is sent.
        removed: Files of an earlier release in the repository that this one has not.
        verdict: What the check on licensed names found, in a few lines.
        obstacle: Why a push would fail; empty where nothing is known against it.
        identity: Of the folder, so that one that takes its place is noticed.
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
        return "\n".join(f"{name:11}{said}".rstrip() for name, said in rows)

    def _repository(self) -> str:
        seen = "public" if self.options.public else "private"
        if not self.repository.user:
            return f"{seen}; the Hub was not asked"
        state = "new" if not self.repository.exists else "empty" if self.repository.empty else "there already"
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
    """Bytes as people write them, in powers of ten as the Hub counts."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
