"""The training sets on real terminologies, and ten names of each of NCIt's disorders by site on all-MiniLM-L6-v2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from recipes import fewshot_names
from st_biomed.few_shot.training_sets import open_training_sets
from st_biomed.settings.recipe import read_settings

CONFIG = Path(fewshot_names.__file__).parent / "configs" / "fewshot_names_open.yaml"


@pytest.mark.realdata
def test_the_chapters_have_the_size_of_the_papers(realdata: Path):
    """Fivez et al. 2021, Table 2: 21 chapters, 3,414 names on average, 40,519 at most. Catches a set without extensions."""
    recipe, _ = read_settings((fewshot_names.FewShotArguments, SentenceTransformerTrainingArguments), [str(CONFIG)])
    (chapters,) = recipe.open_training_sets()
    sizes = sorted(len(names) for names in chapters.concepts.values())
    assert (len(sizes), sum(sizes), sizes[0], sizes[-1]) == (21, 74_716, 323, 41_142)
    assert round(np.mean(sizes)) == 3558 and round(np.std(sizes, ddof=1)) == 8818
    (of_2019,) = open_training_sets(
        [f"2019=icd10cm:{realdata / 'hierarchies' / 'icd10cm2019.csv.gz'}?extensions=true"]
    )
    sizes = sorted(len(names) for names in of_2019.concepts.values())
    assert (len(sizes), sum(sizes), sizes[0], sizes[-1]) == (21, 71_932, 247, 40_570)


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
