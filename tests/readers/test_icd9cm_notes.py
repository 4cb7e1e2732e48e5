"""Notes of ICD-9-CM, English and Italian: where a list ends, which lines belong together, and what is written for coders."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.terminology import Terminology
from tests.readers.icd9cm_files import NODES, names


def english(folder: Path, *lines: str) -> list[str]:
    """The names of one code of a tabular list with these notes, besides its title."""
    text = "\n".join(["1. FLUMPA DISEASES (280-289)", "286\tFlumpa infection", *lines, ""])
    (folder / "tabular.txt").write_text(text, "utf-8")
    return names(Terminology.read("icd9cm", folder / "tabular.txt"), "ICD9CM:286")[1:]


def italian(folder: Path, *lines: str) -> list[str]:
    """The names of one code of the Italian tree with these notes, besides its title, in the order of the file."""
    rows = ["1\t0\t0\tdiagnosi\tCH1\tMALATTIE (240-279)\t", "2\t1\t0\tdiagnosi\t250\tGradtosi\t" + r"\n".join(lines)]
    (folder / "tree.tsv").write_text(NODES + "\n".join(rows) + "\n", "utf-8")
    return names(Terminology.read("icd9cm", folder / "tree.tsv"), "ICD9CM:250")[1:]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ("NOS", "A", "mimpic", "terkic", "Subflumpia"),
            ["Flumpia A", "Flumpia NOS", "Flumpia mimpic", "Flumpia terkic"],
        ),
        (("21 or 22", "G"), ["Flumpia 21 or 22", "Flumpia G"]),
        (("NOS", "Mimpi's", "mitis"), ["Flumpia Mimpi's", "Flumpia NOS", "Flumpia mitis"]),
        (("NOS", "Vulgaris", "Warts of flumpa"), ["Flumpia NOS", "Flumpia Vulgaris"]),
        (("mimpic", "Terkia"), ["Flumpia mimpic"]),
        (("Mimpus", "Terkus", "Gradthus"), ["Flumpia Mimpus", "Flumpia Terkus"]),
    ],
)
def test_a_list_holds_its_items_and_no_more(tmp_path: Path, lines: tuple[str, ...], found: list[str]) -> None:
    """Catches "A" and "mimpic" as names of their own behind a first item "NOS", and "Flumpia Subflumpia"."""
    assert [name for name in english(tmp_path, "Flumpia:", *lines) if name.startswith("Flumpia")] == found


def test_lower_case_outside_of_a_list_is_no_name_unless_written_so(tmp_path: Path) -> None:
    """Catches "septic" as the name of a disease, and "von Flumpa's disease", "vFLD" or "thio-FLUMPA" lost."""
    lines = ("Flumpia:", "mimpic", "Gradthia", "septic", "von Flumpa's disease", "vFLD", "thio-FLUMPA")
    assert english(tmp_path, *lines) == ["Flumpia mimpic", "Gradthia", "thio-FLUMPA", "vFLD", "von Flumpa's disease"]
    dropped = Terminology.read("icd9cm", tmp_path / "tabular.txt").tallies["icd9cm rows"].dropped
    assert dropped["lines in lower case, which go on from a title or another line"] == 1


def test_included_terms_are_written_in_lower_case(tmp_path: Path) -> None:
    """Catches all "includes" notes dropped as fragments."""
    assert english(tmp_path, "Includes:\tmimpic flumpa", "terkic flumpa") == ["mimpic flumpa", "terkic flumpa"]


def test_digits_of_english_notes_are_no_names(tmp_path: Path) -> None:
    """Catches "Use 0 as fourth digit" and "0 unspecified" as names of a disease."""
    digits = ("Requires following fifth digit to identify stage:", "0 unspecified", "1 incomplete", "Flumpia")
    assert english(tmp_path, "Use 0 as fourth digit for category 286", *digits) == ["Flumpia"]


def test_items_one_column_right_of_the_first_are_items(tmp_path: Path) -> None:
    """Catches a whole list behind "Incl.:" glued into one name, and a wrapped line as an item."""
    assert italian(
        tmp_path,
        "    Incl.: mimpite (acuta)",
        "            terchite:",
        "               destra",
        "               sinistra",
        "            pruglemia della flumpa e",
        "               della gradta",
    ) == ["mimpite (acuta)", "pruglemia della flumpa e della gradta", "terchite destra", "terchite sinistra"]


def test_lines_two_columns_right_continue_the_first(tmp_path: Path) -> None:
    """Catches the second half of a long inclusion term as a name."""
    lines = ("    Incl.: mimpite, non classificata", "             altrove", "           terchite")
    assert italian(tmp_path, *lines) == ["mimpite, non classificata altrove", "terchite"]


def test_a_list_whose_head_lacks_its_colon_is_a_list(tmp_path: Path) -> None:
    """Catches "della gradta" as the name of an ulcer."""
    lines = ("    Incl : ulcera (mimpica)", "            della gradta", "            pregradtica")
    assert italian(tmp_path, *lines) == ["ulcera (mimpica) della gradta", "ulcera (mimpica) pregradtica"]


@pytest.mark.parametrize(
    "lines",
    [
        ("    È necessario usare una quinta cifra con la categoria", "       250 per indicare:", "       0 destra"),
        ("    Con i codici della categoria 250 e necessario usare", "      la cifra che segue:", "      0 destra"),
        ("    Nella categoria 250 deve essere utilizzata la quinta", "      cifra per indicare:", "      0 destra"),
        ("    La seguente sottoclassificazione a quattro cifre va usata:", "       1 destra", "       2 sinistra"),
        ("    0 - Prima visita", "            Assegnare come quinto carattere 0 se e la prima"),
        ("    Richiede un codice aggiuntivo per la gradta (900.1)",),
        ("    Altri", "       Codificare per prima la gradta"),
    ],
)
def test_instructions_within_an_italian_note_are_no_names(tmp_path: Path, lines: tuple[str, ...]) -> None:
    """Catches how to choose a fifth digit as the name of a disease, once for each digit."""
    assert italian(tmp_path, *lines, "    Terchite") == ["Terchite"]
    dropped = Terminology.read("icd9cm", tmp_path / "tree.tsv").tallies["icd9cm rows"].dropped
    assert dropped["notes to the coder"] >= 1
