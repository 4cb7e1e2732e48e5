"""A terminology in a folder: it comes back whole, replaces nothing else, and what is wrong with it is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from st_biomed import __version__
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.readers.snomed_folder import BOTH, INTERNATIONAL, NATIONAL
from tests.terminology.rhinitis import content


def test_a_saved_terminology_comes_back_whole(terminology: Terminology, tmp_path: Path) -> None:
    folder = terminology.save(tmp_path / "t")
    loaded = Terminology.load(folder, verify=True)
    assert content(loaded) == content(terminology)
    assert loaded.digest == terminology.digest
    assert loaded.stats() == terminology.stats()
    assert loaded.tallies["records"].to_dict() == terminology.tallies["records"].to_dict()


def test_saving_again_replaces_and_never_overwrites_anything_else(terminology: Terminology, tmp_path: Path) -> None:
    folder = terminology.save(tmp_path / "t")
    part = terminology.subset(languages=["it"])
    part.save(folder)
    assert Terminology.load(folder, verify=True).digest == part.digest
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="has no terminology.json"):
        terminology.save(tmp_path / "full")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        terminology.save(tmp_path / "full" / "thesis.tex")


def test_loading_names_what_is_wrong(terminology: Terminology, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; expected a folder written by"):
        Terminology.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no terminology.json in it"):
        Terminology.load(tmp_path)
    folder = terminology.save(tmp_path / "t")
    terminology.subset(languages=["it"]).save(tmp_path / "part")
    (tmp_path / "part" / "texts.parquet").replace(folder / "texts.parquet")
    with pytest.raises(InputError, match="texts.parquet: truncated"):
        Terminology.load(folder, verify=True)
    header = folder / "terminology.json"
    header.write_text(header.read_text().replace('"format": 4', '"format": 3'))
    with pytest.raises(InputError, match="format 3, this version reads 4; read or save the terminology again"):
        Terminology.load(folder)


def test_a_save_that_fails_leaves_the_old_copy_whole(
    terminology: Terminology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches half a folder left by a process that ends while it writes."""
    folder = terminology.save(tmp_path / "t")
    part = terminology.subset(languages=["it"])
    (tmp_path / ".t.draft-0123abcd").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("st_biomed.terminology.storage.pq.write_table", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            part.save(folder)
    assert Terminology.load(folder, verify=True).digest == terminology.digest
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_columns_of_distinct_values_have_no_dictionary(tmp_path: Path) -> None:
    """Catches the memory of a dictionary of ten million texts, which parquet builds and then gives up."""
    folder = Terminology.read("toy").save(tmp_path / "t")
    encoded = {}
    for path in folder.glob("*.parquet"):
        group = pq.read_metadata(path).row_group(0) if pq.read_metadata(path).num_rows else None
        for i in range(group.num_columns if group else 0):
            column = group.column(i)
            encoded[path.stem, column.path_in_schema] = column.has_dictionary_page
    assert not encoded["texts", "text"] and not encoded["concepts", "code"]
    assert encoded["terms", "language"] and encoded["parents", "source"]
    assert not any(found for (_, column), found in encoded.items() if column == "target")


def test_the_reading_is_remembered_without_folders(tmp_path: Path) -> None:
    """Catches options that nobody can look up later, and a person's folders in a file that is passed on."""
    (tmp_path / "strings.csv").write_text("code,string\nA,flu\nB,cold\n")
    (tmp_path / "map.csv").write_text("parent,child\nA,B\n")
    read = Terminology.read("parent_child", tmp_path / "map.csv", strings=str(tmp_path / "strings.csv"), name="X")
    options = {"strings": "strings.csv", "name": "X"}
    expected = [{"reader": "parent_child", "path": "map.csv", "options": options, "version": __version__}]
    loaded = Terminology.load(read.save(tmp_path / "saved"))
    assert loaded.readings == expected
    assert loaded.subset(concepts=[0]).readings == expected
    assert Terminology.merge(loaded, Terminology.read("toy", trees=1)).readings[1]["options"] == {"trees": 1}
    long = Terminology.read("parent_child", tmp_path / "strings.csv", license="long " * 60)
    assert long.readings[0]["options"] == {"license": "long " * 60}, "no path has so many characters"


@pytest.mark.parametrize("place", ["below a file", "beside a thesis"])
def test_nothing_but_a_terminology_is_replaced(terminology: Terminology, tmp_path: Path, place: str) -> None:
    """Catches somebody's own files that go with the terminology they lie beside."""
    (tmp_path / "file").write_text("x")
    if place == "below a file":
        with pytest.raises(InputError, match="file: is a file, expected a folder"):
            terminology.save(tmp_path / "file" / "deep" / "t")
        return
    folder = terminology.save(tmp_path / "t")
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"contains thesis.txt in addition to a terminology, which would be lost"):
        terminology.save(folder)
    assert (folder / "thesis.txt").read_text() == "mine"
    assert Terminology.load(folder, verify=True).digest == terminology.digest


@pytest.mark.parametrize("as_list", [False, True])
def test_no_member_of_an_option_is_remembered_with_its_folder(tmp_path: Path, as_list: bool) -> None:
    """Catches places of one's own machine in the record of editions that were read together."""
    names = (f"{folder}/{INTERNATIONAL}" for folder in ("a", "b"))
    first, second = (shutil.copytree(BOTH / INTERNATIONAL, tmp_path / name) for name in names)
    shutil.copytree(BOTH / NATIONAL, tmp_path / NATIONAL)
    also = [str(first), str(tmp_path / NATIONAL)]
    read = Terminology.read("snomed", second, also=also if as_list else ",".join(also))
    found = [INTERNATIONAL, NATIONAL]
    assert read.readings[0]["options"]["also"] == (found if as_list else ",".join(found))
