"""What evaluation/bergamot_open.sh trains on, from the open files to the graph."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from st_biomed.terminology import Terminology
from st_biomed.training_data.concept_graph import ConceptGraph

ROOT = Path(__file__).parents[2]


@pytest.mark.realdata
def test_the_terminology_and_the_graph_of_the_experiment(realdata: Path, tmp_path: Path):
    """Catches a reader, a merge or a draw that changes; the committed figures have 253,008 names and 1,702 held-out ones."""
    for name in ("evaluation", "recipes"):
        (tmp_path / name).symlink_to(ROOT / name)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "ST_BIOMED_DATA": str(realdata.resolve())}
    subprocess.run(["bash", "evaluation/bergamot_open.sh", "data"], cwd=tmp_path, env=environment, check=True)
    train = Terminology.load(tmp_path / "out/bergamot/train")
    graph = ConceptGraph(train)
    assert (train.n_concepts, train.texts.num_rows) == (75_413, 253_064)
    assert (graph.n_edges, len(graph.relations), graph.n_isolated) == (339_240, 156, 1_400)
    held = (tmp_path / "out/bergamot/translations.tsv").read_text("utf-8")
    assert len(held.splitlines()) == 1_649
