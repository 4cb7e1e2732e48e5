"""Archives, which readers of folders and of files tell from what is not there or not text."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology


@pytest.mark.parametrize("reader", ["omop", "snomed", "umls", "rxnorm", "loinc"])
def test_a_zip_archive_is_to_be_unpacked_first(reader: str, tmp_path: Path) -> None:
    """Catches "no such folder" for a file that is there; the archives of UMLS are called ``.nlm``."""
    for name in ("release.zip", "release.nlm"):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("CONCEPT.csv", "concept_id\n")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "release.zip").read_bytes()[:20])
    for name in ("release.zip", "release.nlm", "cut.zip"):
        with pytest.raises(InputError, match=rf"{name}: is a zip archive; unpack it and give the .*folder"):
            Terminology.read(reader, tmp_path / name)
    with pytest.raises(InputError, match=r"nowhere.zip: no such folder; expected the .*folder"):
        Terminology.read(reader, tmp_path / "nowhere.zip")


@pytest.mark.parametrize("reader", ["ncit", "icd11", "atc", "obo", "icd10cm", "icd9cm"])
def test_a_zip_archive_in_place_of_a_file_is_to_be_unpacked_first(reader: str, tmp_path: Path) -> None:
    """Catches "is not UTF-8; convert the file" for the file as it was downloaded, whatever its name."""
    for name in ("Thesaurus.FLAT.zip", "Thesaurus.txt"):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("Thesaurus.txt", "Zorb\n")
        with pytest.raises(InputError, match=rf"{name}: is a zip archive; unpack it and give the file in it"):
            Terminology.read(reader, tmp_path / name)
