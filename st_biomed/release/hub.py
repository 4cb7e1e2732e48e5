"""Publishes a release folder on the Hub: first a plan of the push, then the push by the Hub's own client.

Repositories are private by default, and a push is one commit. The local folder is not changed: files that differ on
the Hub (with the model's id on the card and in ``run.json``) are sent from memory. The client does retries.
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
from st_biomed.release.hub_errors import as_input_errors
from st_biomed.release.hub_plan import HubPlan, PlannedFile, PushOptions, Repository
from st_biomed.release.privacy import may_leave
from st_biomed.release.read_release import check_unreplaced, identity, unreplaced
from st_biomed.release.recheck import recheck
from st_biomed.release.run_data import RunData, read_run
from st_biomed.terminology import Terminology

PLACEHOLDER = "sentence_transformers_model_id"
"""The id on the card of an unpublished model, as on sentence-transformers' own cards."""


@dataclass(frozen=True)
class Pushed:
    """The result of a push.

    Attributes:
        changed: Whether there is a new commit; there is none if all files were unchanged.
        url: The commit, or the pull request.
        collection: The address of the collection; empty if none was requested.
    """

    commit: str
    changed: bool
    url: str
    collection: str = ""


def look_up(api: HfApi, repo_id: str, branch: str = "") -> Repository:
    """The Hub's information on a name, and the user of the token.

    Args:
        repo_id: ``owner/name``.
        branch: The branch to write to; main by default.

    Raises:
        InputError: No token, one that the Hub does not know, or no connection.
    """
    if is_offline_mode():
        raise InputError(f"{repo_id}: HF_HUB_OFFLINE is set: unset it to reach the Hub")
    with as_input_errors(repo_id):
        answer = api.whoami()
        user = answer["name"]
        role = answer.get("auth", {}).get("accessToken", {}).get("role")
        try:
            info = api.model_info(repo_id)
        except GatedRepoError:  # which the client counts among those that are not found
            raise
        except RepositoryNotFoundError:
            return Repository(repo_id, user, reads_only=role == "read")
        refs = api.list_repo_refs(repo_id)
        heads = {branch_ref.name: branch_ref.target_commit for branch_ref in refs.branches}
        at_branch = api.model_info(repo_id, revision=branch) if branch in heads else info
        return Repository(
            repo_id,
            user,
            reads_only=role == "read",
            exists=True,
            private=bool(info.private),
            files=tuple(file.rfilename for file in info.siblings or []),
            target=tuple(file.rfilename for file in at_branch.siblings or []),
            heads=heads,
            tags=tuple(tag.name for tag in refs.tags),
        )


def check_target(api: HfApi, options: PushOptions) -> Repository:
    """The Hub's information on a name, if a push with these options is possible; recipes check this before training.

    Raises:
        InputError: Errors of :func:`look_up` and :meth:`PushOptions.check`.
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
    place: Path | None = None,
    api: HfApi | None = None,
) -> HubPlan:
    """Plan a push; nothing is sent.

    Args:
        folder: A release folder, with its ``run.json``.
        options: Target and options of the push.
        terminologies: The terminologies of training and measurement, for :func:`~st_biomed.release.recheck.recheck`,
            like the next three arguments.
        allow_sources: Sources whose names may be published.
        base_model: The model that training started from.
        place: The folder that the recipe wrote, if ``folder`` is a copy of it in another layout.
        api: The Hub's client; by default with the token and address of its environment variables.

    Returns:
        The plan. If the Hub cannot be reached, or would reject the push, ``obstacle`` has the reason.

    Raises:
        InputError: No release folder, or one that may not be published.
    """
    folder = Path(folder)
    with unreplaced(folder):
        run = read_run(folder / "run.json")
        if not (folder / "modules.json").is_file() or not (folder / "README.md").is_file():
            raise InputError(f"{folder}: lacks modules.json or README.md; a release folder has both")
        verdict = recheck(folder, run, terminologies, allow_sources=allow_sources, base_model=base_model, place=place)
        files = tuple(
            PlannedFile(path.relative_to(folder).as_posix(), path.stat().st_size)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        )
        folder_identity = identity(folder)
    repository, obstacle = Repository(options.repo_id, ""), ""
    try:
        repository = look_up(api or HfApi(), options.repo_id, options.branch)
        options.check(repository)
    except InputError as error:
        obstacle = str(error)
    kept = {file.path for file in files}
    removed = tuple(name for name in repository.target if may_leave(name) and name not in kept)
    return HubPlan(folder, run, options, repository, files, removed, verdict, obstacle, folder_identity)


def push_plan(plan: HubPlan, *, api: HfApi | None = None) -> Pushed:
    """Execute a plan.

    Args:
        plan: From :func:`plan_push`.

    Raises:
        InputError: The plan's obstacle, or an error of the Hub, the connection or the disk, with a remedy.
    """
    if plan.obstacle:
        raise InputError(plan.obstacle)
    api, options, repository = api or HfApi(), plan.options, plan.repository
    additions = _additions(plan)
    with as_input_errors(options.repo_id):
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
        check_unreplaced(plan.folder, plan.identity)  # nothing is read after this line
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
    """The files of a plan in the form in which they are sent."""
    with unreplaced(plan.folder):
        check_unreplaced(plan.folder, plan.identity)
        return [CommitOperationAdd(file.path, _content(plan, file)) for file in plan.files]


def _content(plan: HubPlan, file: PlannedFile) -> Path | bytes:
    """A file to send, from the folder, except the two with the model's name; small files are read at once."""
    local, repo_id = plan.folder / file.path, plan.options.repo_id
    if file.path == "README.md":
        return named_card(local.read_text("utf-8"), plan.run, repo_id).encode()
    if file.path == "run.json":
        return (json.dumps({**plan.run, "model_id": repo_id}, indent=1, ensure_ascii=False) + "\n").encode()
    return local if file.large else local.read_bytes()


def named_card(card: str, run: RunData, repo_id: str) -> str:
    """The card with the model's id in its example, in place of the id of an unpublished or other model."""
    former = "|".join(re.escape(name) for name in (PLACEHOLDER, run["model_id"]) if name)
    how, heading, rest = card.partition("\n## Results\n")
    return re.sub(rf'((?:\("|--model ))(?:{former})(?=["\s])', rf"\g<1>{repo_id}", how) + heading + rest


def _collect(api: HfApi, options: PushOptions) -> str:
    """Add the repository to its owner's collection with the title, which is created if necessary."""
    owner = options.repo_id.split("/")[0]
    held = [collection for collection in api.list_collections(owner=owner) if collection.title == options.collection]
    if held:
        collection = held[0]
    else:
        collection = api.create_collection(
            options.collection, namespace=owner, private=not options.public, exists_ok=True
        )
    api.add_collection_item(collection.slug, options.repo_id, "model", exists_ok=True)
    return collection.url
