"""What was published is loaded: elsewhere, with and without this package, and as a release again."""

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
from huggingface_hub import HfApi
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

import st_biomed
from st_biomed.errors import InputError
from st_biomed.modules.adapters import add_adapters
from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.markers import pool_mentions
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.folder import save_release
from tests.loopback_hub import WRITER, LoopbackHub
from tests.modules.mention_texts import table
from tests.release.publishing import NAME, TERMS

_LOAD = """
import json, sys
import numpy
from sentence_transformers import SentenceTransformer

name, out, revisions, terms = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
vectors = [SentenceTransformer(name, device="cpu", revision=revision).encode(terms) for revision in revisions]
assert "st_biomed" not in sys.modules
numpy.save(out, numpy.stack(vectors))
"""


def elsewhere(hub: LoopbackHub, home: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that knows the Hub by its address and a token alone."""
    here = {name: value for name, value in os.environ.items() if name not in ("HF_HUB_OFFLINE", "PYTHONPATH")}
    known = {"HF_ENDPOINT": hub.url, "HF_TOKEN": WRITER, "HF_HOME": str(home), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env={**here, **known}, cwd=home
    )


@pytest.mark.slow
def test_what_was_published_loads_anywhere_with_plain_sentence_transformers(
    hub: LoopbackHub, send, release: Path, tmp_path: Path
) -> None:
    """From main, a tag, a branch and a pull request, in a process without this package."""
    send(tag="v1")
    (release / "LICENSE").write_text("another")
    send(pull_request=True)
    send(branch="dev", update=True)
    revisions = [None, "v1", "refs/pr/1", "dev"]
    ended = elsewhere(hub, tmp_path, _LOAD, NAME, str(tmp_path / "v.npy"), json.dumps(revisions), json.dumps(TERMS))
    assert ended.returncode == 0, ended.stderr
    expected = SentenceTransformer(str(release), device="cpu").encode(TERMS)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), np.stack([expected] * 4), atol=1e-6)


_WITH_AND_WITHOUT = """
import json, sys
import numpy
from sentence_transformers import SentenceTransformer

sys.modules["st_biomed"] = None
out, names, terms = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
refused, vectors = [], []
for name in names:
    try:
        model = SentenceTransformer(name, device="cpu")
    except (ValueError, OSError) as error:
        assert "trust_remote_code" in str(error), error
        refused.append(name)
        model = SentenceTransformer(name, device="cpu", trust_remote_code=True)
    vectors.append(model.encode(terms))
numpy.save(out, numpy.stack(vectors))
print(json.dumps(refused))
"""


@pytest.mark.slow
def test_exactly_the_kinds_that_cannot_be_folded_need_trust_remote_code(
    hub: LoopbackHub, send, trained, licensed, tiny_bert_folder: Path, tmp_path: Path, monkeypatch
) -> None:
    """Marked mentions, injected knowledge and bottleneck adapters; with the flag, they need no installed package."""
    torch.manual_seed(0)
    makers = {
        "names": lambda model: model,
        "few-shot": lambda model: fold_modules(
            SentenceTransformer(modules=[*model, Normalize(), ResidualFeedForward(16, 4)])
        ),
        "mentions-folded": lambda model: fold_modules(pool_mentions(model)),
        "mentions": pool_mentions,
        "injected": lambda model: inject_knowledge(pool_mentions(model), table(), layer=1, mention="marked"),
        "adapters": lambda model: add_adapters(model, 2),
    }
    terms = [*TERMS, "the [Ms] chronic type [Me] of it"]
    # What is checked in a process of its own here would be checked in another one for each of them.
    probes = {name: maker(SentenceTransformer(str(tiny_bert_folder), device="cpu")) for name, maker in makers.items()}
    monkeypatch.setattr("st_biomed.release.folder.code_of", lambda model: [])
    monkeypatch.setattr("st_biomed.release.folder._check_loads_back", lambda model, folder: None)
    for name, model in probes.items():
        folder = save_release(
            model, tmp_path / name, run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
        )
        send(folder=folder, name=f"org/{name}")
    names = json.dumps([f"org/{name}" for name in probes])
    ended = elsewhere(hub, tmp_path, _WITH_AND_WITHOUT, str(tmp_path / "v.npy"), names, json.dumps(terms))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == ["org/mentions", "org/injected", "org/adapters"]
    for name, found in zip(probes, np.load(tmp_path / "v.npy")):
        np.testing.assert_allclose(found, probes[name].encode(terms), atol=1e-5, err_msg=name)


def test_our_loader_takes_the_name_on_the_hub(hub: LoopbackHub, tiny_bert, tmp_path: Path) -> None:
    """Catches a loader for folders alone, and one that runs the code of the repository."""
    pooled = pool_mentions(tiny_bert)
    pooled.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    (tmp_path / "model" / "mention_pooling.py").write_text("raise SystemExit('this ran')")
    api = HfApi(endpoint=hub.url, token=WRITER)
    api.create_repo(NAME, private=True)
    api.upload_folder(repo_id=NAME, folder_path=tmp_path / "model")
    loaded = st_biomed.load(NAME, device="cpu")
    np.testing.assert_allclose(loaded.encode(TERMS), pooled.encode(TERMS), atol=1e-6)


@pytest.mark.long
def test_a_copy_of_the_repository_is_a_release_again(hub: LoopbackHub, send, plan, tmp_path: Path) -> None:
    """A card that names one repository is published in another under that one's name."""
    send()
    copy = tmp_path / "copy"
    for path, content in hub.tree(NAME).items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(content)
    with pytest.raises(InputError, match=r"\.gitattributes: is not on the list"):
        plan(folder=copy)
    (copy / ".gitattributes").unlink()
    send(folder=copy, name="org/moved")
    assert 'SentenceTransformer("org/moved")' in hub.tree("org/moved")["README.md"].decode()
    shutil.rmtree(copy)
