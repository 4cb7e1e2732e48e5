"""Definitions that may not be redistributed: whole, cut, in other spellings; and what is no breach."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from zorb_terms import OPEN, ZORB

from st_biomed.errors import InputError
from st_biomed.records import Definition, Term
from st_biomed.release.definition_search import (
    INDISTINCT,
    NGRAM_WORDS,
    NGRAMS,
    SHORT_DEFINITIONS,
    count_definitions,
    find_definitions,
)
from st_biomed.release.privacy import check_training_arguments, judge
from st_biomed.release.recheck import recheck
from st_biomed.release.run_record import RunRecord
from st_biomed.release.term_search import TermSearch
from st_biomed.terminology import Terminology

LONG = (
    "A slow swelling of the left flenn, mostly in frumious toves, that begins after the third brillig and is marked by "
    "gimbling, outgrabing and a burbling cough; the vorpal form has no fever."
)
SHORT = "A frumious tove."
TINY = "Toves."


def defined(source=ZORB, texts=(LONG, SHORT, TINY), names=()) -> Terminology:
    records = [
        Term(f"{source.name}:0", "flennitis"),
        *(Term(f"{source.name}:{i}", name) for i, name in enumerate(names)),
    ]
    return Terminology.from_records([*records, *(Definition(f"{source.name}:0", text) for text in texts)], source)


@pytest.fixture
def breaches(release: Path, tiny_bert_folder: Path):
    """Asks for the breaches of the release folder as it is now."""

    def ask(*more: Terminology, own_text: str = "") -> list[str]:
        return judge(release, [defined(), *more], tiny_bert_folder, own_text=own_text).breaches

    return ask


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + f"\n{text}\n", "utf-8")


def test_an_honest_release_has_none(breaches) -> None:
    """Catches a rule that finds ordinary sentences."""
    assert breaches() == []


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        f"see: {LONG.upper()}",
        LONG.replace(" ", "\n"),
        " ".join(LONG.split()[5 : 5 + NGRAM_WORDS]),  # a run of words, cut at both ends
        f"It is said that {' '.join(LONG.split()[-NGRAM_WORDS:])}",
        LONG[:70],  # cut in a word
        LONG.replace("frumious", "<b>frumious</b>").replace("third", "2nd"),
        LONG.replace(",", " -").replace("swelling", "swélling"),
        SHORT,
        f"Think of {SHORT.lower()}",
    ],
)
def test_a_definition_in_the_card_is_refused(text: str, release: Path, breaches) -> None:
    """Catches a search for whole definitions alone, and one that another letter case or line break escapes."""
    append(release / "README.md", text)
    (line,) = breaches()
    assert line.startswith("README.md: holds '")
    assert line.endswith("of a definition known only from ZORB, which may not be redistributed")


def test_each_file_and_definition_is_one_line(release: Path, breaches) -> None:
    """Catches a line for each run of a definition, and a second file that the first one hides."""
    append(release / "README.md", f"{LONG}\n\n{SHORT}")
    path = release / "run.json"
    path.write_text(json.dumps({"x": [json.loads(path.read_text()), LONG]}))
    assert Counter(line.partition(":")[0] for line in breaches()) == {"README.md": 2, "run.json": 1}


@pytest.mark.parametrize(
    "text",
    [
        " ".join(LONG.split()[5 : 4 + NGRAM_WORDS]),  # a word fewer
        " ".join(reversed(LONG.split())),
        "A tove that is frumious.",
        TINY,
    ],
)
def test_less_than_that_is_no_breach(text: str, release: Path, breaches) -> None:
    append(release / "README.md", text)
    assert breaches() == []


def test_what_an_open_source_says_too_is_excused(release: Path, breaches) -> None:
    """Catches a release that is refused for the words of an open ontology, which a licensed one quotes."""
    append(release / "README.md", f"{LONG} {SHORT}")
    assert len(breaches()) == 2
    assert breaches(defined(OPEN, [f"Some say: {LONG}", SHORT])) == []
    run = " ".join(LONG.split()[5 : 5 + NGRAM_WORDS])
    assert len(breaches(defined(OPEN, [run, SHORT]))) == 1, "of the other runs nobody else has one"
    assert breaches(defined(OPEN, [LONG], names=[SHORT])) == []


def test_ordinary_text_is_excused_and_told(release: Path, tiny_bert_folder: Path) -> None:
    append(release / "README.md", SHORT)
    findings = judge(release, [defined()], tiny_bert_folder, own_text=f"As they say, {SHORT}")
    assert (findings.breaches, findings.ordinary) == ([], {"a frumious tove"})


def test_numbers_in_a_row_are_no_definition(release: Path, breaches) -> None:
    """Catches a table of results that is refused for a definition with as many figures."""
    digits = "0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8"
    append(release / "README.md", f"| {digits.replace(' ', ' | ')} |")
    assert breaches(defined(ZORB, [f"Levels {digits} of flumpa."])) == []


def test_definitions_in_training_arguments_are_refused(tmp_path: Path) -> None:
    """Catches a sampler that carries an open terminology along."""
    torch.save({"batch_sampler": ("texts", [LONG])}, tmp_path / "training_args.bin")
    with pytest.raises(InputError, match="carries data: holds 'a slow swelling of the left flenn"):
        check_training_arguments(tmp_path / "training_args.bin", [defined(OPEN)])


def test_what_is_looked_for_is_counted_and_told(release: Path, trained) -> None:
    """Catches a verdict that claims to have looked for "Toves."."""
    licensed = defined()
    assert count_definitions([licensed, defined(OPEN)]) == {"ZORB": {NGRAMS: 1, SHORT_DEFINITIONS: 1, INDISTINCT: 1}}
    record = RunRecord("x", "example/tiny-bert", {}, 0, [licensed])
    run = {**trained.run, "terminologies": record.to_dict()["terminologies"], "configuration": {}}
    assert recheck(release, run, [licensed]).splitlines()[1:3] == [
        "no definition of ZORB: 2 of 3 are looked for (1 of at least 8 words, of which no 8 stand in a row, 1 shorter and "
        "of at least 3 words or 20 characters, none of which stands there whole)",
        "ZORB: not told from ordinary words, and not looked for: 1 definitions of fewer words",
    ]
    append(release / "README.md", LONG)
    with pytest.raises(InputError, match="README.md: holds 'a slow swelling"):
        recheck(release, run, [licensed])


def test_a_run_does_not_go_on_into_the_next_definition() -> None:
    """Catches the end of one definition and the beginning of the next taken for one."""
    texts = ["one two three four five six", "seven eight nine ten eleven twelve thirteen fourteen"]
    text = "three four five six seven eight nine ten"
    terminology = defined(texts=texts)
    assert terminology.definition_strings == texts
    assert list(find_definitions(terminology.definitions["text"], TermSearch({"x": [text]}))) == []
    found = list(find_definitions(terminology.definitions["text"], TermSearch({"x": [texts[1]]})))
    assert {(finding.row, finding.words) for finding in found} == {(1, texts[1])}


@pytest.mark.long
def test_a_hundred_thousand_definitions_take_seconds() -> None:
    """Catches a loop over definitions: it would take minutes. Measured: 2 s on one core."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}rd" for i in range(20_000)])
    texts = [" ".join(row) for row in words[rng.integers(len(words), size=(100_000, 25))]]
    terminology = defined(texts=texts)
    search = TermSearch({"card": [" ".join(words[:3_000]), " ".join(texts[17].split()[3:14])]})
    start = time.process_time()
    found = list(find_definitions(terminology.definitions["text"], search))
    assert {terminology.definition_strings[finding.row] for finding in found} == {texts[17]}
    assert time.process_time() - start < 60
