"""Ten names of each of NCIt's disorders by site, on all-MiniLM-L6-v2: what evaluation/results/fewshot_open.md has five draws of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipes import fewshot_names

CONFIG = Path(fewshot_names.__file__).parent / "configs" / "fewshot_names_open.yaml"


@pytest.mark.realdata
def test_ten_names_of_ncits_disorders_make_relatedness_better(
    realdata: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """MayoSRS .538 (deviation .014) against .452 of the input; the nearest prototype .763 (.027) against .705."""
    monkeypatch.setenv("ST_BIOMED_DATA", str(realdata))
    source = realdata / "ontologies" / "ncit-disease-2018-06-08.json.gz"
    fewshot_names.main(
        [
            str(CONFIG), "--training_sets", f"NCIt=obograph:{source}#NCIT:C27551", "--leave_out", "NCIT:C35126",
            "--shots", "10", "--seeds", "0", "--release", "NCIt", "--benchmarks", "mayosrs", "--output_dir", str(tmp_path / "out"),
        ]
    )  # fmt: skip
    results = json.loads((tmp_path / "out-training" / "results.json").read_text("utf-8"))
    (run,) = results["runs"]
    assert results["base"]["mayosrs"]["mayosrs_spearman"] == pytest.approx(0.452, abs=0.005)
    assert 0.49 < run["results"]["mayosrs"]["mayosrs_spearman"] < 0.59
    before, after = run["prototype_accuracies"]
    assert 0.66 < before < 0.75 and after > before + 0.02
    assert "15    10,100" in capsys.readouterr().out
