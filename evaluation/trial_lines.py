"""The trials of a file that wait, and the lines of those that were measured."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from st_biomed.errors import InputError, shown
from st_biomed.files import replace_text
from st_biomed.settings.declared_types import fits
from st_biomed.settings.yaml_files import read_yaml


class Turn(NamedTuple):
    """Which trials a process takes: those whose position in the file has this remainder."""

    place: int = 0
    of: int = 1


ALL = Turn()


def next_trial(
    trials: Path, results: Path, turn: Turn = ALL, made_of: Callable[[str, dict[str, Any]], str] = lambda *_: ""
) -> tuple[str, dict[str, Any], list[float]] | None:
    """The first trial of a process with shares that have no line of what it is made of now, and these shares.

    Raises:
        InputError: A trial of another form.
    """
    for place, (name, trial) in enumerate(read_yaml(trials).items()):
        check_form(trials, name, trial)
        if place % turn.of != turn.place:
            continue
        if left := left_of(results, name, trial, made_of(name, trial)):
            return name, trial, left
    return None


def check_form(trials: Path, name: str, trial: Any) -> None:
    """Reject an entry of another form.

    Raises:
        InputError: With the file and the entry.
    """
    kinds = list(trial) if isinstance(trial, dict) else []
    if kinds not in (["arguments"], ["mix"], ["removed"]) and set(kinds) != {"arguments", "shares"}:
        raise InputError(f"{trials}: {name}: expected arguments (with shares), mix or removed, found {trial!r}")
    shares = trial.get("shares", [1.0])
    if not (isinstance(shares, list) and shares and all(_is_share(share) for share in shares)):
        raise InputError(f"{trials}: {name}: expected shares from 0 to 1 in a list, found {shares!r}")
    mix = trial.get("mix", {"": 1.0})
    if not (isinstance(mix, dict) and all(isinstance(part, str) and _is_share(mix[part]) for part in mix)):
        raise InputError(f"{trials}: {name}: expected a share of each trial or folder in mix, found {mix!r}")


def _is_share(value: Any) -> bool:
    return fits(value, float) and 0 <= value <= 1


def check_mixes(trials: Path) -> None:
    """Reject a mix of what is no trained trial above it and no folder, and of shares that no average has.

    Raises:
        InputError: With the file and the mix.
    """
    above: set[str] = set()
    for name, trial in read_yaml(trials).items():
        check_form(trials, name, trial)
        shares = trial.get("mix", {})
        for part in shares:
            if part not in above and not Path(part).is_dir():
                raise InputError(
                    f"{trials}: {name}: expected trained trials above it and folders of models in mix, found {part}"
                )
        if "mix" in trial and not (shares and min(shares.values()) > 0 and sum(shares.values()) <= 1 + 1e-6):
            raise InputError(f"{trials}: {name}: expected shares above 0 that add up to 1 or less, found {shares}")
        if "arguments" in trial:  # others leave no weights
            above.add(name)


def left_of(results: Path, name: str, trial: dict[str, Any], made_of: str) -> list[float]:
    """The shares of a trial that have no line of what it is made of."""
    shares = [0.0] if "removed" in trial or not trial else trial.get("shares", [1.0])
    lines = lines_of(results)
    made = {share: json.loads(lines[name, share]).get("made_of") for share in shares if (name, share) in lines}
    return [share for share in shares if made.get(share) != made_of]


def is_seed(text: str) -> bool:
    """Whether a text is a seed as a number is written, so that the name of its model can be written again."""
    return text.isdecimal() and text == str(int(text))


def lines_of(results: Path) -> dict[tuple[str, float], str]:
    """Trial and share to its line; a line that was cut off is none."""
    lines = results.read_text("utf-8").splitlines(keepends=True) if results.is_file() else []
    found = {}
    for number, line in enumerate(lines, 1):
        if line.endswith("\n"):
            try:
                content = json.loads(line)
                found[str(content["trial"]), float(content["share"])] = line
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{results}:{number}: expected a line of a trial, found {shown(line.strip())}; give a folder of results as such"
                ) from error
    return found


def write(
    results: Path, trial: str, share: float, figures: dict[str, float], made_of: str = "", *, common: str = ""
) -> None:
    """Append and print a line; an earlier one of the trial and share goes.

    Args:
        made_of: Checksum of all that decides the figures.
        common: Checksum of what all trials of a file have in common.
    """
    now = time.strftime("%H:%M:%S")
    line = json.dumps({"trial": trial, "share": share, **figures, "time": now, "made_of": made_of, "common": common})
    with FileLock(results.with_suffix(".lock")):
        others = [other for key, other in lines_of(results).items() if key != (trial, share)]
        replace_text(results, "".join([*others, line + "\n"]))
    print(line, flush=True)
