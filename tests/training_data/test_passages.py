"""Passages of raw text as definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.samplers import DefinitionBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.training_data import definitions_dataset, without_benchmark
from st_biomed.training_data.passage_arguments import PassageArguments
from st_biomed.training_data.raw_passages import passages_dataset

TEXT = "He took zorbin daily, for krelosis, and the vexing pain went away.\nA krelosis of the flumpa was seen.\n"


class Tokenizer:
    mask_token = "[MASK]"


@pytest.fixture(scope="module")
def zorb() -> Terminology:
    """Five names of four concepts; krelosis names two of them."""
    terms = [("1", "zorbin"), ("2", "krelosis"), ("3", "krelosis"), ("3", "morbid krelosis"), ("4", "unseen")]
    records = [
        Term(f"ZORB:{code}", name, "synonym" if i == 3 else "preferred") for i, (code, name) in enumerate(terms)
    ]
    return Terminology.from_records(records, SourceInfo("ZORB", "Zorb"))


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    (tmp_path / "texts.txt").write_text(TEXT)
    return str(tmp_path / "texts.txt")


def passages(terminology: Terminology) -> set[tuple[str, str, str]]:
    rows = terminology.definitions.to_pylist()
    return {(terminology.codes[row["concept"]], row["text"], row["source"]) for row in rows}


def test_passages_belong_to_every_concept_of_the_name_and_do_not_have_the_name(zorb: Terminology, corpus: str):
    """Catches a name that stays in its passage, a passage of the wrong concept, and a space before a comma."""
    found, coverage = PassageArguments(corpus=[corpus], text_form="lines", passage_words=5).with_corpus(
        zorb, Tokenizer
    )
    assert coverage is not None and coverage.documents == 2
    first, second = "daily, for [MASK], and the", "A [MASK] of the flumpa"
    assert passages(found) == {
        ("ZORB:1", "He took [MASK] daily, for", "PASSAGES"),
        *((f"ZORB:{code}", text, "PASSAGES") for code in (2, 3) for text in (first, second)),
    }
    assert not found.sources["PASSAGES"].redistributable
    other, _ = PassageArguments(corpus=[corpus], text_form="lines", language="").with_corpus(zorb, Tokenizer)
    assert set(other.definitions["language"].to_pylist()) == {"en"}


def test_a_passage_has_its_name_nowhere(zorb: Terminology, tmp_path: Path):
    """Catches a second occurrence that stays, which matches the passage by its words, and a longer word that is cut."""
    (tmp_path / "texts.txt").write_text("Zorbin helps, but zorbin costs more than zorbinate.\n")
    arguments = PassageArguments(corpus=[str(tmp_path / "texts.txt")], text_form="lines", passage_words=20)
    found, _ = arguments.with_corpus(zorb, Tokenizer)
    assert {text for _, text, _ in passages(found)} == {"[MASK] helps, but [MASK] costs more than zorbinate."}


def test_a_name_that_is_a_mask_is_masked_once(tmp_path: Path):
    """Catches a mask in whose own text the name is looked for."""
    (tmp_path / "texts.txt").write_text("He wore a mask, and another mask.\n")
    masks = Terminology.from_records([Term("ZORB:1", "mask", "preferred")], SourceInfo("ZORB", "Zorb"))
    arguments = PassageArguments(corpus=[str(tmp_path / "texts.txt")], text_form="lines", passage_words=20)
    found, _ = arguments.with_corpus(masks, Tokenizer)
    assert {text for _, text, _ in passages(found)} == {"He wore a [MASK], and another [MASK]."}


def test_a_passage_without_another_word_is_dropped_and_counted(zorb: Terminology, tmp_path: Path, capsys):
    """Catches headings: the mask alone would define every concept that a line names."""
    (tmp_path / "texts.txt").write_text("zorbin\n(krelosis)\nhe took zorbin\n")
    arguments = PassageArguments(corpus=[str(tmp_path / "texts.txt")], text_form="lines")
    found, _ = arguments.with_corpus(zorb, Tokenizer)
    assert passages(found) == {("ZORB:1", "he took [MASK]", "PASSAGES")}
    assert "2 passages without a word beside the name" in capsys.readouterr().out
    (tmp_path / "texts.txt").write_text("zorbin\n")
    with pytest.raises(InputError, match=r"corpus: no passage has a word beside the name, in .*texts.txt"):
        arguments.with_corpus(zorb, Tokenizer)


def test_everything_else_of_the_terminology_stays(corpus: str):
    """Catches text ids that move, which losses and teachers know names by, and definitions that are replaced."""
    toy = Terminology.read("toy", definitions=True)
    used = f"the {toy.strings[3]} was seen"
    Path(corpus).write_text(used)
    found, _ = PassageArguments(corpus=[corpus]).with_corpus(toy, Tokenizer)
    assert found.strings == toy.strings and found.codes == toy.codes
    assert passages(toy) < passages(found) and found.n_definitions == toy.n_definitions + 1
    assert found.parents.num_rows == toy.parents.num_rows and found.relations.num_rows == toy.relations.num_rows
    assert found.digest != toy.digest


def test_sources_tallies_and_readings_stay(corpus: str):
    """Catches a closed source of codes that is no longer described, and rows that nobody counts any more."""
    closed, public = SourceInfo("ZORB", "Zorb"), SourceInfo("OPEN", "Open", redistributable=True)
    terms = [Term("ZORB:1", "zorbin", source="OPEN"), Term("ZORB:2", "krelosis", source="OPEN")]
    named = Terminology.from_records([closed, public, *terms], closed)
    whole = Terminology.merge(named, Terminology.read("toy"))
    found, _ = PassageArguments(corpus=[corpus], text_form="lines").with_corpus(whole, Tokenizer)
    assert found.sources == {**whole.sources, "PASSAGES": found.sources["PASSAGES"]} and "ZORB" in whole.sources
    assert found.tallies.items() >= whole.tallies.items() and found.tallies["passages"].adds_up()
    assert found.readings == whole.readings != []


def test_the_number_of_passages_of_a_concept_is_limited_and_drawn_by_the_text_alone(zorb: Terminology, tmp_path: Path):
    """Catches a limit that is not applied, and passages that change from run to run."""
    (tmp_path / "many.txt").write_text("".join(f"patient {i} took zorbin\n" for i in range(50)))
    arguments = PassageArguments(corpus=[str(tmp_path / "many.txt")], text_form="lines", passages_per_concept=7)
    found, again = (arguments.with_corpus(zorb, Tokenizer)[0] for _ in range(2))
    assert found.n_definitions == 7
    assert passages(found) == passages(again) and found.digest == again.digest


def test_names_of_held_out_concepts_are_not_looked_for(zorb: Terminology, corpus: str):
    """Catches passages that are found before the split, which would train what is measured."""
    train = without_benchmark(zorb, codes=["ZORB:1"], names=["zorbin"])
    found, _ = PassageArguments(corpus=[corpus], text_form="lines").with_corpus(train, Tokenizer)
    assert {code for code, *_ in passages(found)} == {"ZORB:2", "ZORB:3"}


def test_no_corpus_changes_nothing_and_a_corpus_without_a_name_is_one_line(zorb: Terminology, tmp_path: Path):
    assert PassageArguments().with_corpus(zorb, Tokenizer) == (zorb, None)
    (tmp_path / "other.txt").write_text("nothing of it")
    with pytest.raises(InputError, match=r"corpus: no name of the terminology is used in .*other.txt"):
        PassageArguments(corpus=[str(tmp_path / "other.txt")]).with_corpus(zorb, Tokenizer)


def test_batches_take_passages_as_definitions(zorb: Terminology, corpus: str):
    """Catches rows of passages that the sampler of definitions does not know."""
    found, _ = PassageArguments(corpus=[corpus], text_form="lines").with_corpus(zorb, object())
    rows = definitions_dataset(found)
    batches = list(DefinitionBatchSampler(rows, 4, terminology=found, drop_last=True, seed=0))
    texts = {rows[i]["text"] for batch in batches for i in batch}
    assert any("..." in text for text in texts) and batches


def test_passages_of_plain_strings_are_refused():
    with pytest.raises(InputError, match="^each of documents must be a Document, found str$"):
        passages_dataset(["a b"])  # type: ignore[list-item]
