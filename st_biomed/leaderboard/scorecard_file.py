"""``scorecard.json`` in a folder of results: the scorecards of the models that a command compared with one base."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from st_biomed.errors import InputError
from st_biomed.leaderboard.results import ResultsFolder
from st_biomed.leaderboard.seed_scorecard import RecipeData
from st_biomed.release.scorecard_data import ScorecardData
from st_biomed.release.strict_json import misfit, strict_json

FORMAT = 1


class ScorecardsData(TypedDict):
    """The content of the file."""

    format: int
    scorecards: list[ScorecardData]
    recipes: list[RecipeData]  # recipes with several seeds


def file_stem(as_published: bool) -> str:
    """Name of the files without suffix."""
    return "scorecard_as_published" if as_published else "scorecard"


def write_scorecards(
    folder: ResultsFolder, scorecards: Sequence[ScorecardData], recipes: Sequence[RecipeData], *, as_published: bool
) -> Path:
    """Write scorecards into a folder of results, replacing existing ones."""
    content = ScorecardsData(format=FORMAT, scorecards=list(scorecards), recipes=list(recipes))
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return folder.write(f"{file_stem(as_published)}.json", text)


def read_scorecards(folder: str | Path, *, as_published: bool = False) -> ScorecardsData:
    """Read the file of :func:`write_scorecards`.

    Raises:
        InputError: No such file, or a damaged one.
    """
    path = Path(folder, f"{file_stem(as_published)}.json")
    try:
        content: ScorecardsData = strict_json(path.read_text("utf-8"))
    except OSError as error:
        option = " --as-published" if as_published else ""
        raise InputError(
            f"{path}: no scorecard found ({error.strerror}); `st-biomed evaluate MODEL --scorecard{option} --output "
            f"{folder}` writes it"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: is not a file of scorecards of format {FORMAT}")
    if wrong := misfit(content, ScorecardsData):
        raise InputError(f"{path}: {wrong}")
    return content
