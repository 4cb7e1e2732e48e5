"""The rule run again before a folder leaves: what has to be at hand for it, where it is looked for, and what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from zorb_terms import OPEN, PAIRS, TERM, ZORB, terminology

from st_biomed.errors import InputError
from st_biomed.release.recheck import recheck
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology

QUUX = replace(ZORB, name="QUUX", title="Quux Index")
QUUX_TERM = "snicker-snack of the left manxome foe"


@pytest.fixture
def both(licensed: Terminology) -> tuple[Terminology, Terminology]:
    return licensed, terminology(QUUX, [(QUUX_TERM,)])


def run_of(trained, *terminologies: Terminology, **configuration: object):
    """The record of the trained model as if it had been trained on something else."""
    record = RunRecord("x", "example/tiny-bert", configuration, 0, terminologies)
    return {**trained.run, "terminologies": record.to_dict()["terminologies"], "configuration": configuration}


def plant(release: Path, term: str) -> None:
    with (release / "README.md").open("a") as card:
        card.write(f"For example, {term}.")


def test_a_merged_terminology_is_put_together_from_its_sources(release: Path, trained, both) -> None:
    """Catches a person with both sources who is told that neither is the right one."""
    run = run_of(trained, Terminology.merge(*both))
    assert recheck(release, run, both) == (
        "no name of QUUX, ZORB in any file: 17 of 17 names are looked for (17 of at least 3 words or 20 characters)"
    )
    with pytest.raises(InputError, match="names of QUUX, ZORB may not be redistributed, and .* is not available"):
        recheck(release, run, both[:1])
    plant(release, QUUX_TERM)
    with pytest.raises(InputError, match=f"README.md: holds '{QUUX_TERM}'"):
        recheck(release, run, both)


def test_it_is_found_where_the_recipe_had_it(release: Path, trained, both, tmp_path: Path) -> None:
    places = [str(terminology.save(tmp_path / name)) for name, terminology in zip("ab", both)]
    run = run_of(trained, Terminology.merge(*both), terminology=places)
    assert "17 of 17 names are looked for" in recheck(release, run)
    (tmp_path / "b" / "terminology.json").unlink()
    with pytest.raises(InputError, match="is not available"):
        recheck(release, run)


def test_an_allowed_source_is_no_longer_searched_and_another_still_is(release: Path, trained, both) -> None:
    """Catches a permission for one source that lets all go."""
    run = run_of(trained, *both)
    plant(release, TERM)
    report = recheck(release, run, both[1:], allow_sources=["ZORB"])
    assert report == (
        "no name of QUUX in any file: 1 of 1 names are looked for (1 of at least 3 words or 20 characters)\n"
        "ZORB: allowed to leave by --allow-source, not searched for"
    )
    assert recheck(release, run, both, allow_sources=["ZORB", "QUUX"]).startswith("QUUX, ZORB: allowed to leave")
    with pytest.raises(InputError, match="holds 'chronic zorbal inflammation of the left flenn'"):
        recheck(release, run, both, allow_sources=["QUUX"])
    assert not both[0].sources["ZORB"].redistributable


def test_open_sources_need_not_be_at_hand(release: Path, trained) -> None:
    run = run_of(trained, terminology(OPEN, PAIRS))
    assert recheck(release, run) == "every source may be redistributed"
    assert recheck(release, run_of(trained)).startswith("no terminology is recorded")
    (release / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="notes.txt: is not on the list of published files"):
        recheck(release, run)


def test_a_base_model_within_reach_vouches_for_the_tokenizer(
    release: Path, trained, licensed: Terminology, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a tokenizer that was released as its base model's, and is refused when it is published."""
    for folder in (release, tmp_path / "base"):
        folder.mkdir(exist_ok=True)
        (folder / "spiece.model").write_bytes(b"pieces")
    run = run_of(trained, licensed)
    with pytest.raises(InputError, match="spiece.model: differs from the base model's"):
        recheck(release, run, [licensed])
    (tmp_path / "base" / "config.json").write_text("{}")
    assert recheck(release, run, [licensed], base_model=tmp_path / "base")
    assert recheck(release, run_of(trained, licensed, base_model=str(tmp_path / "base")), [licensed])
    with pytest.raises(InputError, match="base model 'nobody/nothing'"):
        recheck(release, run, [licensed], base_model="nobody/nothing")


def test_what_cannot_be_told_from_ordinary_words_is_counted_by_kind_and_source(release: Path, trained) -> None:
    """Catches a verdict that claims to have looked for "flumpa", and one that is silent on what it found and let pass."""
    short = terminology(
        ZORB, [("flumpa", TERM, "gradthic flumpitis", "急性流恩炎症", "肺炎", "a 1", "1 2"), ("gradtha",)]
    )
    other = terminology(QUUX, [("Heart attack",), ("snicker",)])
    report = recheck(release, run_of(trained, short, other), [short, other])
    assert report.splitlines() == [
        "no name of QUUX, ZORB in any file: 4 of 10 names are looked for (1 of at least 3 words or 20 characters, "
        "2 of two words and at least 6 letters, 1 of at least 4 Chinese, Japanese or Korean characters)",
        "QUUX: not told from ordinary words, and not looked for: 1 of a single word",
        "ZORB: not told from ordinary words, and not looked for: 2 of a single word, 1 of several words and fewer than 6 letters, "
        "1 of fewer than 4 Chinese, Japanese or Korean characters, 1 without a letter",
        "found, and ordinary text of a card or this package: 'Heart attack'",
    ]
