"""A reader without a contract class fails here, by name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from st_biomed.readers import reader_names
from tests.contracts.reader_contract import ReaderContract

READER_TESTS = Path(__file__).parents[1] / "readers"


def readers_with_a_contract(folder: Path) -> set[str]:
    """The readers that some ``ReaderContract`` in a test file of the folder names."""
    found = set()
    for file in sorted(folder.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"contract_search_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= {
            member.reader
            for member in vars(module).values()
            if isinstance(member, type) and issubclass(member, ReaderContract) and member is not ReaderContract
        }
    return found


def test_every_reader_has_a_contract() -> None:
    missing = set(reader_names()) - readers_with_a_contract(READER_TESTS)
    assert not missing, f"no ReaderContract in tests/readers for: {', '.join(sorted(missing))}"


def test_a_reader_without_a_contract_is_found(tmp_path: Path) -> None:
    """Catches a search that would find everything, or nothing."""
    (tmp_path / "test_toy.py").write_text(
        "from tests.contracts.reader_contract import ReaderContract\n"
        "class TestToy(ReaderContract):\n"
        "    reader = 'toy'\n"
        "class NoContract:\n"
        "    reader = 'icd10cm'\n"
    )
    assert readers_with_a_contract(tmp_path) == {"toy"}
