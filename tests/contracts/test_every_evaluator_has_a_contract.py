"""An evaluator without a contract test is a failure here."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from pathlib import Path

import st_biomed.evaluators
from st_biomed.evaluators import EmbeddingEvaluator
from tests.contracts.evaluator_contract import EvaluatorContract

TESTS = Path(__file__).parents[1] / "evaluators"


def evaluators() -> set[type[EmbeddingEvaluator]]:
    """Every evaluator defined in the package, exported or not."""
    folder = st_biomed.evaluators
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}.")
    ]
    classes = {member for module in modules for _, member in inspect.getmembers(module, inspect.isclass)}
    return {member for member in classes if issubclass(member, EmbeddingEvaluator) and not inspect.isabstract(member)}


def under_contract(folder: Path) -> set[type[EmbeddingEvaluator]]:
    """The evaluators that a test class in the folder inherits the contract for."""
    found = set()
    for file in sorted(folder.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"contract_of_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, member in inspect.getmembers(module, inspect.isclass):
            if name.startswith("Test") and issubclass(member, EvaluatorContract):
                found.add(member.evaluator_class)
    return found


def test_every_evaluator_has_a_contract():
    assert evaluators() - under_contract(TESTS) == set()


def test_every_evaluator_is_exported():
    assert {member.__name__ for member in evaluators()} <= set(st_biomed.evaluators.__all__)


def test_an_evaluator_without_a_contract_is_noticed(tmp_path):
    """Would catch a completeness test that passes whatever it finds."""
    (tmp_path / "test_nothing.py").write_text("class TestNothing: pass\n", "utf-8")
    assert evaluators() - under_contract(tmp_path) == evaluators() != set()


def test_every_exported_name_can_be_imported():
    for name in st_biomed.evaluators.__all__:
        assert getattr(st_biomed.evaluators, name).__name__ == name
