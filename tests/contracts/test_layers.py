"""Data flows one way: a module imports only layers above its own, and the top of the package is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import st_biomed

PACKAGE = Path(st_biomed.__file__).parent

DRAWING = re.search(r"```layers\n(.*?)```", (PACKAGE.parent / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
assert DRAWING
LAYERS = [line.split() for line in DRAWING[1].splitlines()]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if "_bundled" not in path.parts and path != PACKAGE / "__init__.py"
)


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """Layers of this package that a module imports anywhere, in functions and for type checking too."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("st_biomed."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "st_biomed":
            names.update(alias.name for alias in node.names if alias.name in RANK)
        elif isinstance(node, ast.Import):
            names.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("st_biomed."))
    return names


def upward(path: Path) -> list[str]:
    here = layer_of(path)
    return [name for name in imported(ast.parse(path.read_text("utf-8"))) if name != here and RANK[name] >= RANK[here]]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_imports_only_layers_above(path: Path):
    assert layer_of(path) in RANK, (
        f"{path.name} has no layer: add it to the layers of CONTRIBUTING where data reaches it"
    )
    assert upward(path) == []


def test_every_room_of_the_drawing_is_there():
    rooms = {layer_of(path) for path in MODULES}
    assert sorted(RANK) == sorted(rooms) and sum(map(len, LAYERS)) == len(RANK)


def test_the_top_level_has_few_modules():
    """Catches a new module at the top, where nobody finds it among its like."""
    assert len([path for path in PACKAGE.glob("*.py") if path.stem != "__init__"]) <= 6


def test_the_walks_of_contributing_pass_files_that_exist():
    walks = (PACKAGE.parent / "CONTRIBUTING.md").read_text("utf-8").split("## Three data paths")[1].split("\n## ")[0]
    steps = re.findall(r"`([\w/]+(?:\.py|/))`", walks)
    assert len(steps) > 20
    for step in steps:
        assert (PACKAGE / step).exists(), step


def test_an_upward_import_is_seen(tmp_path: Path):
    """Guards the guard: `from st_biomed import losses` inside a function of a reader must count."""
    assert imported(ast.parse("def f():\n    from st_biomed import losses\n")) == {"losses"}
    assert RANK["losses"] >= RANK["readers"]


@pytest.mark.long
def test_importing_the_package_is_light():
    """`import st_biomed` costs nothing that a person without torch would miss, and the lazy names still work."""
    code = (
        "import sys, st_biomed; "
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'pyarrow', 'datasets'} & set(sys.modules); "
        "assert not heavy, heavy; assert 'Terminology' in dir(st_biomed); "
        "st_biomed.Terminology; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_public_name_lists_those_there_are():
    with pytest.raises(AttributeError, match="Hierarchy, Terminology"):
        st_biomed.Terminologie  # noqa: B018
