"""One real training of two steps, the release made of it, and a Hub that it is published on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi
from zorb_terms import PAIRS, ZORB, terminology, train

from st_biomed.release.hub import Pushed, plan_push, push_plan
from st_biomed.release.hub_plan import HubPlan, PushOptions
from st_biomed.terminology import Terminology
from tests.loopback_hub import WRITER, LoopbackHub, loopback_hub
from tests.release.publishing import NAME, digest


@pytest.fixture(scope="session")
def licensed() -> Terminology:
    return terminology(ZORB, PAIRS)


@dataclass(frozen=True)
class Trained:
    model: Any
    run: Any
    work: Path
    """Where the trainer wrote."""


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_bert_folder: Path, licensed: Terminology) -> Trained:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    from st_biomed.release.card import BiomedCard
    from st_biomed.release.run_record import RunRecord

    work = tmp_path_factory.mktemp("work")
    record = RunRecord(
        recipe="hiprbert",
        base_model="example/tiny-bert",
        configuration={"source": str(work / "zorb.tsv"), "alpha": 2.0, "delimiter": "||"},
        seed=3,
        terminologies=[licensed],
        license="apache-2.0",
        description="Names of one concept lie closest.",
        readings=["The margin of the miner is read as a cosine."],
        headline=["auc_0v1", "auc_0v3"],
        command=["recipes/hiprbert.py", str(work / "config.yaml")],
    )
    model = train(tiny_bert_folder, work, BiomedCard(), (record.callback(),))
    record.add_losses({"synonyms": MultipleNegativesRankingLoss(model)})
    record.add_results("zorb_tree", "before", {"auc_0v1": 0.31415926, "auc_0v3": 0.5, "spearman": 0.1})
    record.add_results("zorb_tree", "after", {"auc_0v1": 0.57721566, "auc_0v3": 0.875, "spearman": float("nan")})
    return Trained(model, record.to_dict(), work)


@pytest.fixture(scope="session")
def pristine_release(
    tmp_path_factory: pytest.TempPathFactory, trained: Trained, licensed: Terminology, tiny_bert_folder: Path
) -> Path:
    from st_biomed.release.folder import save_release

    folder = tmp_path_factory.mktemp("out") / "release"
    return save_release(trained.model, folder, run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder)


@pytest.fixture
def release(pristine_release: Path, tmp_path: Path) -> Path:
    """A copy of the release that a test may spoil."""
    return Path(shutil.copytree(pristine_release, tmp_path / "release"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # what the client waits between its tries
    with loopback_hub(monkeypatch, tmp_path_factory.mktemp("cache")) as running:
        yield running


@pytest.fixture
def plan(hub: LoopbackHub, release: Path, licensed: Terminology, tiny_bert_folder: Path):
    def planned(token: str = WRITER, folder: Path = release, name: str = NAME, **options) -> HubPlan:
        api = HfApi(endpoint=hub.url, token=token)
        base = {"terminologies": [licensed], "base_model": tiny_bert_folder}
        return plan_push(folder, PushOptions(name, **options), **base, api=api)

    return planned


@pytest.fixture
def send(hub: LoopbackHub, plan):
    """Plans and pushes, and checks that the folder stays as it is, whatever happens."""

    def sent(token: str = WRITER, **options) -> Pushed:
        planned = plan(token, **options)
        before = digest(planned.folder)
        try:
            return push_plan(planned, api=HfApi(endpoint=hub.url, token=token))
        finally:
            assert digest(planned.folder) == before

    return sent
