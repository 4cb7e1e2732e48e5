"""Every recipe from its smoke configuration to the Hub and back: what is published, what its card says, who can load it.

The cards lie in ``cards/``, with what differs from machine to machine left out; ``UPDATE_CARDS=1`` writes them anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from recipes import (
    bergamot,
    biolord,
    fewshot_names,
    hiprbert,
    italian_kge,
    knowledge_injection,
    sapbert,
    sapbert_finetune,
)
from st_biomed.encoder import load_encoder
from st_biomed.records import SourceInfo, Term
from st_biomed.release.card import BiomedCard
from st_biomed.release.own_text import said_of_sources
from st_biomed.release.privacy import judge
from st_biomed.release.run_data import read_run
from st_biomed.terminology import Terminology
from tests.loopback_hub import WRITER, LoopbackHub, loopback_hub

pytestmark = pytest.mark.long

CONFIGS = Path(sapbert.__file__).parent / "configs"
CARDS = Path(__file__).parent / "cards"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"
PROTOCOL = """name: zorb
evaluator: entity_linking
settings: {format: ncbi_disease, path: ncbi_disease, dictionary: ncbi_disease/medic.txt, steps: {lower_case: {}}, seen: [train]}
"""
PAIRS = """term1,term2,mean
Flumpa Gland,gradtha gland,3
flumpa disease,gradtha disease,2
flumpa gland,flumpa disease,1
"""
RELATED = """name: toy_pairs
evaluator: relatedness
settings: {{path: {path}}}
published:
  - source: invented
    protocol: invented
    figures: [{{system: FlumpaBERT, metric: toy_pairs_spearman, value: 0.5}}]
"""
RELEASES = {
    "sapbert": False,
    "sapbert_finetune": False,
    "hiprbert": False,
    "italian_contrastive": False,
    "italian_pipelined": True,
    "knowledge_injection": True,
    "bergamot": False,
    "biolord": False,
    "fewshot_names": False,
}
"""Release to whether its code has to be allowed: the injected models alone, whose lookup no built-in module can do."""
TERMS = ["flumpa gland", "acute disease of the gland", "gradtha"]


@dataclass(frozen=True)
class Published:
    """All releases, published on one Hub."""

    hub: LoopbackHub
    folder: Path


@pytest.fixture(scope="module")
def published(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Every recipe's smoke model, trained and pushed by the recipe itself."""
    out = tmp_path_factory.mktemp("smoke")
    (out / "pairs.csv").write_text(PAIRS)
    (out / "toy_pairs.yaml").write_text(RELATED.format(path=out / "pairs.csv"))
    (out / "zorb.yaml").write_text(PROTOCOL)
    names = Terminology.read("toy").strings
    (out / "texts.txt").write_text(
        "".join(f"a case of {name} with {other}.\n" for name, other in zip(names, names[5:]))
    )
    measured = ["--benchmarks", out / "toy_pairs.yaml"]
    text = ["--corpus", out / "texts.txt", "--corpus_license", "CC0-1.0"]
    with pytest.MonkeyPatch.context() as patch, loopback_hub(patch, out / "cache") as hub:
        patch.setenv("ST_BIOMED_DATA", str(FIXTURES))

        def run(recipe, configuration: str, name: str, *arguments: object, push: bool = True) -> None:
            given = [CONFIGS / configuration, "--output_dir", out / name, *arguments]
            given += ["--push_to_hub", f"org/{name}"] if push else []
            script = f"{recipe.__name__.rpartition('.')[2]}.py"
            patch.setattr(sys, "argv", [str(word) for word in (script, *given)])
            recipe.main()

        base = ["--base_model", tiny_bert_folder]
        run(sapbert, "sapbert_smoke.yaml", "sapbert", *base, "--relatedness", out / "pairs.csv")
        # The configuration's precision, auto, would differ between machines.
        fixed = ["--precision", "as given"]
        mentions = ["--linking", out / "zorb.yaml", "--smoke", "true", "--save_strategy", "no", *fixed]
        run(
            sapbert_finetune,
            "sapbert_finetune_paper.yaml",
            "sapbert_finetune",
            "--base_model",
            out / "sapbert",
            *mentions,
        )
        run(hiprbert, "hiprbert_smoke.yaml", "hiprbert", *base)
        run(bergamot, "bergamot_smoke.yaml", "bergamot", *base, *measured)
        run(biolord, "biolord_smoke.yaml", "biolord", *base, *measured)
        run(fewshot_names, "fewshot_names_smoke.yaml", "fewshot_names", *base, *measured)
        run(italian_kge, "italian_kge_smoke.yaml", "italian", *base, *text, push=False)
        later = [*base, *text, *measured, "--earlier", out / "italian", "--stage"]
        for stage in ("contrastive", "pipelined"):
            name = f"italian_{stage}"
            run(italian_kge, "italian_kge_smoke.yaml", name, *later, stage, push=False)
            patch.setattr(sys, "argv", ["st-biomed", "release"])
            push(out / name / stage, f"org/{name}")
        graph = ["--base_model", out / "italian/vocabulary", "--kge", out / "italian/kge/complex", *text, *measured]
        graph += ["--terminology", out / "italian/terminology"]
        run(knowledge_injection, "knowledge_injection_smoke.yaml", "knowledge_injection", *graph)
        yield Published(hub, out)


def push(folder: Path, repository: str) -> None:
    """As ``st-biomed release FOLDER REPOSITORY --push``."""
    from st_biomed.cli import main

    arguments = ["release", str(folder), repository, "--push"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["st-biomed", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code


def folder_of(published: Published, name: str) -> Path:
    return published.folder / name / (name.partition("_")[2] if name.startswith("italian") else "")


_LOAD = r"""
import json, re, sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "st_biomed":
            raise ImportError("st_biomed is not to be needed")
sys.meta_path.insert(0, Nowhere())
import numpy
from huggingface_hub import hf_hub_download
from sentence_transformers import SentenceTransformer

releases, terms, out = json.loads(sys.argv[1]), json.loads(sys.argv[2]), {}
for name, trusted in releases.items():
    try:
        model = SentenceTransformer(f"org/{name}", device="cpu")
    except ValueError as error:
        assert trusted and "trust_remote_code" in str(error), (name, error)
        model = SentenceTransformer(f"org/{name}", device="cpu", trust_remote_code=True)
    else:
        assert not trusted, name
    out[name] = model.encode(terms)
    card = open(hf_hub_download(f"org/{name}", "README.md"), encoding="utf-8").read()
    for block in re.findall(r"```python\n(.*?)```", card, re.S):
        scope = {}
        exec(block, scope)
        if "AutoModel" in block:
            shown = json.loads(re.search(r"tokenizer\((\[.*?\])", block)[1])
            numpy.testing.assert_allclose(scope["embeddings"].numpy(), model.encode(shown), atol=1e-5)
            out[f"{name} by transformers"] = numpy.ones(1)
numpy.savez(sys.argv[3], **out)
"""


def test_every_recipes_model_loads_from_the_hub_with_plain_sentence_transformers(published: Published, tmp_path: Path):
    """In a process without this package, with a flag for exactly two; the snippets of the cards run as they stand there."""
    here = {name: value for name, value in os.environ.items() if name not in ("HF_HUB_OFFLINE", "PYTHONPATH")}
    known = {
        "HF_ENDPOINT": published.hub.url,
        "HF_TOKEN": WRITER,
        "HF_HOME": str(tmp_path),
        "CUDA_VISIBLE_DEVICES": "",
    }
    words = [json.dumps(RELEASES), json.dumps(TERMS), str(tmp_path / "vectors.npz")]
    ended = subprocess.run(
        [sys.executable, "-c", _LOAD, *words], capture_output=True, text=True, env={**here, **known}, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = np.load(tmp_path / "vectors.npz")
    for name, trusted in RELEASES.items():
        model = SentenceTransformer(str(folder_of(published, name)), device="cpu", trust_remote_code=trusted)
        np.testing.assert_allclose(found[name], model.encode(TERMS), atol=1e-5)
        assert published.hub.repos[f"org/{name}"].private
    assert [name for name in found if " by " in name] == [
        f"{name} by transformers" for name in ("sapbert", "sapbert_finetune", "hiprbert", "bergamot", "biolord")
    ]


@pytest.mark.parametrize("name", RELEASES)
def test_what_an_honest_release_says_is_hardly_ever_taken_for_a_name(
    name: str, published: Published, tiny_bert_folder: Path
):
    """Were any two words that stand beside each other in a card a licensed name, nine of ten would be ordinary text.

    Catches a list of what is ordinary that has no word of the recipes, the metrics or the card's own sentences.
    """
    folder = folder_of(published, name)
    run, model = read_run(folder / "run.json"), load_encoder(folder, device="cpu")
    lines = (re.findall(r"[A-Za-z]+", line) for line in (folder / "README.md").read_text("utf-8").splitlines())
    pairs = {f"{word} {other}".lower() for words in lines for word, other in pairwise(words)}
    assert len(pairs) > 500
    licensed = Terminology.from_records(
        (Term(f"ANY:{i}", pair) for i, pair in enumerate(sorted(pairs))), SourceInfo("ANY", "Any")
    )
    card = BiomedCard.from_run(run).rendered_empty(model)
    alarms = judge(folder, [licensed], tiny_bert_folder, own_text=f"{card}\n\n{said_of_sources(run)}").breaches
    assert 0 < len({alarm.split("'")[1] for alarm in alarms}) < len(pairs) / 10


def test_a_later_stage_tells_of_the_earlier_ones(published: Published):
    """Catches a card on which the vocabulary, the graph's model or the first training is not to be found."""
    chain = [stage["recipe"] for stage in read_run(folder_of(published, "italian_pipelined") / "run.json")["earlier"]]
    assert chain == ["knowledge_injection", "extend_bert"]
    (first,) = read_run(folder_of(published, "sapbert_finetune") / "run.json")["earlier"]
    assert first["recipe"] == "sapbert" and first["terminologies"][0]["sources"][0]["name"] == "TOY"
    corpora = read_run(folder_of(published, "italian_contrastive") / "run.json")["corpora"]
    assert [(corpus["files"], corpus["license"]) for corpus in corpora] == [(["texts.txt"], "CC0-1.0")]


def test_a_release_with_our_code_is_measured_by_its_name(published: Published):
    """Catches commands that take a folder and refuse the same model on the Hub; the code of a repository is never run."""
    name = "knowledge_injection"
    here = SentenceTransformer(str(published.folder / name), device="cpu", trust_remote_code=True)
    np.testing.assert_allclose(load_encoder(f"org/{name}", device="cpu").encode(TERMS), here.encode(TERMS), atol=1e-6)
    repository = published.hub.repos[f"org/{name}"]
    with published.hub.lock:
        tree = {**published.hub.tree(f"org/{name}"), "mention_pooling.py": b"raise SystemExit"}
        repository.commit("main", tree)
    np.testing.assert_allclose(load_encoder(f"org/{name}", device="cpu").encode(TERMS), here.encode(TERMS), atol=1e-6)


def steady(card: str) -> str:
    """A card without what differs between machines: digests, figures of results and time, versions, the processor."""
    card = re.sub(r"\b[0-9a-f]{64}\b", "<digest>", card)
    card = re.sub(r"`[0-9a-f]{12}`", "`<digest>`", card)
    card = re.sub(r"(?m)^(      value: ).*", r"\1<figure>", card)
    card = re.sub(r"(?<=[| (:])[+-]?\d+\.\d{4,}(e-\d+)?\b", "<figure>", card)
    card = re.sub(r"to -?\d\.\d{4}\)", "to <figure>)", card)
    card = re.sub(r"\*\*Time:\*\* .*", "**Time:** <time>", card)
    card = re.sub(r"\n\| software \| version \|\n(\|.*\n)*", "\n<versions>\n", card)
    return re.sub(r"\n```\nSentenceTransformer\(.*?\n```", "\n<architecture>", card, flags=re.S)


@pytest.mark.parametrize("name", RELEASES)
def test_cards_are_the_ones_that_were_read(name: str, published: Published):
    """Catches a sentence, a table or a key of the head that changes without anybody having read the card."""
    card = steady((folder_of(published, name) / "README.md").read_text("utf-8"))
    path = CARDS / f"{name}.md"
    if os.environ.get("UPDATE_CARDS"):
        CARDS.mkdir(exist_ok=True)
        path.write_text(card, "utf-8")
    pinned = (Path(__file__).parents[2] / "constraints.txt").read_text("utf-8").splitlines()
    if f"transformers=={version('transformers')}" not in pinned:
        pytest.skip(
            "a card leaves out the defaults of sentence-transformers, here of another version than that of the cards"
        )
    assert card == path.read_text("utf-8"), f"read the difference, then UPDATE_CARDS=1 writes {path.name} anew"
