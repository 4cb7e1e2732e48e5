"""A loss or a miner without a contract test is a failure here."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

from torch import nn

import st_biomed.losses
from st_biomed.losses import miners
from tests.contracts.loss_contract import LossContract
from tests.contracts.miner_contract import MinerContract

TESTS = Path(__file__).parents[1] / "losses"


def public() -> set[type]:
    """Every exported loss, and every miner that can be made."""
    exported = [getattr(st_biomed.losses, name) for name in st_biomed.losses.__all__]
    losses = {member for member in exported if inspect.isclass(member) and issubclass(member, nn.Module)}
    classes = {member for _, member in inspect.getmembers(miners, inspect.isclass)}
    return losses | {m for m in classes if issubclass(m, miners.Miner) and not inspect.isabstract(m)}


def under_contract(folder: Path) -> set[type]:
    """The losses and miners that a test class in the folder inherits the contract for."""
    found = set()
    for file in sorted(folder.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"contract_of_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, member in inspect.getmembers(module, inspect.isclass):
            if name.startswith("Test") and issubclass(member, LossContract):
                found.add(member.loss_class)
            elif name.startswith("Test") and issubclass(member, MinerContract):
                found.add(member.miner_class)
    return found


def test_every_loss_and_miner_has_a_contract():
    assert public() - under_contract(TESTS) == set()


def test_a_loss_without_a_contract_is_noticed(tmp_path):
    """Would catch a completeness test that passes whatever it finds."""
    (tmp_path / "test_nothing.py").write_text("class TestNothing: pass\n", "utf-8")
    assert public() - under_contract(tmp_path) == public() != set()


def test_every_exported_name_can_be_imported():
    for name in st_biomed.losses.__all__:
        assert getattr(st_biomed.losses, name).__name__.endswith(name)


def test_an_unknown_name_lists_those_there_are():
    """Would catch a lazy module that answers a typing error with KeyError."""
    assert not hasattr(st_biomed.losses, "MultiSimilartyLoss")
