"""Rows of measurements in a CSV file."""

from __future__ import annotations

from st_biomed.evaluators.csv_rows import append_row


def test_rows_are_not_appended_under_another_header(tmp_path, caplog):
    """Would catch a CSV file whose rows belong to different columns."""
    append_row(tmp_path / "results.csv", {"epoch": 1, "auc": 0.5})
    for f1 in (0.5, 0.75):
        append_row(tmp_path / "results.csv", {"epoch": 1, "f1": f1})
    assert (tmp_path / "results.csv").read_text() == "epoch,auc\n1,0.5\n"
    assert (tmp_path / "results.1.csv").read_text() == "epoch,f1\n1,0.5\n1,0.75\n"
    assert "has other columns (-auc, +f1); the row goes to results.1.csv" in caplog.text
