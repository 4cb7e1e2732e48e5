"""Adds a scorecard to an existing release: to its record and its card, with the folder replaced as a whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.files import copy_folder, replacing
from st_biomed.release.card import BiomedCard
from st_biomed.release.portable import plain
from st_biomed.release.recheck import recheck
from st_biomed.release.run_data import RunData, check_run, read_run, write_run
from st_biomed.release.scorecard_data import ScorecardData
from st_biomed.terminology import Terminology

_WRITTEN = ("README.md", "run.json")


def add_scorecard(
    folder: str | Path,
    scorecards: Sequence[ScorecardData],
    *,
    terminologies: Sequence[Terminology] = (),
    allow_sources: Collection[str] = (),
    base_model: str | Path | None = None,
) -> str:
    """Write a scorecard into ``run.json`` and the card of a release; it replaces an earlier one against the same base.

    The new folder is built beside the release under its lock, checked like one to be published
    (:func:`~st_biomed.release.recheck.recheck`), and replaces it. If the check fails, the release stays unchanged.

    Args:
        scorecards: Scorecards of any models; that of this model is used, found by the digest of its computation.
        terminologies, allow_sources, base_model: As in :func:`~st_biomed.release.recheck.recheck`.

    Returns:
        The findings of the check on licensed names, in a few lines.

    Raises:
        InputError: No release folder, a link or a special file in it, no scorecard of this model, a card that was
            changed by hand, another process that writes there, or a violation of the rule.
    """
    folder = Path(folder)
    read_run(folder / "run.json")  # before anything is created beside it
    with replacing(folder) as draft:
        run = read_run(folder / "run.json")
        model = load_encoder(folder, device="cpu")
        scorecard = _of_this_model(folder, model_digest(model), scorecards)
        written = folder / "README.md"
        if written.is_file() and written.read_text("utf-8") != BiomedCard.from_run(run).render(model):
            raise InputError(
                f"{written}: is not the card that run.json gives (it was changed by hand, or written by another "
                "version), and its contents would be lost: keep a copy and remove it; it is then written again"
            )
        new = with_scorecard(run, scorecard)
        copy_folder(folder, draft, linked=True)
        for name in _WRITTEN:
            (draft / name).unlink(missing_ok=True)  # a second name of the present file
        write_run(new, draft / "run.json")
        (draft / "README.md").write_text(BiomedCard.from_run(new).render(model), "utf-8")
        return recheck(draft, new, terminologies, allow_sources=allow_sources, base_model=base_model, place=folder)


def with_scorecard(run: RunData, scorecard: ScorecardData) -> RunData:
    """Add a scorecard to a record, the newest first; paths of files are not recorded.

    Raises:
        InputError: It is not a scorecard.
    """
    own: ScorecardData = plain(scorecard)
    others = [scorecard_ for scorecard_ in run["scorecards"] if scorecard_["base_digest"] != own["base_digest"]]
    new: RunData = {**run, "scorecards": [own, *others]}
    check_run(new, "scorecard")
    return new


def _of_this_model(folder: Path, digest: str, scorecards: Sequence[ScorecardData]) -> ScorecardData:
    own_scorecard = next((scorecard for scorecard in scorecards if scorecard["model_digest"] == digest), None)
    if own_scorecard is None:
        others = (
            ", ".join(f"{scorecard['model']} ({scorecard['model_digest'][:8]})" for scorecard in scorecards) or "none"
        )
        raise InputError(
            f"{folder}: no scorecard of this model (digest {digest[:8]}); available are {others}: measure this folder"
        )
    return own_scorecard
