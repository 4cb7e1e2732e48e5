"""Every recipe in a form that takes a second, for tests of what happens to it."""

from __future__ import annotations

import hashlib
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from recipes import (
    bergamot,
    biolord,
    extend_bert,
    fewshot_names,
    hiprbert,
    italian_kge,
    knowledge_injection,
    open_encoder,
    sapbert,
    sapbert_finetune,
)
from st_biomed.kge import KGETable
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology

CONFIGS = Path(sapbert.__file__).parent / "configs"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"
PROTOCOL = """name: zorb
evaluator: entity_linking
settings: {format: ncbi_disease, path: ncbi_disease, dictionary: ncbi_disease/medic.txt, steps: {lower_case: {}}, seen: [train]}
"""
ENDINGS = {
    "sapbert": (sapbert, "sapbert_smoke.yaml", ()),
    "sapbert, adapters": (sapbert, "sapbert_smoke.yaml", ("--adapter", "bottleneck")),
    "sapbert, lora": (sapbert, "sapbert_smoke.yaml", ("--adapter", "lora")),
    "sapbert, averaged": (
        sapbert,
        "sapbert_smoke.yaml",
        ("--average", ".5", "--ema_decay", ".5", "--keep_trained", "true"),
    ),
    "sapbert_finetune": (sapbert_finetune, "sapbert_finetune_paper.yaml", ("--linking", "{zorb}", "--smoke", "true")),
    "hiprbert": (hiprbert, "hiprbert_smoke.yaml", ()),
    "open_encoder": (open_encoder, "open_encoder_smoke.yaml", ()),
    "biolord": (biolord, "biolord_smoke.yaml", ()),
    "bergamot": (bergamot, "bergamot_smoke.yaml", ("--graph", "sage")),
    "fewshot_names": (fewshot_names, "fewshot_names_smoke.yaml", ("--shots", "1", "--seeds", "{seed}")),
    "extend_bert": (extend_bert, "extend_bert_smoke.yaml", ("--corpus", "{texts}", "--vocabulary_size", "0")),
    "italian_kge, contrastive": (italian_kge, "italian_kge_smoke.yaml", ("--stage", "contrastive", "--loss", "v2")),
    "italian_kge, pipelined": (italian_kge, "italian_kge_smoke.yaml", ("--stage", "pipelined", "--loss", "v2")),
    "knowledge_injection": (
        knowledge_injection,
        "knowledge_injection_smoke.yaml",
        ("--corpus", "{texts}", "--terminology", "toy", "--language", "en", "--kge", "{kge}"),
    ),
}
KEEPS = {"italian_kge, contrastive", "sapbert, averaged"}
"""Whose trained model stays, as it is more or other than what is released."""


def sources_of(folder: Path, base: Path, patch: pytest.MonkeyPatch) -> dict[str, Path]:
    """What recipes start from, written into a folder."""
    patch.setenv("ST_BIOMED_DATA", str(FIXTURES))
    toy = Terminology.read("toy")
    (folder / "zorb.yaml").write_text(PROTOCOL)
    lines = [f"a case of {name} with {other}.\n" for name, other in zip(toy.strings[:40], toy.strings[5:])]
    (folder / "texts.txt").write_text("".join(lines))
    codes = toy.concepts["code"].to_pylist()
    KGETable(codes, torch.randn(len(codes), 8).numpy(), model="complex", terminology=toy.digest).save(folder / "kge")
    return {"base": base, "zorb": folder / "zorb.yaml", "texts": folder / "texts.txt", "kge": folder / "kge"}


def release_of(name: str, out: Path) -> Path:
    """Where a recipe of the list releases to, given its ``output_dir``."""
    return out / name.partition(", ")[2] if name.startswith("italian_kge") else out


def run_ending(name: str, sources: dict[str, Path], out: Path, *arguments: object, seed: int = 1) -> None:
    """Run a recipe of the list, with a stage that it needs before it."""
    recipe, configuration, own = ENDINGS[name]
    if name == "italian_kge, pipelined" and not (out / "injected").is_dir():
        run_ending("knowledge_injection", sources, out / "injected")
    filled = [word.format(**sources, seed=seed) for word in own]
    given = ["--base_model", sources["base"], "--output_dir", out, "--seed", seed, *filled, *arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", [str(word) for word in (f"{name}.py", CONFIGS / configuration, *given)])
        recipe.main()


def weights(folder: Path) -> str:
    """The weights of all modules of a saved model, and not those of what was trained beside it."""
    paths = [path for path in sorted(folder.rglob("*.safetensors")) if path.parent.name != "graph_encoder"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def run_limited(size: int | None, action: Callable[[], Any]) -> tuple[int, list[str]]:
    """Run an action in a child that may let no file grow beyond a size: its exit code, and its lines of errors."""
    reading, writing = os.pipe()  # no file: what is printed may be longer than the limit
    child = os.fork()
    if child == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            os.dup2(writing, 2)
            sys.stdout, sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"), os.fdopen(writing, "w")
            if size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            run_recipe(action)
            code = 0
        except SystemExit as left:
            code = int(str(left.code))
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, [line for line in lines if "error" in line.lower() or "Traceback" in line]
