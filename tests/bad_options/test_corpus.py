"""What a person may write wrongly, over all recipes and verbs: one line, exit code 2, and nothing loaded before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_options.encoder_options import ENCODER
from tests.bad_options.recipe_options import RECIPES
from tests.bad_options.settings_files import SETTINGS
from tests.bad_options.shared_options import SHARED
from tests.bad_options.verb_options import VERBS

pytestmark = pytest.mark.usefixtures("nothing_is_loaded")


@pytest.mark.parametrize(("recipe", "line", "says"), [*SHARED, *ENCODER, *RECIPES], ids=lambda value: str(value)[:50])
def test_an_argument_of_a_recipe(recipe: str, line: str, says: str, words, refused: Callable[..., str]):
    """Catches a traceback, a run that trains on nonsense, and minutes of reading before the mistake is said."""
    assert says.lower() in refused(recipe, *words(line)).lower()


@pytest.mark.parametrize(("name", "content", "says"), SETTINGS, ids=lambda value: str(value)[:50])
def test_a_settings_file(name: str, content: bytes, says: str, tmp_path: Path, refused: Callable[..., str]):
    """Catches a file that breaks the YAML library, and one that is read as something else than it says."""
    (tmp_path / "settings.yaml").write_bytes(content)
    assert says in refused("sapbert", str(tmp_path / "settings.yaml"))


@pytest.mark.parametrize(("verb", "line", "says"), VERBS, ids=lambda value: str(value)[:50])
def test_an_option_of_a_verb(verb: str, line: str, says: str, words, verb_refused: Callable[..., str]):
    """As of a recipe; click's own errors, which take three lines, among them."""
    (expected,) = words(says) if says.startswith("{") else (says,)
    assert expected.lower() in verb_refused(*verb.split(), *words(line)).lower()


def test_the_corpus_is_of_all_recipes_and_verbs():
    """A recipe or verb without a bad option in the corpus fails here."""
    import typer

    from st_biomed.cli import app

    recipes = {path.stem for path in (Path(__file__).parents[2] / "recipes").glob("[!_]*.py")}
    assert {recipe for recipe, _, _ in [*SHARED, *ENCODER, *RECIPES]} == recipes
    groups = {str(group.name): group.typer_instance or typer.Typer() for group in app.registered_groups}
    verbs = {str(command.name) for command in app.registered_commands}
    verbs |= {f"{name} {command.name}" for name, group in groups.items() for command in group.registered_commands}
    assert verbs <= {verb for verb, _, _ in VERBS}
    assert len(SHARED) + len(RECIPES) + len(SETTINGS) + len(VERBS) >= 95
