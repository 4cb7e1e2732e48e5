"""brat standoff files: what is not one annotation for each id is refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data.brat import read_brat


def test_a_repeated_entity_id_is_refused(tmp_path: Path) -> None:
    """Catches the first of two entities, lost without a word, and its notes on the second."""
    (tmp_path / "a.txt").write_text("zorb and flumpa")
    lines = ["T1\tDISO 0 4\tzorb", "#1\tAnnotatorNotes T1\tX1", "T2\tDISO 9 15\tflumpa", "#2\tAnnotatorNotes T2\tX2"]
    (tmp_path / "a.ann").write_text("\n".join(lines))
    (document,) = read_brat(tmp_path)
    assert [(entity.text, entity.notes) for entity in document.entities] == [("zorb", ["X1"]), ("flumpa", ["X2"])]
    (tmp_path / "a.ann").write_text("\n".join(lines).replace("T2", "T1"))
    with pytest.raises(InputError, match=r"a\.ann:3: entity T1 is listed twice, expected one line for each id$"):
        list(read_brat(tmp_path))
