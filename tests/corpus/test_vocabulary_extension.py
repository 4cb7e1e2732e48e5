"""New word pieces: how words are split, where their vectors begin, and what stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.models import Unigram
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from st_biomed.corpus.blocks import MARKERS
from st_biomed.corpus.vocabulary import extend_vocabulary, train_pieces
from st_biomed.errors import InputError

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIALS, *"abcdefgi", *(f"##{letter}" for letter in "abcdefgi"), "flu", "##mpa", "##ter", "##kia", "##le"]


@pytest.fixture
def tokenizer() -> BertTokenizer:
    return BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}, do_lower_case=True)


@pytest.fixture
def model() -> BertForMaskedLM:
    return model_of(len(WORDS))


def model_of(size: int, **options: object) -> BertForMaskedLM:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=size, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, **options
    )
    model = BertForMaskedLM(config)
    torch.nn.init.normal_(model.get_output_embeddings().bias)
    return model


def test_a_word_is_split_at_the_new_pieces(tokenizer, model):
    """The paper's "pleuropolmonare" in invented words; as added tokens the pieces would be cut out of any word."""
    assert tokenizer.tokenize("flumpaterkiale") == ["flu", "##mpa", "##ter", "##kia", "##le"]
    extended, _ = extend_vocabulary(model, ["flumpa", "##terkiale"], tokenizer=tokenizer)
    assert extended.tokenize("flumpaterkiale") == ["flumpa", "##terkiale"]
    assert "flumpa" not in extended.tokenize("aflumpa")


def test_new_vectors_and_biases_are_means_and_old_ones_stay(tokenizer, model):
    """Catches means over another tokenization, a bias that begins at 0, and old rows that move."""
    old = model.get_input_embeddings().weight.detach().clone()
    bias = model.get_output_embeddings().bias.detach().clone()
    extended, report = extend_vocabulary(model, ["abca", "##terkiale", "xyz", "flu"], tokenizer=tokenizer)
    new, head = model.get_input_embeddings().weight, model.get_output_embeddings()
    n = len(WORDS)
    assert torch.equal(new[:n], old) and torch.equal(head.bias[:n], bias)
    parts = {n: ["a", "##b", "##c", "##a"], n + 1: ["##ter", "##kia", "##le"]}
    for place, pieces in parts.items():
        ids = [WORDS.index(piece) for piece in pieces]
        assert torch.allclose(new[place], old[ids].mean(0)) and torch.isclose(head.bias[place], bias[ids].mean())
    assert 0 < new[n + 2].abs().max() < 0.2 and head.bias[n + 2] == 0
    assert head.weight is new and model.config.vocab_size == n + 3 == len(extended)
    assert extended.convert_tokens_to_ids(WORDS) == list(range(n))
    assert (report.trained, report.shared, report.derived) == (4, 1, 2)
    assert (report.size_before, report.size_after) == (n, n + 3)
    assert report.overlap == 1 / 4 and report.derived_share == 2 / 3
    assert model(input_ids=torch.tensor([[n, n + 2]])).logits.shape == (1, 2, n + 3)


def test_an_output_layer_of_its_own_is_filled_too(tokenizer):
    model = model_of(len(WORDS), tie_word_embeddings=False)
    table = model.get_output_embeddings().weight.detach().clone()
    extend_vocabulary(model, ["abca"], tokenizer=tokenizer)
    ids = [WORDS.index(piece) for piece in ("a", "##b", "##c", "##a")]
    assert torch.allclose(model.get_output_embeddings().weight[-1], table[ids].mean(0))


def test_random_vectors_are_those_of_the_seed(tokenizer):
    rows = []
    for seed in (1, 1, 2):
        model = model_of(len(WORDS))
        extend_vocabulary(model, ["xyz"], tokenizer=tokenizer, seed=seed)
        rows.append(model.get_input_embeddings().weight[-1])
    assert torch.equal(rows[0], rows[1]) and not torch.equal(rows[0], rows[2])


def test_everything_is_the_same_after_loading(tokenizer, tmp_path: Path):
    """Catches ids that sentence-transformers numbers anew: added tokens behind the vocabulary leave a gap where pieces follow them."""
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKERS)})
    model = model_of(len(tokenizer))
    extended, _ = extend_vocabulary(model, ["flumpa", "##terkia"], tokenizer=tokenizer)
    text = "[Ms] flumpaterkia [Me] abc"
    ids = extended(text)["input_ids"]
    n = len(WORDS)
    assert extended.convert_tokens_to_ids([*MARKERS, "flumpa", "##terkia"]) == [n, n + 1, n + 2, n + 3]
    model.save_pretrained(tmp_path)
    extended.save_pretrained(tmp_path)
    loaded, again = AutoModelForMaskedLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert again(text)["input_ids"] == ids and len(again) == len(extended) == n + 4
    for a, b in zip(model.state_dict().values(), loaded.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    assert set(MARKERS) <= set(again.all_special_tokens) or again.convert_tokens_to_ids("[Ms]") == n


def test_a_sentence_transformers_model_takes_its_new_tokenizer(tiny_bert: SentenceTransformer, tmp_path: Path):
    before = tiny_bert.encode("acute disease")
    length = tiny_bert.max_seq_length
    extended, _ = extend_vocabulary(tiny_bert, ["flumpa", "##terkia"])
    assert (tiny_bert.encode("acute disease") == before).all() and tiny_bert.max_seq_length == length
    assert tiny_bert.tokenizer.tokenize("flumpaterkia") == ["flumpa", "##terkia"]
    tiny_bert.save_pretrained(str(tmp_path), create_model_card=False)
    again = SentenceTransformer(str(tmp_path), device="cpu")
    assert (again.encode("flumpaterkia") == tiny_bert.encode("flumpaterkia")).all()
    assert len(again.tokenizer) == len(extended)


def test_a_model_with_more_vectors_than_the_tokenizer_has_entries_keeps_them(tokenizer):
    """Catches a table that shrinks: some published models have rows to spare."""
    model = model_of(len(WORDS) + 10)
    extended, _ = extend_vocabulary(model, ["flumpa"], tokenizer=tokenizer)
    assert extended.convert_tokens_to_ids("flumpa") == len(WORDS)
    assert model.get_input_embeddings().num_embeddings == len(WORDS) + 10


def test_no_new_piece_changes_nothing(tokenizer, model):
    _, report = extend_vocabulary(model, ["flu"], tokenizer=tokenizer)
    assert (report.overlap, report.derived_share, report.size_after) == (1, 0, len(WORDS))


def test_pieces_come_from_the_corpus_in_the_tokenizers_way(tokenizer):
    """Catches case and accents that the model never sees, and special tokens among the pieces."""
    texts = ["Flumpità flumpita terkia"] * 5 + ["terkiale flumpitale"] * 5
    pieces = train_pieces(lambda: texts, tokenizer, 60)
    assert {"flumpita", "terkia"} <= set(pieces) and not set(SPECIALS) & set(pieces)
    assert any(piece.startswith("##") for piece in pieces) and all(piece == piece.lower() for piece in pieces)
    assert pieces == train_pieces(lambda: texts, tokenizer, 60) == sorted(pieces) and len(pieces) <= 55
    assert len(train_pieces(lambda: texts, tokenizer, 40)) == 35


def test_what_does_not_fit_is_named(tokenizer, model):
    with pytest.raises(InputError, match="size must be above the 5 special tokens, found 5"):
        train_pieces(lambda: ["flumpa"], tokenizer, 5)
    with pytest.raises(InputError, match="size must be at least 17, the special tokens and the letters .* found 6"):
        train_pieces(lambda: ["flumpa"], tokenizer, 6)
    with pytest.raises(InputError, match="contains no word"):
        train_pieces(list, tokenizer)
    with pytest.raises(InputError, match="needs the tokenizer"):
        extend_vocabulary(model, ["flumpa"])
    with pytest.raises(InputError, match=f"has {len(WORDS)} entries, but the model has vectors for 5"):
        extend_vocabulary(model_of(5), ["flumpa"], tokenizer=tokenizer)


def test_another_kind_of_tokenizer_is_refused():
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])), unk_token="a")
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=1))
    with pytest.raises(
        InputError, match="expected a WordPiece tokenizer like BERT's or a Unigram tokenizer like XLM-R's, found BPE"
    ):
        extend_vocabulary(gpt, ["b"], tokenizer=other)


def test_an_encoder_without_a_head_is_extended(tokenizer):
    model = BertModel(model_of(len(WORDS)).config)
    extend_vocabulary(model, ["abca"], tokenizer=tokenizer)
    assert model.get_input_embeddings().num_embeddings == len(WORDS) + 1


UNIGRAM = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0), ("▁flu", -5.0), ("mpa", -6.0)]
UNIGRAM += [
    ("ter", -6.0),
    ("kia", -7.0),
    ("mpat", -9.0),
    *((letter, -12.0) for letter in "abcdefgiklmprtu"),
    ("<mask>", 0.0),
]


@pytest.fixture
def unigram() -> PreTrainedTokenizerFast:
    """A tokenizer as XLM-R's, whose last entry is the mask."""
    backend = Tokenizer(Unigram(UNIGRAM, unk_id=3))
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    backend.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
        cls_token="<s>",
        sep_token="</s>",
    )


def test_pieces_of_a_unigram_tokenizer_have_the_mean_vector_and_score_of_their_parts(unigram, tmp_path: Path):
    """Catches a piece that its parts outweigh, a gap behind the mask, and parts by the longest match in place of the score."""
    assert unigram.tokenize("flumpaterkia a") == ["▁flu", "mpa", "ter", "kia", "▁", "a"]
    model = model_of(len(UNIGRAM))
    old = model.get_input_embeddings().weight.detach().clone()
    extended, report = extend_vocabulary(model, ["▁flumpa", "terkia", "mpater", "ter", "▁z"], tokenizer=unigram)
    assert extended.tokenize("flumpaterkia a<mask>") == ["▁flumpa", "terkia", "▁", "a", "<mask>"]
    assert (report.trained, report.shared, report.derived, report.size_after) == (5, 1, 3, len(UNIGRAM) + 4)
    place = {piece: i for i, (piece, _) in enumerate(UNIGRAM)}
    weight, ids = model.get_input_embeddings().weight, extended.convert_tokens_to_ids(["▁flumpa", "terkia", "mpater"])
    assert ids == [len(UNIGRAM), len(UNIGRAM) + 1, len(UNIGRAM) + 2]
    for new, parts in zip(ids, (("▁flu", "mpa"), ("ter", "kia"), ("mpa", "ter"))):
        torch.testing.assert_close(weight[new], old[[place[part] for part in parts]].mean(0))
    torch.testing.assert_close(weight[: len(UNIGRAM)], old)
    extended.save_pretrained(tmp_path)
    entries = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"][len(UNIGRAM) :]
    assert entries == [["▁flumpa", -5.5], ["terkia", -6.5], ["mpater", -6.0], ["▁z", -12.0]]
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert (
        again("flumpaterkia")["input_ids"] == extended("flumpaterkia")["input_ids"] and len(again) == len(UNIGRAM) + 4
    )


def test_pieces_for_a_unigram_tokenizer_end_at_punctuation(unigram):
    """Catches pieces with a comma, which splitting at spaces alone gives, and pieces in WordPiece's spelling."""
    pieces = train_pieces(lambda: ["flumpa, terkia. d'ekia"] * 9, unigram, 60)
    assert {"▁flumpa", "▁terkia", "ekia"} <= set(pieces) and not [
        p for p in pieces if "##" in p or (len(p) > 1 and "," in p)
    ]
