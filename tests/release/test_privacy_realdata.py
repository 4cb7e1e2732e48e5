"""What of real terminologies is looked for, and that none of it stands in honest cards; the files are outside."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from st_biomed.release.name_kinds import INDISTINCT, Kind, count_kinds
from st_biomed.release.privacy import judge
from st_biomed.terminology import Terminology

pytestmark = pytest.mark.realdata

ROOT = Path(__file__).parents[2]
CARDS = sorted([*(ROOT / "tests/recipes/cards").glob("*.md"), *(ROOT / "model_cards/runs").glob("*.md")])
SOURCES = {
    "icd10cm": ("icd10cm", 0.058, 0.017),
    "hpo": ("obograph:ontologies/hp.v2024-04-26.json.gz", 0.205, 0.052),
    "doid": ("obo:ontologies/doid.2024-01-31.obo.gz", 0.299, 0.164),
    "ncit": ("obograph:ontologies/ncit-disease-2018-06-08.json.gz", 0.184, 0.071),
    "ordo": ("obograph:ontologies/ordo-2_6-2018-07-12.json.gz", 0.395, 0.295),
    "drugbank": ("drugbank:ontologies/drugbank_vocabulary.csv.gz", 0.542, 0.394),
    "uberon": ("obo:ontologies/uberon.2015-04-23.obo.gz", 0.261, 0.049),
    "hpo_zh": ("babelon:multilingual/hpo/hp-zh.babelon.tsv.gz", 0.982, 0.063),
    "hpo_ja": ("babelon:multilingual/hpo/hp-ja.babelon.tsv.gz", 0.964, 0.050),
    "hpo_fr": ("babelon:multilingual/hpo/hp-fr.babelon.tsv.gz", 0.172, 0.080),
}
"""Source to the share of names that nobody would look for if names of two words, and shorter Chinese and Japanese ones,
were passed over, and to the share that nobody looks for."""


@cache
def closed(name: str, data: Path) -> Terminology:
    """A source as if it might not be redistributed."""
    reader, _, path = SOURCES[name][0].partition(":")
    terminology = Terminology.read(reader, data / path if path else None)
    terminology.sources = {key: replace(source, redistributable=False) for key, source in terminology.sources.items()}
    return terminology


@pytest.mark.parametrize("name", SOURCES)
def test_how_many_names_are_never_looked_for(name: str, realdata: Path) -> None:
    """Catches a kind of name that is dropped, and words that are told apart otherwise than they are counted."""
    counts = sum(count_kinds([closed(name, realdata)]).values(), Counter[Kind]())
    telling, untold = counts[Kind.TELLING], sum(counts[kind] for kind in INDISTINCT)
    assert (1 - telling / counts.total(), untold / counts.total()) == pytest.approx(SOURCES[name][1:], abs=6e-4)


def test_no_honest_card_is_refused_for_a_real_name(realdata: Path, tmp_path: Path) -> None:
    """A third of a million names, as if none of them might leave, against the cards of all recipes and of the open runs.

    What is found is what an open run was asked to rank, and titles of sources that its own record would excuse.
    """
    terminologies = [closed(name, realdata) for name in SOURCES]
    assert sum(terminology.n_texts for terminology in terminologies) > 300_000
    own_text = (ROOT / "tests/recipes/cards/sapbert.md").read_text("utf-8").partition("## Training")[0]
    found = {}
    for card in CARDS:
        shutil.copy(card, tmp_path / "README.md")
        breaches = judge(tmp_path, terminologies, own_text=own_text).breaches
        found[card.name] = {breach.split("'")[1].lower() for breach in breaches}
    assert {name: held for name, held in found.items() if held} == {
        "fewshot_open.md": {"brittle nails", "shortness of breath"},
        "italian_open.md": {"rare diseases"},
        "open_encoder.md": {"rare diseases"},
    }
