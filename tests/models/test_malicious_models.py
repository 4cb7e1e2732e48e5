"""Nothing foreign runs: folders and cached repositories that would write a file, through every path that loads a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import st_biomed
from st_biomed.cli import app
from st_biomed.encoder import ForeignCode, load_encoder
from st_biomed.encoder.masked import load_masked_model
from st_biomed.errors import InputError
from st_biomed.few_shot.frozen_encoder import InputForm
from st_biomed.leaderboard.models import LoadedModel, ModelSpec
from st_biomed.linking import ConceptIndex, EncodingOptions
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments
from tests.models.malicious import CASES, RUN_WITH_FLAG, Workshop

ENTRIES: dict[str, Callable[[str], Any]] = {
    "load": lambda name: st_biomed.load(name, device="cpu"),
    "load_encoder": lambda name: load_encoder(name, device="cpu"),
    "evaluate": lambda name: LoadedModel(ModelSpec("x", name), "cpu"),
    "recipe": lambda name: EncoderArguments(base_model=name, pooling="own_or_cls").encoder(),
    "few shots": lambda name: InputForm(name).load(),
    "masked language model": lambda name: load_masked_model(name, new_head=True),
}
"""Every path by which a model comes in; the commands are fronts of these."""

LOADS = {
    "auto_map_of_a_known_type",
    "auto_map_of_the_tokenizer",
    "auto_map_of_our_release",
    "template_that_climbs_out",
    "generation_of_the_folder",
    "code_of_a_release_that_was_changed",
}
"""Cases whose folder loads without what is foreign in it; all others are refused."""

HUB = ", of the Hub"
SLOW = [
    case for case in sorted(RUN_WITH_FLAG) if case.endswith(HUB) and not case.startswith(("auto_map_of_the", "module"))
]
"""With the flag, repositories run what folders run; a part of them is tried every day."""


def paths_of(case: str) -> list[str]:
    """A repository that is refused as a folder is goes through the two loaders alone, a checkpoint's through the third."""
    if not case.endswith(HUB):
        return list(ENTRIES)
    reads_no_modules = CASES[case.removesuffix(HUB)].__module__.endswith((".auto_maps", ".settings"))
    return ["load", "load_encoder", *(["masked language model"] if reads_no_modules else [])]


@pytest.fixture
def workshop(cache: Path, tiny_bert_folder: Path, adapted_folder: Path, tmp_path: Path) -> Workshop:
    root = tmp_path / "workshop"
    root.mkdir()
    return Workshop(root, tiny_bert_folder, adapted_folder, cache)


def built(case: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a case's model, whose code Python finds by name, too, as in a notebook beside it."""
    name, folder = str(CASES[case](workshop)), workshop.root / f"model{workshop.number}"
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    assert not workshop.marker.exists()
    return name


def test_the_corpus_is_large_enough() -> None:
    """Catches a corpus that shrinks unseen."""
    assert len(CASES) >= 90 and len(RUN_WITH_FLAG) >= 30
    assert {name for name in CASES if name.endswith(HUB)} and set(CASES) > LOADS


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_nothing_foreign_runs(case: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    name = built(case, workshop, monkeypatch)
    loads = case.removesuffix(HUB) in LOADS
    for entry in paths_of(case):
        try:
            ENTRIES[entry](name)
        except InputError as error:
            assert "\n" not in str(error) and len(str(error)) < 700, entry
            assert entry == "masked language model" or not loads, error
        else:
            assert entry == "masked language model" or loads, entry
        assert not workshop.marker.exists(), f"{entry}: foreign code ran"


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in SLOW)) for case in sorted(RUN_WITH_FLAG)]
)
def test_the_code_runs_where_it_was_allowed_by_name(
    case: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the guard: the corpus could write its file, and the flag is handed on."""
    name = built(case, workshop, monkeypatch)
    if case.removesuffix(HUB) not in LOADS:
        how = "--trust-remote-code.*--trust_remote_code true.*trust_remote_code=True"
        with pytest.raises(ForeignCode, match=how):
            load_encoder(name, device="cpu")
    try:
        load_encoder(name, device="cpu", trust_remote_code=True)
    except Exception as error:  # the code is no model: it is enough that it ran
        print(error)
    assert workshop.marker.exists()


def test_every_front_hands_the_flag_on(workshop: Workshop, tmp_path: Path) -> None:
    """Catches a path that loses what the person allowed, and one that does not say that it was."""
    name = str(CASES["module_of_the_folder"](workshop))
    model = LoadedModel(ModelSpec("x", name), "cpu", trust_remote_code=True)
    assert model.description["trust_remote_code"] is True
    assert workshop.marker.read_text()
    EncoderArguments(base_model=name, trust_remote_code=True).encoder()
    InputForm(name, trust_remote_code=True).load()
    st_biomed.load(name, device="cpu", trust_remote_code=True)
    folder, toy = tmp_path / "index", Terminology.read("toy", trees=2, branching=3)
    with pytest.raises(ForeignCode):
        ConceptIndex.build(toy, name, folder)
    assert not folder.exists()
    ConceptIndex.build(toy, name, folder, encoding=EncodingOptions(device="cpu", trust_remote_code=True))
    with pytest.raises(ForeignCode):
        ConceptIndex.load(folder).search(["flumpa"])
    assert ConceptIndex.load(folder, trust_remote_code=True).search(["flumpa"])[0]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_commands_name_the_flag_and_take_it(workshop: Workshop, tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a command without the flag, and a traceback where code was refused."""
    name = CASES["auto_map_of_the_folder"](workshop)
    toy, text = tmp_path / "toy", tmp_path / "text.txt"
    assert run("read", "toy", "-o", toy, "--option", "trees=2", "--option", "branching=3").exit_code == 0
    text.write_text("some words\n")
    assert run("index", toy, "--model", tiny_bert_folder, "-o", tmp_path / "index").exit_code == 0
    commands: dict[str, tuple[object, ...]] = {
        "index": (toy, "--model", name, "-o", tmp_path / "new"),
        "link": (tmp_path / "index", text, "--model", name),
        "evaluate": (name, "--terminology", toy, "-o", tmp_path / "out"),
        "mentions": (toy, text, "-o", tmp_path / "mentions", "--tokenizer", name),
        "picture concepts": (toy, name, "-o", tmp_path / "a.png", "--concepts", 3, "--names", 2),
        "picture pairs": (toy, name, "-o", tmp_path / "b.png"),
    }
    for command, words in commands.items():
        ended = run(*command.split(), *words)
        assert ended.exit_code == 2 and "--trust-remote-code" in ended.stderr.splitlines()[-1], command
        assert not workshop.marker.exists(), command
    for command in ("mentions", "picture concepts"):
        ended = run(*command.split(), *commands[command], "--trust-remote-code")
        assert workshop.marker.exists() and "--trust-remote-code" not in ended.stderr, ended.output


@pytest.mark.parametrize("case", ["auto_map_of_a_known_type", "auto_map_of_the_tokenizer", "auto_map_of_our_release"])
def test_what_was_not_run_is_not_handed_on(case: str, workshop: Workshop, tmp_path: Path) -> None:
    """Catches a release that names its base model's code, which its users are told to allow."""
    load_encoder(str(CASES[case](workshop)), device="cpu").save_pretrained(str(tmp_path / "saved"))
    for file in (tmp_path / "saved").rglob("*.json"):
        assert "attacker" not in file.read_text(), file
    named = json.loads((tmp_path / "saved" / "config.json").read_text()).get("auto_map", {})
    assert all(reference.startswith("bottleneck_adapter.") for reference in named.values())
