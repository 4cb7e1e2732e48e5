"""evaluation/data.yaml says where every file of a committed result is from."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from evaluation.fetch import check
from st_biomed.evaluators.benchmark import Benchmark, benchmark_names
from st_biomed.settings.yaml_files import read_yaml
from st_biomed.terminology.union_plan import UnionPlan

EVALUATION = Path(__file__).parents[2] / "evaluation"
FILES = read_yaml(EVALUATION / "data.yaml")
MEASURED = re.findall(
    r"^\| ([\w-]+)(?: \\\*)?, ", (EVALUATION / "results" / "open_encoder.md").read_text("utf-8"), re.M
)


def test_every_measured_file_is_listed():
    """Catches a result that nobody else can repeat."""
    benchmarks = [Benchmark.read(name) for name in benchmark_names()]
    used = {
        file
        for benchmark in benchmarks
        for file in benchmark.data.files
        if any(section.startswith(benchmark.name) for section in MEASURED)
    }
    assert len(used) > 8
    assert {file for file in used if not any(listed.startswith(file) for listed in FILES)} == set()


@pytest.mark.parametrize("plan", ["open_terminology", "open_terminology_multilingual"])
def test_every_file_of_the_open_terminologies_is_listed(plan: str):
    """Catches a released encoder that nobody else can train."""
    needed = {
        path.as_posix() for source in UnionPlan.read(EVALUATION / f"{plan}.yaml").sources for path in source.paths
    }
    assert len(needed) > 20
    assert needed - set(FILES) == set()


@pytest.mark.parametrize("script", sorted(EVALUATION.glob("*.sh")), ids=lambda path: path.stem)
def test_every_file_that_a_script_names_is_listed(script: Path):
    """Catches a file that is read beside the benchmarks and the terminologies, such as the case reports."""
    named = set(re.findall(r"[\w.-]+\.gz\b", script.read_text("utf-8")))
    assert named - {Path(file).name for file in FILES} == set()


@pytest.mark.parametrize("file", FILES)
def test_an_entry_says_where_which_and_under_which_license(file: str):
    entry = FILES[file]
    assert entry["repository"].startswith("https://") and entry["license"] and entry["path"]
    version = entry.get("blob") or entry.get("commit", "")
    unknown = "fetch" not in entry and "a commit that was not recorded" in entry["path"]
    assert re.fullmatch("[0-9a-f]{40}", version) or (not version and unknown)
    assert re.fullmatch("[0-9a-f]{64}", entry["sha256"])
    assert not file.endswith(".gz") or re.fullmatch("[0-9a-f]{64}", entry["content"])


@pytest.mark.realdata
@pytest.mark.parametrize("file", FILES)
def test_the_digest_is_that_of_the_file(file: str, realdata: Path):
    content = (realdata / file).read_bytes()
    assert hashlib.sha256(content).hexdigest() == FILES[file]["sha256"]
    check(content, realdata / file, FILES[file])
