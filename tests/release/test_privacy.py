"""Claims about the rule that keeps names of licensed terminologies out of a release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from zorb_terms import OPEN, PAIRS, TERM, ZORB, terminology

from st_biomed.corpus.vocabulary import extend_vocabulary
from st_biomed.errors import InputError
from st_biomed.records import Term
from st_biomed.release.privacy import check_release, check_training_arguments, judge
from st_biomed.terminology import Terminology


@pytest.fixture
def breaches(release: Path, licensed: Terminology, tiny_bert_folder: Path):
    """Asks for the breaches of the release folder as it is now."""

    def ask(*more: Terminology, **options) -> list[str]:
        return judge(release, [licensed, *more], tiny_bert_folder, **options).breaches

    return ask


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + text, "utf-8")


def test_a_release_after_real_training_is_clean(breaches) -> None:
    """Would catch a rule so strict that nothing can be released, and a card that takes rows of the data."""
    assert breaches() == []


def test_a_term_in_the_card_is_refused(release: Path, breaches) -> None:
    append(release / "README.md", f"\nFor example {TERM.upper()}.\n")
    assert breaches() == [f"README.md: holds {TERM!r}, known only from ZORB, which may not be redistributed"]


@pytest.mark.parametrize("name", ["run.json", "config.json", "1_Pooling/config.json", "modules.json"])
def test_a_term_in_any_json_file_is_refused(name: str, release: Path, breaches) -> None:
    path = release / name
    path.write_text(json.dumps({"x": [json.loads(path.read_text()), {TERM: 1}]}))
    assert [breach.split(":")[0] for breach in breaches()] == [name]


def test_a_term_in_the_training_arguments_is_refused(release: Path, breaches) -> None:
    """The file is refused for being there; the term in it is named as well."""
    torch.save({"batch_sampler": ("pairs", [TERM])}, release / "training_args.bin")
    listed, holds = breaches()
    assert listed == "training_args.bin: is not on the list of published files"
    assert holds.startswith(f"training_args.bin: holds {TERM!r}")


def test_a_term_in_a_log_file_is_refused(release: Path, breaches) -> None:
    (release / "train.log").write_text(f"step 1: nearest is {TERM}\n")
    listed, holds = breaches()
    assert listed == "train.log: is not on the list of published files"
    assert holds.startswith(f"train.log: holds {TERM!r}")


@pytest.mark.parametrize(
    "file", ["optimizer.pt", "eval/checkpoint.bin", "checkpoint-2/run.json", "notes.md", "model.py"]
)
def test_other_files_are_refused_whatever_they_hold(file: str, release: Path, breaches) -> None:
    (release / file).parent.mkdir(exist_ok=True)
    (release / file).write_text("harmless")
    assert breaches() == [f"{file}: is not on the list of published files"]


def test_a_link_is_refused(release: Path, breaches, tmp_path: Path) -> None:
    """Would catch a folder of links whose content is never looked at."""
    (tmp_path / "elsewhere").mkdir()
    (release / "eval").symlink_to(tmp_path / "elsewhere")
    assert breaches() == ["eval: is a link or a special file"]


@pytest.mark.parametrize(
    "file",
    ["eval/acute_zorbic_gland_failure.csv", "acute_zorbic/gland_failure/config.json", "acute_zorbic/gland_failure/"],
)
def test_a_term_in_a_path_is_refused(file: str, release: Path, breaches) -> None:
    """Would catch a report per term that names its file after the term, and a folder of that name, even an empty one."""
    path = release / file
    path.parent.mkdir(exist_ok=True, parents=True)
    if file.endswith("/"):
        path.mkdir()
    else:
        path.write_text("{}")
    gland = terminology(ZORB, [("acute zorbic gland failure",)])
    assert [breach.split(", known")[0] for breach in breaches(gland)] == [
        f"{file.strip('/')}: holds 'acute zorbic gland failure'"
    ]


@pytest.mark.parametrize("names", [("zorb gland x", "zorb-gland x"), ("zorb gland x", "Zorb-gland x")])
def test_one_telling_spelling_of_a_term_is_enough(names: tuple[str, str], release: Path, breaches) -> None:
    """Would catch a term of three words that another spelling of it, with two, takes off the list."""
    append(release / "README.md", "\nFor example zorb gland x.\n")
    spelled = terminology(ZORB, [names])
    (breach,) = breaches(spelled)
    assert breach.startswith(("README.md: holds 'zorb gland x'", "README.md: holds 'Zorb-gland x'"))
    torch.save({"sampler": ["zorb gland x"]}, release.parent / "training_args.bin")
    with pytest.raises(InputError, match="holds 'zorb gland x'"):
        check_training_arguments(release.parent / "training_args.bin", [spelled])


@pytest.mark.parametrize("addition", [TERM, "quandle deficiency", "▁quandle▁deficiency"])
def test_a_phrase_in_the_tokenizer_is_refused(addition: str, release: Path, breaches) -> None:
    """Would catch a vocabulary that was extended by whole terms, however short."""
    model = SentenceTransformer(str(release), device="cpu")
    model.tokenizer.add_tokens([addition])
    model.tokenizer.save_pretrained(release)
    assert breaches() == [f"tokenizer.json: {addition!r} is not a single word"]


def test_a_phrase_in_a_vocabulary_file_is_refused(release: Path, breaches) -> None:
    (release / "vocab.txt").write_text(f"[CLS]\nzorb\n{TERM}\n")
    assert breaches() == [f"vocab.txt: {TERM!r} is not a single word"]


def test_new_single_words_may_join_the_tokenizer(release: Path, breaches) -> None:
    """Vocabulary extension adds words of licensed terms; would catch a rule that forbids it."""
    model = SentenceTransformer(str(release), device="cpu")
    model.tokenizer.add_tokens(["zorbal", "mibbleglobulinaemiaopathy"])
    model.tokenizer.save_pretrained(release)
    assert breaches() == []


@pytest.mark.parametrize("token", ["acute_zorbic_gland_failure", "Ġacute-zorbic-gland-failure"])
def test_a_term_joined_to_one_token_is_refused_and_excuses_no_file(token: str, release: Path, breaches) -> None:
    """Would catch a whole term that passes for a single word, and then clears the results that hold it too."""
    gland = terminology(ZORB, [("acute zorbic gland failure",)])
    model = SentenceTransformer(str(release), device="cpu")
    model.tokenizer.add_tokens([token, "mibbleglobulinaemiaopathy"])
    model.tokenizer.save_pretrained(release)
    (release / "results.json").write_text('{"acute_zorbic_gland_failure": 1, "worst": "mibbleglobulinaemiaopathy"}')
    assert [
        breach.split(", known")[0] for breach in breaches(gland, terminology(ZORB, [(PAIRS[3][0].split()[1],)]))
    ] == [
        "results.json: holds 'acute zorbic gland failure'",
        "tokenizer.json: holds 'acute zorbic gland failure'",
        "results.json: holds 'mibbleglobulinaemiaopathy'",
        "tokenizer.json: holds 'mibbleglobulinaemiaopathy'",
    ]


def test_names_of_tokenizer_settings_are_no_phrases(release: Path, licensed: Terminology) -> None:
    """Would catch a release refused because its tokenizer was saved with a setting that the base model's lacks."""
    path = release / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_some_new_thing": "longest_first"}))
    assert judge(release, [licensed]).breaches == []


def test_phrases_of_the_base_tokenizer_are_not_ours(release: Path, licensed: Terminology, tmp_path: Path) -> None:
    """Would catch blaming a release for what the base model published, and trusting it when the base is not known."""
    for folder in (release, tmp_path):
        (folder / "special_tokens_map.json").write_text('{"mask_token": "the mask token"}')
        (folder / "tokenizer.model").write_bytes(b"\x01")
    tokenizer = (release / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(tokenizer)
    assert judge(release, [licensed], tmp_path).breaches == []
    assert judge(release, [licensed]).breaches == [
        "special_tokens_map.json: 'the mask token' is not a single word",
        "tokenizer.model: differs from the base model's",
    ]


def test_a_module_may_repeat_the_vocabulary(release: Path, breaches) -> None:
    """Token weights list every token; a long word that is a piece of words is the tokenizer's business."""
    term = PAIRS[3][0].split()[1]
    assert len(term) > 20
    (release / "2_WordWeights").mkdir()
    (release / "2_WordWeights" / "config.json").write_text(json.dumps({"vocab": [term]}))
    word = terminology(ZORB, [(term,)])
    assert breaches(word) != []
    extend_vocabulary(model := SentenceTransformer(str(release), device="cpu"), [term])
    model.tokenizer.save_pretrained(release)
    assert breaches(word) == []


def test_a_term_that_a_redistributable_source_has_too_may_appear(
    release: Path, licensed: Terminology, tiny_bert_folder: Path
) -> None:
    """Would catch a rule that forbids open names because a licensed terminology also lists them."""
    append(release / "README.md", f"\n{TERM}\n")
    other = terminology(OPEN, [(f"{TERM.title()}.",)])
    both = Terminology.from_records(
        [OPEN, Term("ZORB:1", TERM, source="ZORB"), Term("ZORB:2", TERM, source="OPEN")], ZORB
    )
    undescribed = Terminology.from_records([Term("ZORB:1", TERM, source="UNHEARD")], OPEN)
    check_release(release, [licensed, other], tiny_bert_folder)
    check_release(release, [both], tiny_bert_folder)
    with pytest.raises(InputError, match=r"README\.md: holds"):
        check_release(release, [undescribed], tiny_bert_folder)


def test_what_the_template_or_the_source_says_of_itself_may_appear(breaches, release: Path) -> None:
    """Would catch a release refused because a terminology has a name for a heading of the card, or for itself."""
    heading = terminology(ZORB, [("How open points of the paper were read",), (f"{ZORB.title}.",)])
    assert breaches(heading) == []  # the card's template is ordinary text of this package
    other = terminology(ZORB, [("How seven gyres of the borogove were read",)])
    append(release / "README.md", "\n## How seven gyres of the borogove were read\n")
    assert [breach.split(":")[0] for breach in breaches(other)] == ["README.md"]
    assert breaches(other, own_text="## How seven gyres of the borogove were read") == []


def test_a_refusal_is_one_line_with_the_breaches(release: Path, licensed: Terminology, tiny_bert_folder: Path) -> None:
    for i in range(25):
        (release / f"{i:02}.log").write_text(f"{TERM}\n")
    with pytest.raises(InputError, match=r"may not be released: 00\.log: is not .*; and 30 more$") as caught:
        check_release(release, [licensed], tiny_bert_folder)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="no such folder"):
        check_release(release / "nowhere", [licensed])


def test_the_trainers_own_arguments_pass(trained, licensed: Terminology) -> None:
    check_training_arguments(trained.work / "checkpoint-2" / "training_args.bin", [licensed])


@pytest.mark.long
def test_training_arguments_that_carry_terms_or_are_large_are_refused(licensed: Terminology, tmp_path: Path) -> None:
    """Would catch a sampler that takes its terminology along into every checkpoint; open names count here as well."""
    path = tmp_path / "training_args.bin"
    torch.save({"sampler": ["open gyres of the borogove"]}, path)
    check_training_arguments(path, [licensed])
    with pytest.raises(InputError, match="holds 'Open gyres of the borogove'"):
        check_training_arguments(path, [licensed, terminology(OPEN, [("Open gyres of the borogove",)])])
    torch.save({"rows": list(range(100_000))}, path)
    with pytest.raises(InputError, match="must have fewer than 50,000"):
        check_training_arguments(path, [licensed])
    with pytest.raises(InputError, match="no such file"):
        check_training_arguments(tmp_path / "other.bin", [licensed])
