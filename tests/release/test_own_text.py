"""Claims about ordinary text: what may stand in any release, though some terminology has a name for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from zorb_terms import OPEN, ZORB, terminology

from st_biomed.records import Relation, SourceInfo, Term, Type
from st_biomed.release.own_text import labels_of, package, said_of_sources
from st_biomed.release.privacy import judge
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology


def findings(folder: Path, card: str, *terminologies: Terminology, own_text: str = ""):
    (folder / "README.md").write_text(card, "utf-8")
    return judge(folder, terminologies, own_text=own_text)


@pytest.mark.parametrize("name", ["Data set", "Heart attack", "weight decay", "ROC curve", "Hard negatives"])
def test_what_this_package_says_is_ordinary(name: str, tmp_path: Path) -> None:
    """Catches a release refused for "data set", which is a concept of more than one terminology."""
    found = findings(tmp_path, f"It is about a {name.lower()}.", terminology(ZORB, [(name,)]))
    assert found.breaches == [] and found.ordinary == {name}


@pytest.mark.parametrize("name", ["gradthic flumpitis", "brittle nails", "rare diseases"])
def test_what_stands_in_results_and_cards_of_runs_is_not(name: str, tmp_path: Path) -> None:
    """Catches a name that is excused since a run that had it in its settings was committed."""
    assert findings(tmp_path, f"It is about {name}.", terminology(ZORB, [(name,)])).breaches != []


def test_sources_and_labels_speak_for_themselves(tmp_path: Path) -> None:
    """Catches a table of results whose rows are relations, refused for the concept of the relation's name."""
    source = SourceInfo(
        "OTHER", "Atlas of Rare Flumps", "1", "public domain", "https://x.example", redistributable=False
    )
    records = [Term("OTHER:1", "zorb"), Term("OTHER:2", "flump"), Type("OTHER:1", "Flumpa Sign")]
    other = Terminology.from_records([*records, Relation("OTHER:1", "has_gradthic_site", "OTHER:2")], source)
    assert {"Flumpa Sign", "has_gradthic_site"} <= set(labels_of([other]))
    names = terminology(ZORB, [("gradthic site", "flumpa sign", "rare flumps", "flumpa site")])
    card = "| flumpa_sign | 1 |\n| has_gradthic_site | 2 |\n| Atlas of Rare Flumps | 3 |\n"
    assert findings(tmp_path, card, names, other).breaches == []
    assert len(findings(tmp_path, card, names).breaches) == 3
    (breach,) = findings(tmp_path, card + "| flumpa site | 4 |", names, other).breaches
    assert "'flumpa site'" in breach


def test_a_record_speaks_for_the_open_sources_of_every_stage() -> None:
    """Catches the title of an open ontology that an earlier stage was trained on, and a record that excuses any name."""
    run = RunRecord("x", "y", {}, 0, [terminology(ZORB, [("a",)])]).to_dict()
    earlier = RunRecord("x", "y", {}, 0, [terminology(OPEN, [("b",)])]).to_dict()["terminologies"]
    run["earlier"] = [{**run, "losses": [], "terminologies": earlier}]  # type: ignore[typeddict-item]
    text = said_of_sources(run)
    assert OPEN.title in text and OPEN.license in text and ZORB.title not in text


def test_the_package_is_read_once() -> None:
    """Catches seconds for every release of a run that makes many."""
    assert package() is package()
