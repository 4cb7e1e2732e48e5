"""BERGAMOT on HPO with its Spanish names: a few steps over the real graph, translations linked before and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recipes import bergamot
from st_biomed.terminology import Terminology

pytestmark = pytest.mark.realdata


def test_a_graph_of_thousands_of_concepts_in_two_languages(realdata: Path, tiny_bert_folder: Path, tmp_path: Path):
    """Catches translations that do not meet their concepts, and a graph without the parents of HPO."""
    smoke = Path(bergamot.__file__).parent / "configs" / "bergamot_smoke.yaml"
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda *parts, **_: printed.append(" ".join(map(str, parts))))
        bergamot.main(
            [
                str(smoke), "--base_model", str(tiny_bert_folder), "--output_dir", str(tmp_path / "out"),
                "--terminology", f"obograph:{realdata / 'ontologies' / 'hp.v2024-04-26.json.gz'}",
                f"babelon:{realdata / 'multilingual' / 'hpo' / 'hp-es.babelon.tsv.gz'}",
                "--pivot_language", "en", "--held_out_translations", "50", "--translated", "HP:",
            ]
        )  # fmt: skip
    trained = Terminology.load(tmp_path / "out-training" / "terminology")
    assert trained.languages == ["en", "es"] and 19_700 < trained.terms["language"].to_pylist().count("es") < 19_900
    assert f"{2 * trained.parents.num_rows:,} edges, 2 relations" in "\n".join(printed)
    results = json.loads((tmp_path / "out" / "run.json").read_text())["results"]["translations-es"]
    assert results["before"]["translations-es_n_mentions"] == results["after"]["translations-es_n_mentions"] >= 48
