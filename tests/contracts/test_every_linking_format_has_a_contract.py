"""A format of linking data without a contract class fails here, by name."""

from __future__ import annotations

from pathlib import Path

from st_biomed.linking_data import linking_names
from tests.contracts.linking_contract import LinkingContract
from tests.contracts.search import contract_classes

FORMAT_TESTS = Path(__file__).parents[1] / "linking_data" / "formats"


def formats_with_a_contract(folder: Path) -> set[str]:
    """The formats that some ``LinkingContract`` in a test file of the folder names."""
    return {member.format for member in contract_classes(folder, LinkingContract)}


def test_every_linking_format_has_a_contract() -> None:
    missing = set(linking_names()) - formats_with_a_contract(FORMAT_TESTS)
    assert not missing, f"no LinkingContract in tests/linking_data/formats for: {', '.join(sorted(missing))}"


def test_a_format_without_a_contract_is_found(tmp_path: Path) -> None:
    """Catches a search that would find everything, or nothing."""
    (tmp_path / "test_tsv.py").write_text(
        "from tests.contracts.linking_contract import LinkingContract\n"
        "class TestTsv(LinkingContract):\n"
        "    format = 'tsv'\n"
        "class NoContract:\n"
        "    format = 'biosyn'\n"
    )
    assert formats_with_a_contract(tmp_path) == {"tsv"}
