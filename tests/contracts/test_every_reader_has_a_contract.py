"""A reader without a contract class fails here, by name."""

from __future__ import annotations

from pathlib import Path

from st_biomed.readers import reader_names
from tests.contracts.reader_contract import ReaderContract
from tests.contracts.search import contract_classes

READER_TESTS = Path(__file__).parents[1] / "readers"


def readers_with_a_contract(folder: Path) -> set[str]:
    """The readers that some ``ReaderContract`` in a test file of the folder names."""
    return {member.reader for member in contract_classes(folder, ReaderContract)}


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
