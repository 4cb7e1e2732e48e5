"""Every reader and every format reads gzipped files, and those that went through Windows, as it reads the published ones."""

from __future__ import annotations

import codecs
import gzip
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from st_biomed.linking_data import LinkingDataset, linking_names, open_linking
from st_biomed.readers import reader, reader_names
from st_biomed.records import Record, Rows, SourceInfo, Tally
from tests.contracts.linking_contract import LinkingContract
from tests.contracts.reader_contract import ReaderContract
from tests.contracts.search import contract_classes

TESTS = Path(__file__).parents[1]
WITHOUT_FILES = {"toy"}
READERS = [contract for contract in contract_classes(TESTS / "readers", ReaderContract) if contract.path is not None]
FORMATS = contract_classes(TESTS / "linking_data" / "formats", LinkingContract)


def gzipped(file: Path) -> None:
    file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()


def with_carriage_returns(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def with_a_byte_order_mark(file: Path) -> None:
    data = file.read_bytes()
    with suppress(UnicodeDecodeError):  # of a file in a code page it would be a lie
        data = codecs.BOM_UTF8 + data.decode().encode()
    file.write_bytes(data)


IN_A_CODE_PAGE = {"askapatient"}
"""Formats whose publisher says that the files are in another encoding than UTF-8."""


WAYS = {"gzip": gzipped, "CRLF": with_carriage_returns, "BOM": with_a_byte_order_mark}
"""What happens to files on their way to a person."""


def copied(way: str, path: Path, folder: Path) -> Path:
    """A copy of a file or a folder, every file of which went this way."""
    copy = Path(shutil.copytree(path, folder / path.name) if path.is_dir() else shutil.copy(path, folder / path.name))
    for file in [file for file in copy.rglob("*") if file.is_file()] if copy.is_dir() else [copy]:
        WAYS[way](file)
    return copy if copy.exists() else copy.with_name(f"{copy.name}.gz")


def read(name: str, path: Path, options: dict[str, Any]) -> tuple[list[Record], dict[str, Any]]:
    tally = Tally()
    found: list[Record] = []
    for record in reader(name).records(path, tally=tally, **options):
        found.extend(record.one_by_one() if isinstance(record, Rows) else [record])
    return found, tally.to_dict()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("contract", READERS, ids=lambda contract: f"{contract.reader}-{contract.__name__}")
def test_a_reader_reads_them_alike(contract: type[ReaderContract], way: str, tmp_path: Path) -> None:
    """Catches a file that is looked for without ``.gz``, a carriage return in a name, a mark in the first column."""
    options = {
        name: copied(way, value, tmp_path) if isinstance(value, Path) else value
        for name, value in contract.options.items()
    }
    assert contract.path is not None
    found = read(contract.reader, copied(way, contract.path, tmp_path), options)
    published = read(contract.reader, contract.path, contract.options)
    if contract.reader == "parent_child" and way != "gzip":  # whose version is made of the bytes
        found, published = (
            ([record for record in got if not isinstance(record, SourceInfo)], n) for got, n in (found, published)
        )
    assert found == published


def test_every_reader_is_among_them() -> None:
    assert {contract.reader for contract in READERS} == set(reader_names()) - WITHOUT_FILES


def opened(contract: type[LinkingContract], path: Path, dictionary: Path | None) -> LinkingDataset:
    return open_linking(contract.format, path, dictionary=dictionary, **contract.options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("contract", FORMATS, ids=lambda contract: f"{contract.format}-{contract.__name__}")
def test_a_format_reads_them_alike(contract: type[LinkingContract], way: str, tmp_path: Path) -> None:
    """Catches a corpus, a text beside it or a dictionary that is looked for without ``.gz``, or is read with its marks."""
    if way == "BOM" and contract.format in IN_A_CODE_PAGE:
        pytest.skip("a mark of UTF-8 on files that are in a code page is refused")
    given = contract().dictionary_path()
    plain = opened(contract, contract.path, None if given is None else Path(given))
    (tmp_path / "dictionary").mkdir()
    dictionary = None if given is None else copied(way, Path(given), tmp_path / "dictionary")
    found = opened(contract, copied(way, contract.path, tmp_path), dictionary)
    assert found.mentions == plain.mentions
    # Where offsets count the line ends of a text, they stay in it.
    assert {name: text.replace("\r", "") for name, text in found.documents.items()} == plain.documents
    assert found.dictionary.digest == plain.dictionary.digest
    assert {name: tally.to_dict() for name, tally in found.tallies.items()} == {
        name: tally.to_dict() for name, tally in plain.tallies.items()
    }


def test_every_format_is_among_them() -> None:
    assert {contract.format for contract in FORMATS} == set(linking_names())
