"""Where the corpus finds files and folders, and proof that nothing was loaded."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import pytest

Words = Callable[[str], list[str]]


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Words:
    """The words of a line of the corpus, its places filled in.

    ``{file}`` is a file, ``{folder}`` an empty folder, ``{pipe}`` a pipe, ``{missing}`` a path where nothing is,
    ``{long}`` a name longer than a file system takes, and ``{new}`` a path to write to.
    """
    root = tmp_path_factory.mktemp("bad_options")
    (root / "text.txt").write_text("words\n")
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    places = {
        "{file}": root / "text.txt",
        "{folder}": root / "folder",
        "{pipe}": root / "pipe",
        "{missing}": root / "missing",
        "{new}": root / "new",
        "{long}": "a" * 300,
    }

    def fill(line: str) -> list[str]:
        for name, place in places.items():
            line = line.replace(name, str(place))
        return shlex.split(line)

    return fill


@pytest.fixture
def nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terminologies, encoders, graphs and indices refuse to be read."""
    import transformers
    from sentence_transformers import SentenceTransformer

    from st_biomed.kge import KnowledgeGraph, TrainedKGE
    from st_biomed.linking import ConceptIndex
    from st_biomed.terminology import Terminology

    def loaded(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something was loaded before the option was refused")

    doors: dict[Any, tuple[str, ...]] = {
        Terminology: ("open", "read", "load", "merge"),
        SentenceTransformer: ("__init__",),
        transformers.AutoModelForMaskedLM: ("from_pretrained",),
        transformers.AutoTokenizer: ("from_pretrained",),
        KnowledgeGraph: ("open", "load"),
        TrainedKGE: ("load",),
        ConceptIndex: ("build", "load"),
    }
    for owner, names in doors.items():
        for name in names:
            monkeypatch.setattr(owner, name, loaded)


@pytest.fixture(scope="session")
def command() -> Any:
    """The command line, made once: typer makes all of it for every call."""
    import typer

    from st_biomed.cli import app

    return typer.main.get_command(app)


@pytest.fixture
def one_line(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run what has to end in one line and exit code 2, and return the line."""

    def check(run: Callable[[], object]) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capsys.readouterr()
        lines = [line for line in err.splitlines() if not line.startswith("[transformers] ")]
        assert (end.value.code, out, len(lines)) == (2, "", 1), (out, err)
        assert lines[0].startswith("error: ") and len(lines[0]) < 700
        return lines[0]

    return check


@pytest.fixture
def refused(one_line: Callable[..., str]) -> Callable[..., str]:
    """Run a recipe with arguments; its one line."""
    from importlib import import_module

    from st_biomed.settings.recipe import run_recipe

    return lambda recipe, *argv: one_line(lambda: run_recipe(lambda: import_module(f"recipes.{recipe}").main([*argv])))


@pytest.fixture
def verb_refused(one_line: Callable[..., str], command: Any) -> Callable[..., str]:
    """Run a verb with arguments; its one line."""
    return lambda *argv: one_line(lambda: command([*argv], prog_name="st-biomed"))
