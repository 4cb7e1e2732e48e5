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


def test_a_last_row_without_a_line_break_is_kept_if_it_is_whole(tmp_path):
    """Would catch a row that an editor left without its line break, and half a row that would be joined to the next."""
    file = tmp_path / "results.csv"
    file.write_text("epoch,auc\n1,0.5\n2,0.75")
    append_row(file, {"epoch": 3, "auc": 0.25})
    assert file.read_text() == "epoch,auc\n1,0.5\n2,0.75\n3,0.25\n"
    file.write_text("epoch,auc\n1,0.5\n2")
    append_row(file, {"epoch": 3, "auc": 0.25})
    assert file.read_text() == "epoch,auc\n1,0.5\n3,0.25\n"
