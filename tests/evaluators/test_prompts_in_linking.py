"""Prompts and routes for mentions and names: benchmarks embed them as an index does, and nothing else with them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from st_biomed.encoder import load_model
from st_biomed.encoder.digest import model_digest
from st_biomed.evaluators import EntityLinkingEvaluator, FoldsEvaluator, RelatednessEvaluator
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.embedders import EmbedOnce, model_embedder
from st_biomed.evaluators.shared_embedding import SharedEvaluator
from st_biomed.few_shot.frozen_encoder import FrozenEncoder, InputForm
from st_biomed.few_shot.stage import stage_embedder
from st_biomed.leaderboard.models import ModelSpec
from st_biomed.leaderboard.results import ResultsFolder
from st_biomed.leaderboard.run import measure
from st_biomed.leaderboard.select_results import one_of_each
from st_biomed.linking import ConceptIndex
from st_biomed.linking.settings import EncodingOptions
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from tests.evaluators.linking_by_hand import SOURCE, mention

NAMES = ["acute disease", "chronic disease", "flumpa of the gradtha", "type of terk", "other zorb", "mimpic"]
MENTIONS = ["acute", "disease of the flumpa", "gradtha", "terk types", "mimpic", "zorb other"]
DATA = LinkingDataset(
    "zorb",
    {"test": tuple(mention(text, f"X{i}") for i, text in enumerate(MENTIONS))},
    LinkingDictionary.from_entries([(name, [f"MESH:X{i}"]) for i, name in enumerate(NAMES)]),
    SOURCE,
)
PROMPTS = {"query": "unspecified ", "document": "with the type "}
PAIRS = (["mimpic", "acute", "zorb"], ["acute", "zorb", "mimpic"], [1, 2, 3])
LINKING = Path(__file__).parents[1] / "fixtures" / "linking" / "ncbi_disease"


def evaluator(**options) -> EntityLinkingEvaluator:
    return EntityLinkingEvaluator(DATA, lower_case=False, n_bootstrap=0, **options)


def scores(model: SentenceTransformer, measured: EntityLinkingEvaluator) -> np.ndarray:
    """The cosine of each mention and its nearest name, ``[N]``."""
    measured(model)
    assert measured.predictions is not None
    return measured.predictions.scores[:, 0]


def best(queries: np.ndarray, names: np.ndarray) -> np.ndarray:
    queries, names = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, names))
    return (queries @ names.T).max(axis=1)


@pytest.fixture
def prompted(tiny_bert: SentenceTransformer) -> SentenceTransformer:
    tiny_bert.prompts = dict(PROMPTS)
    return tiny_bert


@pytest.mark.parametrize(
    ("prompts", "default", "before_mention", "before_name"),
    [
        (PROMPTS, None, PROMPTS["query"], PROMPTS["document"]),
        ({"query": "unspecified ", "passage": "the "}, None, "unspecified ", "the "),
        ({"query": "unspecified ", "corpus": "the "}, "query", "unspecified ", "the "),
        ({"query": "unspecified "}, "query", "unspecified ", ""),
        ({"usual": "of the ", "document": "the "}, "usual", "", "the "),
        ({"usual": "of the "}, "usual", "of the ", "of the "),
        ({}, None, "", ""),
    ],
)
def test_a_benchmark_and_an_index_of_one_model_score_alike(
    tiny_bert: SentenceTransformer,
    tmp_path: Path,
    prompts: dict[str, str],
    default: str | None,
    before_mention: str,
    before_name: str,
):
    """Catches mentions and names without the prompts that the index gives them: other scores for the same model; and
    prompts that are not found once the model is loaded from its folder, where empty ones are added."""
    tiny_bert.prompts, tiny_bert.default_prompt_name = dict(prompts), default
    tiny_bert.save_pretrained(str(tmp_path / "model"))
    for model in (tiny_bert, load_model(tmp_path / "model", device="cpu")):
        index = ConceptIndex.build(
            DATA.dictionary, model, tmp_path / "index", overwrite=True, encoding=EncodingOptions(bf16=False)
        )
        found = [matches[0].score for matches in index.search(MENTIONS, k=1)]
        np.testing.assert_allclose(scores(model, evaluator()), found, atol=1e-5)
        expected = best(model.encode(MENTIONS, prompt=before_mention), model.encode(NAMES, prompt=before_name))
        np.testing.assert_allclose(scores(model, evaluator()), expected, atol=1e-5)


def test_vectors_of_one_prompt_are_not_taken_for_those_of_another(prompted: SentenceTransformer, tmp_path: Path):
    """Catches one folder for all prompts, and another folder for a model without prompts, whose vectors would be made again."""
    similar = RelatednessEvaluator(*PAIRS, n_bootstrap=0)
    cached = RelatednessEvaluator(*PAIRS, n_bootstrap=0, cache_dir=tmp_path)
    assert cached(prompted) == similar(prompted)  # "mimpic" without a task is stored first
    expected = scores(prompted, evaluator())
    for _ in range(2):
        np.testing.assert_allclose(scores(prompted, evaluator(cache_dir=tmp_path)), expected, atol=1e-6)
    assert len(list(tmp_path.iterdir())) == 3 and cached(prompted) == similar(prompted)
    prompted.prompts = {}
    evaluator(cache_dir=tmp_path)(prompted)
    key = {"model": model_digest(prompted), "truncate_dim": None, "bf16": False, "dtype": "float32", "format": 2}
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    assert (tmp_path / name).is_dir() and len(list(tmp_path.iterdir())) == 4


def test_texts_of_similarity_have_no_prompt_of_a_task(prompted: SentenceTransformer):
    """Symmetric measures share an embedding with linking, and stay as they were without prompts."""
    similar = RelatednessEvaluator(*PAIRS, n_bootstrap=0, name="similar")
    found = SharedEvaluator([evaluator(name="linking"), similar])(prompted)
    assert found["linking_acc@1"] == evaluator()(prompted)["acc@1"]
    shared = EmbedOnce(model_embedder(prompted))
    np.testing.assert_array_equal(shared(["acute"]), prompted.encode(["acute"]))
    np.testing.assert_array_equal(shared.of_task("query")(["acute"]), prompted.encode_query(["acute"]))
    prompted.prompts = {}
    assert similar(prompted).items() <= found.items()
    shared = EmbedOnce(model_embedder(prompted))
    assert shared.of_task("query") is shared.of_task("document") is shared


def test_folds_embed_names_as_documents(prompted: SentenceTransformer):
    """Catches names that are kept for all folds without their prompt."""
    folds = FoldsEvaluator([evaluator(), evaluator()], n_bootstrap=0)
    folds(prompted)
    assert folds.folds[1].predictions is not None
    np.testing.assert_allclose(folds.folds[1].predictions.scores[:, 0], scores(prompted, evaluator()), atol=1e-6)
    expected = best(prompted.encode_query(MENTIONS), prompted.encode_document(NAMES))
    np.testing.assert_allclose(folds.folds[0].predictions.scores[:, 0], expected, atol=1e-5)


def test_a_model_with_a_route_for_each_task_can_be_measured(tmp_path: Path):
    """Its routes have no default: ``encode`` without a task is an error."""

    def static(seed: int) -> StaticEmbedding:
        words = {
            word: i for i, word in enumerate(["[UNK]", *sorted({w for t in NAMES + MENTIONS for w in t.split()})])
        }
        tokenizer = Tokenizer(WordLevel(words, "[UNK]"))
        tokenizer.pre_tokenizer = Whitespace()
        weights = np.random.default_rng(seed).standard_normal((len(words), 6), dtype=np.float32)
        return StaticEmbedding(tokenizer, embedding_weights=weights)

    router = Router.for_query_document([static(0)], [static(1)])
    model = SentenceTransformer(modules=[router], device="cpu")
    expected = best(model.encode_query(MENTIONS), model.encode_document(NAMES))
    for options in ({}, {"cache_dir": tmp_path}, {"cache_dir": tmp_path}):
        np.testing.assert_allclose(scores(model, evaluator(**options)), expected, atol=1e-6)


def test_figures_without_prompts_are_not_kept_for_a_model_that_has_them(
    prompted: SentenceTransformer, tiny_bert_folder: Path, tmp_path: Path
):
    """Catches figures of a version that did not use the prompts; models with and without stand side by side."""
    prompted.save(str(tmp_path / "prompted"))
    settings = {"format": "ncbi_disease", "path": str(LINKING), "dictionary": str(LINKING / "medic.txt")}
    zorb = Benchmark("zorb", "entity_linking", settings, "Zorbs")
    models = [ModelSpec("with", str(tmp_path / "prompted")), ModelSpec("without", str(tiny_bert_folder))]
    found = measure(models, [zorb], ResultsFolder(tmp_path / "out"), n_bootstrap=0).results
    assert [result.settings.get("prompts") for result in found] == [PROMPTS, None]
    assert one_of_each(found) == (found, [f"zorb: prompts is {PROMPTS} for with, off for without."])


def test_stages_of_few_names_keep_the_prompts(prompted: SentenceTransformer, tmp_path: Path):
    """Catches an input that is measured with prompts, and stages on top of it without."""
    prompted.save(str(tmp_path / "prompted"))
    module = ResidualFeedForward(16, 4).eval()
    for cache in ("", str(tmp_path / "cache")):
        frozen = FrozenEncoder(InputForm(str(tmp_path / "prompted")), cache_dir=cache)
        stage = stage_embedder(frozen, module)
        once = EmbedOnce(frozen).of_task("query")
        np.testing.assert_allclose(once(["acute"]), prompted.encode_query(["acute"]), atol=1e-6)
        on_query = stage_embedder(prompted.encode_query, module)(["acute"])
        np.testing.assert_allclose(stage.of_task("query")(["acute"]), on_query, atol=1e-6)
        np.testing.assert_allclose(stage(["acute"]), stage_embedder(prompted.encode, module)(["acute"]), atol=1e-6)
