"""The Ray engine gives the vectors of the local one, and goes on part by part. It starts a local cluster."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex, EncodingOptions, ray_engine
from st_biomed.terminology import Terminology

HAS_RAY = importlib.util.find_spec("ray") is not None
OPTIONS = EncodingOptions(engine="ray", rows_per_commit=10, bf16=False)


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_error_says_what_to_install(
    many_names: Callable[[int], Terminology], tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"engine 'ray' needs Ray Data: pip install 'st-biomed\[ray\]'"):
        ConceptIndex.build(many_names(12), tiny_bert, tmp_path / "index", encoding=OPTIONS)


@pytest.fixture
def cluster():
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'st-biomed[ray]'")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_parts_are_those_of_the_local_engine_and_only_missing_ones_are_encoded(
    many_names: Callable[[int], Terminology],
    tiny_bert: SentenceTransformer,
    tmp_path: Path,
    cluster: None,
    monkeypatch,
) -> None:
    """Catches parts in the order in which they end, a part that was cut off taken for whole, and one done twice."""
    terminology = many_names(35)
    tiny_bert.truncate_dim = 12  # which a saved model does not know
    local = ConceptIndex.build(terminology, tiny_bert, tmp_path / "local", encoding=EncodingOptions(bf16=False))
    runs: list[list[int]] = []
    run = ray_engine._run

    def killed(ray, folder, parts, *rest):
        runs.append(parts)
        run(ray, folder, parts, *rest)
        if len(runs) == 1:
            (cut,) = (folder / "vectors" / "part=2").glob("*.parquet")
            cut.write_bytes(cut.read_bytes()[:-9])

    monkeypatch.setattr(ray_engine, "_run", killed)
    with pytest.raises(InputError, match="1 of 4 parts are missing after the run; run it again"):
        ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", encoding=OPTIONS)
    index = ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", encoding=OPTIONS)
    assert runs == [[0, 1, 2, 3], [2]]
    np.testing.assert_allclose(index.vectors.matrix, local.vectors.matrix, atol=1e-5)
    assert index.search(["flumpa vogla"], k=3) == local.search(["flumpa vogla"], k=3)
    assert not (tmp_path / "index" / "parts").exists()


def test_a_part_is_whole_where_each_of_its_rows_is_there_once(tmp_path: Path) -> None:
    """Catches a part that a retried task wrote twice. Needs no Ray."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "vectors" / "part=3"
    folder.mkdir(parents=True)

    def write(name: str, rows: list[int]) -> None:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(rows, 2).astype(np.float32)), 2)
        pq.write_table(pa.table({"row": rows, "vector": vectors}), folder / f"{name}.parquet")

    assert not ray_engine._is_whole(tmp_path, 3, 4)
    write("b", [32, 30])
    assert not ray_engine._is_whole(tmp_path, 3, 4)
    write("a", [33, 31])
    assert ray_engine._is_whole(tmp_path, 3, 4)
    assert ray_engine._read_vectors(tmp_path, 3).tolist() == [[30, 30], [31, 31], [32, 32], [33, 33]]
    write("c", [33, 31])
    assert not ray_engine._is_whole(tmp_path, 3, 4)
    (folder / "c.parquet").unlink()
    write("a", [33, 33])
    assert not ray_engine._is_whole(tmp_path, 3, 4)
