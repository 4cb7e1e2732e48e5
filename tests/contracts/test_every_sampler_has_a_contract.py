"""A batch sampler without a contract test is a failure here."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

from torch.utils.data import BatchSampler

import st_biomed.samplers
from tests.contracts.batch_contract import BatchContract

TESTS = Path(__file__).parents[1] / "samplers"


def samplers() -> set[type]:
    """Every exported batch sampler."""
    members = [getattr(st_biomed.samplers, name) for name in st_biomed.samplers.__all__]
    return {member for member in members if inspect.isclass(member) and issubclass(member, BatchSampler)}


def under_contract(folder: Path) -> set[type]:
    """The samplers that a test class in the folder inherits the contract for."""
    found = set()
    for file in sorted(folder.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"contract_of_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, member in inspect.getmembers(module, inspect.isclass):
            if name.startswith("Test") and issubclass(member, BatchContract):
                found.add(member.sampler_class)
    return found


def test_every_sampler_has_a_contract():
    assert samplers() - under_contract(TESTS) == set()


def test_a_sampler_without_a_contract_is_noticed(tmp_path):
    """Would catch a completeness test that passes whatever it finds."""
    (tmp_path / "test_nothing.py").write_text("class TestNothing: pass\n", "utf-8")
    assert samplers() - under_contract(tmp_path) == samplers() != set()
