"""Publish a release folder on the Hub: first what would happen, then that, by the Hub's own client.

Private unless asked otherwise, one commit, and the local folder stays as it is: what differs on the Hub (the model's id on
the card and in ``run.json``) is sent from memory. Retries are those of the client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, is_offline_mode
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from st_biomed import __version__
from st_biomed.errors import InputError
from st_biomed.release.hub_errors import one_line
from st_biomed.release.hub_plan import HubPlan, PlannedFile, PushOptions, Repository
from st_biomed.release.privacy import may_leave
from st_biomed.release.read_release import check_unreplaced, identity, unreplaced
from st_biomed.release.recheck import recheck
from st_biomed.release.run_data import RunData, read_run
from st_biomed.terminology import Terminology

PLACEHOLDER = "sentence_transformers_model_id"
"""What the card of a model that is published nowhere has for its id, as the host's own cards do."""


@dataclass(frozen=True)
class Pushed:
    """What a push left on the Hub.

    Attributes:
        commit: Its hash.
        changed: Whether there is a new commit; not where the Hub had every file as it is.
        url: The commit, or the pull request.
        collection: The address of the collection; empty where none was asked for.
    """

    commit: str
    changed: bool
    url: str
    collection: str = ""


def look_up(api: HfApi, repo_id: str, branch: str = "") -> Repository:
    """What the Hub has under a name, and as whom it is asked.

    Args:
        api: The Hub's client.
        repo_id: ``owner/name``.
        branch: That is to be written to; main by default.

    Raises:
        InputError: No token, one that the Hub does not know, or no connection.
    """
    if is_offline_mode():
        raise InputError(f"{repo_id}: HF_HUB_OFFLINE is set: unset it to reach the Hub")
    with one_line(repo_id):
        told = api.whoami()
        user = told["name"]
        role = told.get("auth", {}).get("accessToken", {}).get("role")
        try:
            found = api.model_info(repo_id)
        except GatedRepoError:  # which the client counts among those that are not found
            raise
        except RepositoryNotFoundError:
            return Repository(repo_id, user, reads_only=role == "read")
        refs = api.list_repo_refs(repo_id)
        heads = {each.name: each.target_commit for each in refs.branches}
        at_branch = api.model_info(repo_id, revision=branch) if branch in heads else found
        return Repository(
            repo_id,
            user,
            reads_only=role == "read",
            exists=True,
            private=bool(found.private),
            files=tuple(file.rfilename for file in found.siblings or []),
            target=tuple(file.rfilename for file in at_branch.siblings or []),
            heads=heads,
            tags=tuple(tag.name for tag in refs.tags),
        )


def check_target(api: HfApi, options: PushOptions) -> Repository:
    """What the Hub has under a name, where a push with these options may go there; recipes ask before they train.

    Raises:
        InputError: What :func:`look_up` and :meth:`PushOptions.check` refuse.
    """
    repository = look_up(api, options.repo_id, options.branch)
    options.check(repository)
    return repository


def plan_push(
    folder: str | Path,
    options: PushOptions,
    *,
    terminologies: Sequence[Terminology] = (),
    allow_sources: Collection[str] = (),
    base_model: str | Path | None = None,
    api: HfApi | None = None,
) -> HubPlan:
    """What a push would do; nothing is sent.

    Args:
        folder: A release folder, with its ``run.json``.
        options: Where to, and how.
        terminologies: What the model was trained and measured on, for :func:`~st_biomed.release.recheck.recheck`, as are
            the next two.
        allow_sources: Sources whose names may leave.
        base_model: What training started from.
        api: The Hub's client; by default with the token and the address that its environment variables name.

    Returns:
        The plan. Where the Hub cannot be asked, or would refuse, it says why in ``obstacle``.

    Raises:
        InputError: No release folder, or one that may not leave.
    """
    folder = Path(folder)
    with unreplaced(folder):
        run = read_run(folder / "run.json")
        if not (folder / "modules.json").is_file() or not (folder / "README.md").is_file():
            raise InputError(f"{folder}: lacks modules.json or README.md, a release folder has both")
        verdict = recheck(folder, run, terminologies, allow_sources=allow_sources, base_model=base_model)
        files = tuple(
            PlannedFile(path.relative_to(folder).as_posix(), path.stat().st_size)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        )
        found = identity(folder)
    repository, obstacle = Repository(options.repo_id, ""), ""
    try:
        repository = look_up(api or HfApi(), options.repo_id, options.branch)
        options.check(repository)
    except InputError as error:
        obstacle = str(error)
    kept = {file.path for file in files}
    removed = tuple(name for name in repository.target if may_leave(name) and name not in kept)
    return HubPlan(folder, run, options, repository, files, removed, verdict, obstacle, found)


def push_plan(plan: HubPlan, *, api: HfApi | None = None) -> Pushed:
    """Do what a plan says.

    Args:
        plan: From :func:`plan_push`.
        api: The Hub's client.

    Raises:
        InputError: The plan's obstacle, or what the Hub, the connection or the disk refuses, with what to do.
    """
    if plan.obstacle:
        raise InputError(plan.obstacle)
    api, options, repository = api or HfApi(), plan.options, plan.repository
    additions = _additions(plan)
    with one_line(options.repo_id):
        if not repository.exists:
            api.create_repo(options.repo_id, private=not options.public)
        parent = repository.heads.get(options.branch or "main")
        if options.branch and options.branch not in repository.heads:
            api.create_branch(options.repo_id, branch=options.branch, exist_ok=True)
            parent = repository.heads.get("main")
        api.preupload_lfs_files(
            options.repo_id,
            additions=additions,
            revision=options.branch or None,
            create_pr=options.pull_request,
        )
        check_unreplaced(plan.folder, plan.identity)  # from here on nothing is read
        commit = api.create_commit(
            options.repo_id,
            operations=[*additions, *(CommitOperationDelete(path) for path in plan.removed)],
            commit_message=f"Release of {plan.run['recipe']} by st-biomed {__version__}",
            revision=options.branch or None,
            create_pr=options.pull_request,
            parent_commit=None if options.pull_request else parent,
        )
        if options.tag:
            api.create_tag(options.repo_id, tag=options.tag, revision=commit.oid)
        collection = _collect(api, options) if options.collection else ""
    changed = commit.oid != parent
    return Pushed(commit.oid, changed, commit.pr_url or commit.commit_url, collection)


def _additions(plan: HubPlan) -> list[CommitOperationAdd]:
    """The files of a plan as they are sent.

    Raises:
        InputError: The folder is another one than was planned for.
    """
    with unreplaced(plan.folder):
        check_unreplaced(plan.folder, plan.identity)
        return [CommitOperationAdd(file.path, _content(plan, file)) for file in plan.files]


def _content(plan: HubPlan, file: PlannedFile) -> Path | bytes:
    """A file as it is sent: from the folder, but for the two that name the model; a small one is read at once."""
    local, repo_id = plan.folder / file.path, plan.options.repo_id
    if file.path == "README.md":
        return named_card(local.read_text("utf-8"), plan.run, repo_id).encode()
    if file.path == "run.json":
        return (json.dumps({**plan.run, "model_id": repo_id}, indent=1, ensure_ascii=False) + "\n").encode()
    return local if file.large else local.read_bytes()


def named_card(card: str, run: RunData, repo_id: str) -> str:
    """The card with the model's id where its example loads a model that was published nowhere, or elsewhere."""
    former = "|".join(re.escape(name) for name in (PLACEHOLDER, run["model_id"]) if name)
    how, heading, rest = card.partition("\n## Results\n")
    return re.sub(rf'((?:\("|--model ))(?:{former})(?=["\s])', rf"\g<1>{repo_id}", how) + heading + rest


def _collect(api: HfApi, options: PushOptions) -> str:
    """Put the repository into the collection of its owner that has the title, which is made where there is none."""
    owner = options.repo_id.split("/")[0]
    held = [each for each in api.list_collections(owner=owner) if each.title == options.collection]
    if held:
        collection = held[0]
    else:
        collection = api.create_collection(
            options.collection, namespace=owner, private=not options.public, exists_ok=True
        )
    api.add_collection_item(collection.slug, options.repo_id, "model", exists_ok=True)
    return collection.url
