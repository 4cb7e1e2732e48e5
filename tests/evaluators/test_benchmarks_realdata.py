"""The benchmarks that come along, on the real files where they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.evaluators.benchmark import Benchmark, benchmark_names
from st_biomed.evaluators.data_folder import DATA_VARIABLE

SIZES = {
    "clustering_doid": {"n_terms": 29_437, "n_gold_pairs": 42_883},
    "mayosrs": {"n_pairs": 101, "n_missing": 0},
    "minimayosrs": {"n_pairs": 29, "n_missing": 0},
    "pedersen2007": {"n_pairs": 30, "n_missing": 0},
    "hliaoutakis2005": {"n_pairs": 35, "n_missing": 1},
    "umnsrs_relatedness": {"n_pairs": 587, "n_missing": 0},
    "umnsrs_relatedness_modified": {"n_pairs": 458, "n_missing": 0},
    "umnsrs_similarity": {"n_pairs": 566, "n_missing": 0},
    "umnsrs_similarity_modified": {"n_pairs": 449, "n_missing": 0},
    "phecode_icd_tree": {"pairs": {"0": 1180, "1": 1180, "2": 1180, "3": 1180}},
    "phecode_icd_tree_siblings": {"pairs": {"0": 1180, "1": 1180, "2": 1180, "3": 1180}},
    "mcsm_hpo": {"n_types": 22},
    "relations_ncit": {"n_groups": 26, "resampling": "relations and pairs"},  # of 28: two have near inverses
    "mcsm_doid": {"n_concepts": 11_492, "n_types": 8},
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", sorted(benchmark_names()))
def test_its_evaluators_can_be_made(name: str, realdata: Path, monkeypatch: pytest.MonkeyPatch):
    """Would catch a path, a column, an option or a code that is not in the real file, and sizes that drift."""
    monkeypatch.setenv(DATA_VARIABLE, str(realdata))
    benchmark = Benchmark.read(name)
    if missing := benchmark.missing():
        pytest.skip(f"the data of {name} are not there: {', '.join(missing)}")
    evaluators = benchmark.evaluator_settings().evaluators(n_bootstrap=0)
    assert evaluators
    for evaluator in evaluators:
        config = evaluator.get_config_dict()
        assert any(key.endswith("sha256") for key in config)
        assert {key: config[key] for key in SIZES.get(name, {})} == SIZES.get(name, {})
