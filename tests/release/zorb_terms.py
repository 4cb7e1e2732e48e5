"""An invented licensed terminology and a real training of two steps on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

ZORB = SourceInfo(
    "ZORB", "The Great Zorbal Nomenclature", "7", "members only", "https://zorb.example", redistributable=False
)
OPEN = SourceInfo("OPEN", "Open Flenn Ontology", "1", "CC0-1.0", "https://open.example", redistributable=True)
PAIRS = [  # sentence-transformers makes widget examples from seven rows on
    ("chronic zorbal inflammation of the left flenn", "left chronic flenn zorbitis"),
    ("acute zorbal inflammation of the left flenn", "left acute flenn zorbitis"),
    ("unspecified quandle deficiency with fever", "feverish quandle shortage syndrome"),
    ("hereditary mibbleglobulinaemiaopathy", "familial mibbleglobulin disease type 2"),
    ("removal of a foreign brillig from the tove", "extraction of brillig out of tove"),
    ("other and multiple gyres in the wabe", "wabe gyres, other and multiple"),
    ("frumious state with vorpal tendency", "vorpal tendency in a frumious state"),
    ("burn of the uffish region, first degree", "first degree burn of uffish region"),
]
TERM = PAIRS[0][0]


def terminology(source: SourceInfo, terms: list[tuple[str, ...]]) -> Terminology:
    return Terminology.from_records(
        [Term(f"{source.name}:{i}", name) for i, names in enumerate(terms) for name in names], source
    )


def train(base: Path, output: Path, card: Any, callbacks: tuple[Any, ...] = ()) -> Any:
    """Two steps on the pairs; checkpoints and ``training_args.bin`` go to ``output``."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    model = SentenceTransformer(str(base), device="cpu", model_card_data=card)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(output),
        max_steps=2,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        save_steps=1,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=1,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    pairs = Dataset.from_dict({"anchor": [pair[0] for pair in PAIRS], "positive": [pair[1] for pair in PAIRS]})
    SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=pairs,
        eval_dataset=pairs,
        loss=MultipleNegativesRankingLoss(model),
        callbacks=list(callbacks),
    ).train()
    return model
