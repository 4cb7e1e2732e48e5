"""Build, search, save, load; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex, EncodingOptions
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.records import Record, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.fresh import run_fresh


def naive(zorb: Terminology, model: SentenceTransformer, text: str) -> list[tuple[str, float]]:
    """Every concept with the highest cosine of its names."""
    unit = lambda vectors: vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (unit(model.encode(zorb.strings)) @ unit(model.encode([text])).T)[:, 0]
    best = {code: max(cosines[zorb.concept_texts.row(zorb.concept(code))]) for code in zorb.codes}
    return sorted(best.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_concepts_come_by_their_nearest_name(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path, kind: str
) -> None:
    """Catches scores of names summed or averaged, and a name that is not the one that matched."""
    options = EncodingOptions(bf16=False)
    built = ConceptIndex.build(zorb, tiny_bert, tmp_path / "index", kind=kind, recall=1.0, encoding=options)
    for index in (built, ConceptIndex.load(tmp_path / "index", tiny_bert)):
        for text in ("flumpa diseases", "gradthas"):
            found = index.search([text], k=4)[0]
            expected = naive(zorb, tiny_bert, text)
            np.testing.assert_allclose([match.score for match in found], [s for _, s in expected], atol=2e-6)
            assert found[0].concept == expected[0][0]
            assert found[0].name in zorb.concept_names(found[0].concept)
    (match,) = index.search(["flumpa disease"], k=1)[0]
    assert match._replace(score=1.0) == ("ZORB:1", 1.0, "flumpa disease", "flumpa disease", ("disorder",))
    assert match.score == pytest.approx(1, abs=1e-2)


def test_texts_keep_their_order_and_equal_ones_are_encoded_once(
    index: ConceptIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["vogla", "flumpa", "vogla", "gradthitis", "flumpa"]
    seen: list[str] = []
    encode = index._encoder.encode
    monkeypatch.setattr(index._encoder, "encode", lambda texts, task: seen.extend(texts) or encode(texts, task=task))
    found = index.search(texts, k=1)
    assert seen == ["vogla", "flumpa", "gradthitis"]
    assert [matches[0].name for matches in found[1:]] == ["flumpa", found[0][0].name, "gradthitis", "flumpa"]
    assert index.search([]) == []


def test_an_ambiguous_name_gives_all_its_concepts(index: ConceptIndex) -> None:
    first, second = index.search(["flumpitis"], k=2)[0]
    assert (first.concept, second.concept, first.score) == ("ZORB:1", "ZORB:4", second.score)


def test_a_type_leaves_its_concepts_alone_even_at_an_ambiguous_name(index: ConceptIndex) -> None:
    """Catches a filter of names: ``flumpitis`` names an organ and a disorder."""
    found = index.search(["flumpitis"], k=5, types=["organ"])[0]
    assert [match.concept for match in found] == ["ZORB:4", "ZORB:3"]
    assert {match.concept for match in index.search(["flumpitis"], k=5, types=["disorder"])[0]} == {"ZORB:1", "ZORB:2"}
    with pytest.raises(InputError, match="no concept has type 'gland'"):
        index.search(["flumpa"], types=["gland"])
    with pytest.raises(InputError, match="types: expected a list of semantic types, found 'organ'"):
        index.search(["flumpa"], types="organ")


def test_below_the_threshold_a_mention_has_no_concept(index: ConceptIndex) -> None:
    scores = [match.score for match in index.search(["flumpa disease"], k=4)[0]]
    assert [match.score for match in index.search(["flumpa disease"], k=4, threshold=scores[1])[0]] == scores[:2]
    assert index.search(["flumpa disease"], threshold=1.5) == [[]]


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_a_concept_of_many_names_hides_no_other(tiny_bert: SentenceTransformer, tmp_path: Path, kind: str) -> None:
    """Catches a search that stops at a fixed number of names: the first three hundred are of one concept."""
    records: list[Record] = [Term("ZORB:1", f"flumpa disease type {i}", "synonym") for i in range(300)]
    records += [Term("ZORB:2", "gradtha"), Term("ZORB:3", "x9")]
    terminology = Terminology.from_records(records, SourceInfo("ZORB", "Zorb"))
    index = ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", kind=kind)
    found = index.search(["flumpa disease type 7", "gradtha"], k=3)
    assert found[0][0].concept == "ZORB:1"
    assert [sorted(match.concept for match in matches) for matches in found] == [["ZORB:1", "ZORB:2", "ZORB:3"]] * 2
    easy, hard = index.search(["gradtha", "flumpa disease type 7"], k=2)  # the first needs no second look
    assert (len(easy), easy[0].concept, len(hard), hard[0].name) == (2, "ZORB:2", 2, "flumpa disease type 7")


def test_a_dictionary_is_indexed_too(dictionary: LinkingDictionary, tiny_bert_folder: Path, tmp_path: Path) -> None:
    index = ConceptIndex.build(dictionary, tiny_bert_folder, tmp_path / "index")
    assert {match.concept for match in index.search(["vogla fever"], k=3)[0]} == set(dictionary.ids)
    with pytest.raises(InputError, match="the index has no semantic types"):
        index.search(["vogla"], types=["organ"])


def test_codes_are_built_loaded_and_searched(
    many_names: Callable[[int], Terminology], tiny_bert: SentenceTransformer, zorb: Terminology, tmp_path: Path
) -> None:
    terminology = many_names(700)
    options = EncodingOptions(bf16=False)
    built = ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", kind="ivfpq", encoding=options)
    loaded = ConceptIndex.load(tmp_path / "index", tiny_bert)
    assert loaded.search(["flumpa vogla 7"]) == built.search(["flumpa vogla 7"])
    names = terminology.strings[::50]
    assert all(matches[0].score > 0.99 for matches in loaded.search(names, k=1))
    assert "700 names of 100 concepts, 16 dimensions, ivfpq: recall@1" in loaded.summary
    with pytest.raises(InputError, match="kind 'ivfpq' needs at least 624 names to learn from, found 7; use 'exact'"):
        ConceptIndex.build(zorb, tiny_bert, tmp_path / "small", kind="ivfpq")


def test_vectors_are_searched_without_a_model(index: ConceptIndex, tmp_path: Path) -> None:
    loaded = ConceptIndex.load(tmp_path / "index")
    rows = np.asarray(loaded.vectors.matrix)
    names = [loaded.search_vectors(rows[[i]], k=1)[0][0].name for i in range(len(rows))]
    assert names == loaded.catalog.texts(slice(None))
    with pytest.raises(InputError, match=r"vectors: expected \[Q, 16\], the dimension of the index, found \[2, 17\]"):
        loaded.search_vectors(np.zeros((2, 17)))
    with pytest.raises(InputError, match="vectors: hold NaN or infinity"):
        loaded.search_vectors(np.full((1, 16), np.nan))


def test_the_recorded_model_is_loaded_when_it_is_needed(
    index: ConceptIndex, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    assert ConceptIndex.load(tmp_path / "index").search(["flumpa"], k=1) == index.search(["flumpa"], k=1)
    ConceptIndex.build(index.catalog, tiny_bert, tmp_path / "other")
    with pytest.raises(InputError, match="was built with a model given as an object; give it to load"):
        ConceptIndex.load(tmp_path / "other").search(["flumpa"])


def test_half_precision_on_disk_is_half_the_size_and_close(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    sizes, scores = [], []
    for dtype in ("float32", "float16"):
        index = ConceptIndex.build(
            zorb, tiny_bert, tmp_path / dtype, encoding=EncodingOptions(dtype=dtype, bf16=False)
        )
        sizes.append(index.vectors.matrix.nbytes)
        scores.append([match.score for match in index.search(["flumpas"], k=4)[0]])
    assert sizes[0] == 2 * sizes[1]
    np.testing.assert_allclose(scores[0], scores[1], atol=2e-3)


# ---------------------------------------------------------------------- on disk


def test_no_file_is_a_pickle_and_a_copy_is_an_index(index: ConceptIndex, tmp_path: Path) -> None:
    copy = index.save(tmp_path / "copy")
    assert sorted(path.name for path in copy.iterdir()) == [
        "concepts.parquet",
        "index.json",
        "names.parquet",
        "origins.parquet",
        "vectors.npy",
    ]
    assert ConceptIndex.load(copy).search(["flumpa"]) == index.search(["flumpa"])
    assert json.loads((copy / "index.json").read_text())["sources"][0]["license"] == "CC0-1.0"
    with pytest.raises(InputError, match="copy: already contains an index"):
        index.save(copy)


def test_another_model_is_refused(index: ConceptIndex, tiny_bert: SentenceTransformer, tmp_path: Path) -> None:
    tiny_bert.max_seq_length = 7
    with pytest.raises(InputError, match=r"was built with model .*model \(sha256 \w{12}\), this one has sha256"):
        ConceptIndex.load(tmp_path / "index", tiny_bert)


@pytest.mark.parametrize(
    "name", ["names.parquet", "concepts.parquet", "origins.parquet", "vectors.npy", "vectors.faiss"]
)
def test_a_file_that_is_not_the_one_that_was_written_is_named(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path, name: str
) -> None:
    """Catches an index that answers from a matrix that was cut short, or from one of another build."""
    folder = tmp_path / "index"
    ConceptIndex.build(zorb, tiny_bert, folder, kind="hnsw")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-7])
    with pytest.raises(InputError, match=f"{name}: truncated, has {len(whole) - 7:,} bytes and had {len(whole):,}"):
        ConceptIndex.load(folder, verify=False)
    (folder / name).write_bytes(whole[:-7] + bytes(255 - byte for byte in whole[-7:]))
    with pytest.raises(InputError, match=f"{name}: damaged or from another folder"):
        ConceptIndex.load(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name}: is missing; build the index again"):
        ConceptIndex.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"format": 3', '"format": 2', "is of format 2, this version reads 3; build the index again"),
        ('"names"', '"nouns"', r"index.json: damaged or edited"),
        ("{", "[", r"index.json: damaged \(JSONDecodeError\)"),
        ('"names": 7', '"names": 8', "index.json: damaged or edited"),
    ],
)
def test_a_header_that_was_edited_is_one_line(
    index: ConceptIndex, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "index" / "index.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        ConceptIndex.load(tmp_path / "index")


def test_folders_that_are_in_use_or_hold_no_index(index: ConceptIndex, zorb: Terminology, tmp_path: Path) -> None:
    model = index._encoder.model
    with pytest.raises(
        InputError, match="index: already contains an index; choose another folder, or replace it with --overwrite"
    ):
        ConceptIndex.build(zorb, model, tmp_path / "index")
    assert ConceptIndex.build(zorb, model, tmp_path / "index", kind="hnsw", overwrite=True).manifest.kind == "hnsw"
    with pytest.raises(InputError, match="base model 'no/such' is not a local folder"):
        ConceptIndex.build(zorb, "no/such", tmp_path / "index", overwrite=True)
    assert (
        ConceptIndex.load(tmp_path / "index").manifest.kind == "hnsw"
    )  # nothing is removed before the model is there
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="full: is not empty and has no index.json"):
            ConceptIndex.build(zorb, model, tmp_path / "full", overwrite=overwrite)
    with pytest.raises(InputError, match=r"full: no index.json in it; expected a folder written by"):
        ConceptIndex.load(tmp_path / "full")
    with pytest.raises(InputError, match="nowhere: no such folder"):
        ConceptIndex.load(tmp_path / "nowhere")


def test_arguments_are_checked_before_anything_is_written(
    index: ConceptIndex, zorb: Terminology, tmp_path: Path
) -> None:
    model = index._encoder.model
    with pytest.raises(InputError, match="unknown kind 'flat': allowed are 'auto', 'exact', 'hnsw', 'ivfpq'"):
        ConceptIndex.build(zorb, model, tmp_path / "new", kind="flat")
    with pytest.raises(InputError, match="recall must be above 0 and at most 1, found 1.1"):
        ConceptIndex.build(zorb, model, tmp_path / "new", recall=1.1)
    with pytest.raises(InputError, match="unknown dtype 'float8'"):
        EncodingOptions(dtype="float8")
    with pytest.raises(InputError, match="rows_per_commit must be at least 1, found 0"):
        EncodingOptions(rows_per_commit=0)
    with pytest.raises(InputError, match="k must be at least 1, found 0"):
        index.search(["flumpa"], k=0)
    with pytest.raises(InputError, match="texts: expected a list of strings, found 'flumpa'"):
        index.search("flumpa")
    with pytest.raises(InputError, match="texts: expected a list of strings, found None"):
        index.search(["flumpa", None])
    assert not (tmp_path / "new").exists()


def test_a_vector_that_is_not_finite_stops_the_build_and_names_the_text(
    zorb: Terminology, tiny_bert: SentenceTransformer, tmp_path: Path
) -> None:
    next(tiny_bert[0].parameters()).data[:] = np.nan
    with pytest.raises(InputError, match="the model returns NaN or infinity for 'disease of the flumpa'"):
        ConceptIndex.build(zorb, tiny_bert, tmp_path / "index")


# ---------------------------------------------------------------------- a kill


_KILLED = """
import os, signal, sys
import numpy as np
from st_biomed.linking import ConceptIndex, EncodingOptions, vectors
from st_biomed.terminology import Terminology

write = vectors.replace_text
commits = 0

def kill_at_the_third(path, text):
    # The rows of the third block are in the file, and encoding.json does not know of them yet.
    global commits
    commits += 1
    if commits == 4:  # the first one is of no row
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, text)

vectors.replace_text = kill_at_the_third
terminology, model, folder = sys.argv[1:]
ConceptIndex.build(Terminology.load(terminology), model, folder, encoding=EncodingOptions(rows_per_commit=10))
"""


def test_a_build_that_was_killed_goes_on_and_ends_as_an_unbroken_one(
    many_names: Callable[[int], Terminology], tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches rows that are lost, doubled or shifted by a kill, and a build that begins anew."""
    terminology = many_names(64)
    terminology.save(tmp_path / "terminology")
    words = [str(path) for path in (tmp_path / "terminology", tiny_bert_folder, tmp_path / "broken")]
    process = run_fresh(_KILLED, *words)
    assert process.returncode == -9, process.stderr
    with pytest.raises(InputError, match="encoding was interrupted at 20 of 64 names; run the same build again"):
        ConceptIndex.load(tmp_path / "broken")

    options = EncodingOptions(rows_per_commit=10)
    unbroken = ConceptIndex.build(terminology, tiny_bert_folder, tmp_path / "unbroken", encoding=options)
    encoded: list[str] = []
    from st_biomed.linking.encoding import NameEncoder

    encode = NameEncoder.encode

    def counted(self, texts, *, task):
        encoded.extend(texts if task == "document" else ())
        return encode(self, texts, task=task)

    monkeypatch.setattr(NameEncoder, "encode", counted)
    resumed = ConceptIndex.build(terminology, tiny_bert_folder, tmp_path / "broken", encoding=options)
    assert len(encoded) == 1 + 44  # the first name tells the dimension
    for name in unbroken.manifest.files:
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes()
    assert resumed.manifest == unbroken.manifest
    assert not (tmp_path / "broken" / "encoding.json").exists()


def test_an_interrupted_encoding_is_not_resumed_with_another_model(
    many_names: Callable[[int], Terminology],
    tiny_bert: SentenceTransformer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches a matrix half of whose rows are another model's; ``overwrite`` begins anew."""
    from st_biomed.linking import encode_names

    terminology, options = many_names(30), EncodingOptions(rows_per_commit=10)
    blocks = encode_names._local_blocks
    monkeypatch.setattr(encode_names, "_local_blocks", lambda *given, **by_name: [next(blocks(*given, **by_name))])
    with pytest.raises(InputError, match="vectors.npy: missing or damaged"):
        ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", encoding=options)
    monkeypatch.undo()
    tiny_bert.max_seq_length = 7
    with pytest.raises(InputError, match="holds an interrupted encoding with another model; say --overwrite"):
        ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", encoding=options)
    assert len(ConceptIndex.build(terminology, tiny_bert, tmp_path / "index", overwrite=True).catalog) == 30
