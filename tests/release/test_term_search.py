"""Claims about finding terms in files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from st_biomed.release import term_search
from st_biomed.release.term_search import TermSearch, strings_in

TERM = "Chronic zorbal inflammation, of the left flenn"


def occurs(text: str, term: str = TERM) -> bool:
    return bool(TermSearch({"file": [text]}).find(pa.array([term])))


words = st.lists(st.sampled_from(["a", "of", "zorb", "flennitis", "mibbleglobulinaemiaopathy", "7"]), max_size=9)


@settings(deadline=None)
@given(text=words, terms=st.lists(words, max_size=5))
def test_finds_exactly_the_terms_that_a_naive_search_finds(text: list[str], terms: list[list[str]]) -> None:
    """Would catch a term lost, or invented, where it is shorter, as long as or longer than the indexed head."""
    found = TermSearch({"file": [" ".join(text)]}).find(pa.array([" ".join(term) for term in terms], pa.string()))
    naive = {
        " ".join(term)
        for term in terms
        if term and any(text[i : i + len(term)] == term for i in range(len(text) - len(term) + 1))
    }
    assert set(found) == naive


@pytest.mark.parametrize(
    "text",
    [
        "see CHRONIC ZORBAL INFLAMMATION OF THE LEFT FLENN.",
        "| chronic zorbal\ninflammation (of the *left* flenn) |",
        "chronic_zorbal_inflammation-of-the-left-flenn",
        "\ufeffchronic zorbal in\ufb02ammation of the left \uff46\uff4c\uff45\uff4e\uff4e",
    ],
)
def test_case_punctuation_and_layout_do_not_hide_a_term(text: str) -> None:
    """Would catch a rule that a line break or a capital letter slips through."""
    assert occurs(text)


def test_words_are_whole_and_terms_stay_within_one_passage() -> None:
    """Would catch a term found in the middle of longer words, or glued together from neighbouring strings."""
    assert not occurs("nonchronic zorbal inflammation of the left flenn")
    assert not occurs("chronic zorbal inflammation of the left flennitis")
    assert not TermSearch({"file": ["chronic zorbal inflammation", "of the left flenn"]}).find(pa.array([TERM]))


def test_terms_beyond_the_first_batch_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a search that stops after one batch, or takes terms of one batch for those of another."""
    monkeypatch.setattr(term_search, "_ROWS", 3)
    terms = pa.chunked_array([[f"term number {i}" for i in range(5)], [f"term number {i}" for i in range(5, 11)]])
    assert TermSearch({"file": ["term number 9"]}).find(terms) == {"term number 9": "term number 9"}


def write_json(path: Path) -> None:
    path.write_text('{"a": 1, "a": {"x": ["\\u0043hronic zorbal inflammation\\nof the left flenn"]}, "a": 2}')


def write_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"sampler": [TERM, 5]}, protocol=4))


def write_archive(path: Path) -> None:
    torch.save({"sampler": (1, TERM, torch.zeros(3))}, path)


def write_old_archive(path: Path) -> None:
    torch.save({"sampler": TERM}, path, _use_new_zipfile_serialization=False)


def write_array(path: Path) -> None:
    torch.save({"texts": np.array(["x", TERM, TERM + " and more"])}, path)


def write_safetensors(path: Path) -> None:
    header = json.dumps({"__metadata__": {"note": TERM}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)


def write_markdown(path: Path) -> None:
    path.write_text("chronic&nbsp;zorbal inflammation&#44; of the left&#32;flenn")


def write_log(path: Path) -> None:
    path.write_bytes(b"\xff\x00 step 1: " + TERM.encode() + b"\x00\xfe")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("run.json", write_json),
        ("sampler.pkl", write_pickle),
        ("training_args.bin", write_archive),
        ("training_args.bin", write_old_archive),
        ("training_args.bin", write_array),
        ("model.safetensors", write_safetensors),
        ("README.md", write_markdown),
        ("train.log", write_log),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_reads_the_strings_of_every_kind_of_file(tmp_path: Path, name: str, write) -> None:
    """Would catch a term that hides in an escape, a repeated key, beside a pickle's opcodes or in a header."""
    write(tmp_path / name)
    assert TermSearch({name: strings_in(tmp_path / name)}).find(pa.array([TERM]))


def test_a_pickle_is_read_without_being_executed(tmp_path: Path) -> None:
    """Would catch reading a file to check by unpickling it."""
    (tmp_path / "x.pkl").write_bytes(b"\x80\x02cos\nmkdir\n" + pickle.dumps(str(tmp_path / "made"))[2:-1] + b"\x85R.")
    strings_in(tmp_path / "x.pkl")
    assert not (tmp_path / "made").exists()
