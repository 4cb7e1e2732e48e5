"""Finding the test classes that take on a contract, for the tests that nobody is without one."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def contract_classes(folder: Path, contract: type) -> list[type]:
    """The classes in the test files of a folder that inherit a contract."""
    found = []
    for file in sorted(folder.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"contract_search_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found += [
            member
            for member in vars(module).values()
            if isinstance(member, type) and issubclass(member, contract) and member is not contract
        ]
    return found
