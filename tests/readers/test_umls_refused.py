"""UMLS: broken lines, wrong options, missing files and damage end in one line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from st_biomed.errors import InputError
from tests.readers.mutations import check_survives, mutated
from tests.readers.umls_folder import META, change, read


@pytest.mark.parametrize(
    ("file", "line", "old", "new", "message"),
    [
        ("MRCONSO", 3, "|ENG", "", r"MRCONSO.RRF:3: 17 cells, expected 18 separated by pipes"),
        ("MRCONSO", 5, "|N||", "|N|", r"MRCONSO.RRF:5: 17 cells, expected 18"),
        ("MRCONSO", 2, "|N||", "|N||x", r"MRCONSO.RRF:2: 19 cells and no pipe at the end, expected 18"),
        ("MRCONSO", 4, "Mimpic", "Mimp\xe8c", r"MRCONSO.RRF:4: is not UTF-8"),
        ("MRCONSO", 6, "C9900001", "D9900001", r"MRCONSO.RRF:6: 'D9900001' is not a concept identifier"),
        ("MRREL", 7, "C9900008", "C990", r"MRREL.RRF:7: 'C990' is not a concept identifier"),
        ("MRSTY", 2, "|T033", "", r"MRSTY.RRF:2: 5 cells, expected 6"),
        ("MRDEF", 6, "|S1", "", r"MRDEF.RRF:6: 7 cells, expected 8"),
        ("MRDEF", 3, "C9900001", "C99", r"MRDEF.RRF:3: 'C99' is not a concept identifier"),
    ],
)
def test_a_broken_line_is_named(file: str, line: int, old: str, new: str, message: str, tmp_path: Path):
    shutil.copytree(META, tmp_path / "meta")
    change(tmp_path / "meta" / f"{file}.RRF", line, old, new)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "meta")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "sapbirt"}, "unknown preset of reader 'umls' 'sapbirt'.*did you mean 'sapbert'"),
        ({"normalizer": "lowr"}, "unknown normalizer 'lowr'.*did you mean 'lower'"),
        ({"relations": "every"}, "unknown relations"),
        ({"languages": ["ENGL"]}, "unknown value of option languages.*'ENGL'.*did you mean 'ENG'"),
        ({"semantic_groups": ["DISEASE"]}, "unknown semantic group 'DISEASE'"),
        ({"concepts": ["flumpa"]}, "concepts of reader 'umls': 'flumpa' is not a concept identifier"),
        ({"concepts": "nowhere.txt"}, "nowhere.txt: no such file"),
    ],
)
def test_a_wrong_option_is_one_line(options: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        read(**options)


def test_a_folder_without_the_files_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="no MRCONSO.RRF in it"):
        read(tmp_path)
    with pytest.raises(InputError, match="expected the META folder with MRCONSO.RRF"):
        read(META / "MRCONSO.RRF")
    shutil.copytree(META, tmp_path / "meta")
    (tmp_path / "meta" / "MRDOC.RRF").unlink()
    with pytest.raises(InputError, match=r"no MRDOC.RRF in it, which inverses=false needs"):
        read(tmp_path / "meta", inverses=False)
    shutil.copy(META / "MRCONSO.RRF", tmp_path / "meta" / "MRCONSO.RRF.aa")
    with pytest.raises(InputError, match="MRCONSO.RRF exists twice"):
        read(tmp_path / "meta")
    (tmp_path / "meta" / "MRCONSO.RRF").unlink()
    (tmp_path / "meta" / "MRCONSO.RRF.aa").rename(tmp_path / "meta" / "MRCONSO.RRF.gz")
    with pytest.raises(InputError, match=r"MRCONSO.RRF.gz: is not a complete gzip file"):
        read(tmp_path / "meta")


@pytest.mark.long
@pytest.mark.parametrize("name", ["MRCONSO", "MRREL", "MRSTY", "MRCUI", "MRDEF", "MRSAB", "MRFILES"])
@settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_damage_ends_in_a_traceback(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("meta")
    for path in META.iterdir():
        if path.stem in (
            name,
            "MRCONSO",
            "MRREL",
            "MRSTY",
            "MRCUI",
            "MRDEF",
            "MRSAB",
        ):  # MRFILES would notice a lost row first
            shutil.copy(path, folder)
    damaged = data.draw(mutated((META / f"{name}.RRF").read_bytes(), separator=b"|"))
    (folder / f"{name}.RRF").write_bytes(damaged)
    check_survives("umls", folder, trade_names=True, normalizer="coder")
