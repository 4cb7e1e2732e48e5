"""The invented ontology as an OBO flat file."""

from __future__ import annotations

from pathlib import Path

from st_biomed.readers import obo
from st_biomed.records import Record, Tally
from tests.contracts.reader_contract import FIXTURES

ZORB = FIXTURES / "zorb.obo"


def read(path: Path = ZORB, **options: object) -> tuple[list[Record], Tally]:
    tally = Tally()
    return list(obo.records(path, tally=tally, **options)), tally
