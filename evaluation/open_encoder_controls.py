"""Two controls of the open encoder: training without knowledge, and knowledge of vectors without training.

    python evaluation/open_encoder_controls.py shuffled out/open_terminology --output out/shuffled_terminology
    python evaluation/open_encoder_controls.py untrained out/open_terminology --output out/untrained

``shuffled`` writes a terminology with the same concepts, hierarchy and relations, but every string names what another string
named, and every definition is that of another concept. An encoder that is trained on it shows what the training itself changes,
whatever it is told. ``untrained`` writes the base model with two more layers, which remove the mean and the leading principal
components of its vectors of names.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.rebuilt import rebuilt
from st_biomed.encoder.load import load_encoder
from st_biomed.encoder.sources import PACKAGED
from st_biomed.evaluators.embedders import model_embedder
from st_biomed.files import check_writable
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.all_but_the_top import AllButTheTop
from st_biomed.training.teacher import SAMPLE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("control", choices=["shuffled", "untrained"])
    parser.add_argument("terminology", type=Path, help="folder of `st-biomed unite`")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", default=PACKAGED, help="the base model")
    parser.add_argument("--removed", type=int, default=1, help="number of principal components that are removed")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    check_writable(arguments.output)
    terminology = Terminology.load(arguments.terminology)
    if arguments.control == "shuffled":
        shuffled(terminology, arguments.seed).save(arguments.output)
    else:
        model = load_encoder(arguments.model)
        names = terminology.strings
        sample = np.random.default_rng(arguments.seed).permutation(len(names))[:SAMPLE]
        vectors = model_embedder(model, bf16=False)([names[text] for text in sample.tolist()])
        without_top(model, AllButTheTop.fit(vectors, arguments.removed)).save_pretrained(str(arguments.output))
    print(arguments.output)


def shuffled(terminology: Terminology, seed: int) -> Terminology:
    """The terminology with its strings permuted, and its definitions permuted.

    Args:
        terminology: Any terminology.
        seed: Seed of both permutations.
    """
    rng = np.random.default_rng(seed)
    texts = pa.array(np.array(terminology.strings, dtype=object)[rng.permutation(terminology.n_texts)], pa.string())
    definitions = terminology.definitions
    if terminology.n_definitions:
        order = pa.array(rng.permutation(terminology.n_definitions))
        for column in ("text", "language", "source"):
            position = definitions.column_names.index(column)
            definitions = definitions.set_column(position, column, definitions[column].take(order))
    return rebuilt(terminology, texts=pa.table({"text": texts}), definitions=definitions)


def without_top(model: SentenceTransformer, removed: AllButTheTop) -> SentenceTransformer:
    """The model with the map as a linear layer after its modules, and vectors of length 1.

    Args:
        model: Any encoder.
        removed: The map.
    """
    dimension = len(removed.mean)
    projection = np.eye(dimension) - removed.directions @ removed.directions.T
    dense = Dense(dimension, dimension, bias=True, activation_function=torch.nn.Identity())
    with torch.no_grad():
        dense.linear.weight.copy_(torch.from_numpy(projection))
        dense.linear.bias.copy_(torch.from_numpy(-projection @ removed.mean))
    for module in (Normalize(), dense, Normalize()):
        model.append(module)
    return model


if __name__ == "__main__":
    run_recipe(main)
