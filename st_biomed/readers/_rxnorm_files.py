"""The files of an RxNorm release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from st_biomed.files.delimited import read_table
from st_biomed.files.gzipped import plain_name, plain_or_gzipped
from st_biomed.readers._unpacked import unpacked

_HEADERS = {
    "RXNCONSO.RRF": "RXCUI LAT TS LUI STT SUI ISPREF RXAUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
    "RXNREL.RRF": "RXCUI1 RXAUI1 STYPE1 REL RXCUI2 RXAUI2 STYPE2 RELA RUI SRUI SAB SL DIR RG SUPPRESS CVF",
    "RXNSTY.RRF": "RXCUI TUI STN STY ATUI CVF",
    "RXNSAB.RRF": (
        "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC CURVER "
        "SABIN SSN SCIT"
    ),
}


def rrf_folder(path: Path) -> Path:
    """The folder with the tables: the given one, or ``rrf`` in it.

    Raises:
        InputError: No such folder, or an archive in place of it.
    """
    unpacked(path, "folder with RXNCONSO.RRF")
    below = path / "rrf"
    return below if below.is_dir() and plain_or_gzipped(path / "RXNCONSO.RRF") is None else path


def rrf_rows(path: Path, *columns: str) -> Iterator[tuple[str, Sequence[str]]]:
    """``file:line`` and the stripped cells of each row."""
    header = _HEADERS[plain_name(path)].split()
    for line, cells in read_table(path, columns, dialect="rrf", header=header):
        yield f"{path}:{line}", [cell.strip() for cell in cells]
