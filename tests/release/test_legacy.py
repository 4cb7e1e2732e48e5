"""The layout of sentence-transformers 5, read by versions 5.3 and 5.4 themselves (slow) and by the one installed here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Dropout, Pooling, StaticEmbedding
from tokenizers import Tokenizer

from st_biomed.encoder.released import load
from st_biomed.errors import InputError
from st_biomed.files import finish_replacement, remove
from st_biomed.modules.markers import pool_mentions
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.folder import save_release
from st_biomed.release.legacy import rewrite_for_version_5, save_legacy
from tests.kills import every_kill

TERMS = ["acute flenn", "chronic disease of the tove " * 9, "Ä"]


def kinds(tiny_bert: SentenceTransformer) -> dict[str, SentenceTransformer]:
    """A model of every kind that a release without code may be."""
    torch.manual_seed(0)
    encoder = tiny_bert[0]
    few_shot = ResidualFeedForward(16, 8)
    with torch.no_grad():
        for parameter in few_shot.parameters():
            parameter.copy_(torch.randn_like(parameter) / 4)
    words = Tokenizer.from_str(encoder.tokenizer.backend_tokenizer.to_str())
    words.no_padding()
    words.no_truncation()
    stacks = {
        "names": [encoder, Pooling(16, "cls")],
        "normalized": [encoder, Pooling(16, ("max", "mean")), Normalize()],
        "few_shot": [encoder, Pooling(16, "mean"), Normalize(), few_shot],
        "words": [StaticEmbedding(words, embedding_dim=8)],
    }
    made = {name: fold_modules(SentenceTransformer(modules=modules, device="cpu")) for name, modules in stacks.items()}
    marked = pool_mentions(SentenceTransformer(modules=[encoder, Pooling(16, "mean")], device="cpu"))
    return {**made, "mentions": fold_modules(marked)}


@pytest.fixture
def legacy_folders(tiny_bert, trained, licensed, tiny_bert_folder: Path, tmp_path: Path) -> dict[str, Path]:
    folders = {}
    for name, model in kinds(tiny_bert).items():
        release = save_release(
            model, tmp_path / name, run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
        )
        folders[name] = save_legacy(release, tmp_path / f"{name}-legacy")
        np.save(tmp_path / f"{name}.npy", model.encode(TERMS))
    return folders


def test_every_kind_of_release_has_an_older_layout_with_the_same_vectors(legacy_folders: dict[str, Path]) -> None:
    """Catches a setting that gets lost: pooling, the length that terms are cut at, a normalization."""
    for name, folder in legacy_folders.items():
        types = [module["type"] for module in json.loads((folder / "modules.json").read_text())]
        assert all(kind.startswith("sentence_transformers.models.") for kind in types), name
        found = SentenceTransformer(str(folder), device="cpu").encode(TERMS)
        np.testing.assert_allclose(found, np.load(folder.parent / f"{name}.npy"), atol=1e-6, err_msg=name)
    folder = legacy_folders["few_shot"]
    assert json.loads((folder / "sentence_bert_config.json").read_text()) == {
        "max_seq_length": 32,
        "do_lower_case": False,
    }
    assert json.loads((folder / "1_Pooling" / "config.json").read_text())["pooling_mode_mean_tokens"] is True
    assert "module_input_name" not in (folder / "3_Dense" / "config.json").read_text()
    assert not (folder / "2_Normalize").exists()


def test_the_release_stays_as_it_is_and_the_new_folder_is_one_too(release: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    save_legacy(save_legacy(release, tmp_path / "old"), tmp_path / "again")
    assert {path: path.read_bytes() for path in release.rglob("*") if path.is_file()} == before
    assert (tmp_path / "again" / "run.json").is_file()


def test_a_release_is_not_copied_into_itself(release: Path) -> None:
    """Catches a lock and a draft among the files of the copy."""
    with pytest.raises(InputError, match="legacy: is in the release .*, which is copied; choose a folder outside it"):
        save_legacy(release, release / "legacy")


def test_what_has_no_older_form_is_named_and_nothing_is_written(
    tiny_bert, trained, licensed, release: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a model that version 5 loads to other vectors."""

    def refused(*modules, start=None) -> str:
        model = SentenceTransformer(modules=[*(start or tiny_bert), *modules], device="cpu")
        save = {"run": trained.run, "terminologies": [licensed], "base_model": tiny_bert_folder}
        folder = save_release(model, tmp_path / f"{len(list(tmp_path.iterdir()))}", **save)
        held = set(tmp_path.iterdir())
        with pytest.raises(InputError) as error:
            save_legacy(folder, tmp_path / "old")
        assert set(tmp_path.iterdir()) == held
        return str(error.value)

    assert "Dropout has no older form; modules with one are Dense, Normalize" in refused(Dropout(0.1))
    assert "use_residual True has no older form" in refused(Dense(16, 16, use_residual=True))
    both = refused(start=[tiny_bert[0], Pooling(16, ("mean", "max"))])
    assert "pooling_mode ['mean', 'max'] has no older form; modes are, in order, cls, max, mean" in both
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="is not empty"):
        save_legacy(release, tmp_path / "used")


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ({"query_length": 4}, "query_length 4"),
        ({"processing_kwargs": {"text": {"max_length": 4}}}, r"processing_kwargs \{'text': .*\}"),
        (
            {"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}},
            r"modality_config text \{.*'pooler_output'\}",
        ),
        ({"model_args": {"dtype": "bfloat16"}}, r"model_args \{'dtype': 'bfloat16'\}"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_setting_of_the_transformer_without_an_older_form_is_refused(
    setting: dict[str, object], found: str, tmp_path: Path
) -> None:
    """Catches a length of queries that is dropped, so that ``encode_query`` gives other vectors."""
    path = tmp_path / "sentence_bert_config.json"
    (tmp_path / "modules.json").write_text(
        json.dumps([{"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}])
    )
    usual = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings", "unpad_inputs": False}
    usual["modality_config"] = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
    usual |= {"query_length": None, "max_seq_length": 9, "do_lower_case": True}
    path.write_text(json.dumps({**usual, **setting}))
    with pytest.raises(InputError, match=f"{found} has no older form; version 5 has max_seq_length and do_lower_case"):
        rewrite_for_version_5(tmp_path, 32, named="model")
    path.write_text(json.dumps(usual))
    rewrite_for_version_5(tmp_path, 32, named="model")
    assert json.loads(path.read_text()) == {"max_seq_length": 32, "do_lower_case": True}


@pytest.mark.parametrize("made", ["file", "folder", "pipe"])
def test_a_link_in_a_release_is_not_copied(made: str, release: Path, tmp_path: Path) -> None:
    """Catches a file of another place that is copied through a link and then passes the check before publication."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.json").write_text('{"password": "x"}')
    if made == "pipe":
        os.mkfifo(release / "results.json")
    else:
        (release / "results.json").symlink_to(tmp_path / "outside" / ("secret.json" if made == "file" else ""))
    with pytest.raises(InputError, match=r"release/results\.json: is a link or a special file"):
        save_legacy(release, tmp_path / "older")
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "release"}


def test_a_read_only_release_is_copied(release: Path, tmp_path: Path) -> None:
    """Catches a copy that is read-only too: its configuration cannot be written, nor the draft be removed."""
    folders = [release, *(path for path in release.rglob("*") if path.is_dir())]
    for path in [*release.rglob("*"), release]:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        for output in (tmp_path / "older", tmp_path / "again"):
            save_legacy(release, output)
            assert all(path.stat().st_mode & 0o200 for path in [output, *output.rglob("*")])
    finally:
        for path in folders:
            path.chmod(0o755)
    assert {path.name for path in tmp_path.iterdir()} == {"again", "older", "release"}


_LOAD = """
import json, sys
import numpy
from sentence_transformers import SentenceTransformer

for folder, vectors in json.loads(sys.argv[1]).items():
    found = SentenceTransformer(folder, device="cpu").encode(json.loads(sys.argv[2]))
    numpy.testing.assert_allclose(found, numpy.load(vectors), atol=1e-5, err_msg=folder)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "versions",
    [
        ("sentence-transformers==5.3.0", "transformers<5"),
        ("sentence-transformers==5.3.0", "transformers>=5"),
        ("sentence-transformers==5.4.0", "transformers>=5"),
    ],
    ids="-".join,
)
def test_version_5_loads_it(versions: tuple[str, str], legacy_folders: dict[str, Path], tmp_path: Path) -> None:
    """In an environment of its own, with transformers 4 and 5."""
    constraints = Path(__file__).parents[2] / "constraints.txt"
    torch_version = next(line for line in constraints.read_text().splitlines() if line.startswith("torch=="))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet"]
    ended = subprocess.run([*install, torch_version, *versions], capture_output=True, text=True)
    if ended.returncode:
        pytest.skip(f"{' '.join(versions)} cannot be installed: {(ended.stderr.splitlines() or ['no reason'])[-1]}")
    pairs = {str(folder): str(tmp_path / f"{name}.npy") for name, folder in legacy_folders.items()}
    here = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [python, "-c", _LOAD, json.dumps(pairs), json.dumps(TERMS)]
    ended = subprocess.run(words, capture_output=True, text=True, env=here, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_a_release_that_is_replaced_while_it_is_copied_is_refused(release: Path, tmp_path: Path, monkeypatch) -> None:
    """Catches an older layout with the weights of one model and the record of another."""
    from st_biomed.release import legacy

    copied = legacy.copy_folder

    def replaced(source: Path, target: Path) -> None:
        release.rename(tmp_path / "former")
        shutil.copytree(tmp_path / "former", release)
        copied(source, target)

    monkeypatch.setattr(legacy, "copy_folder", replaced)
    with pytest.raises(InputError, match="release: was replaced while it was read"):
        save_legacy(release, tmp_path / "older")
    assert not (tmp_path / "older").exists()


@pytest.mark.long
@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_while_it_is_written_leaves_no_half_of_it(
    stride: int, release: Path, tmp_path: Path, monkeypatch
) -> None:
    """Catches an older layout without its weights, and a release that its copy has changed."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    torch.set_num_threads(1)
    before = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    steps = 0
    for step in every_kill(
        lambda: save_legacy(release, tmp_path / "older"), lambda: remove(tmp_path / "older"), stride=stride
    ):
        steps = step + 1
        finish_replacement(tmp_path / "older")
        assert not (tmp_path / "older").exists() or load(tmp_path / "older", device="cpu")
        assert before == {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    print(f"{steps} steps")
    assert steps > 18 and load(tmp_path / "older", device="cpu")
    assert {path.name for path in tmp_path.iterdir()} <= {"older", "release"}
