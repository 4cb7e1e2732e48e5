"""The model card, generated from the record of a run, without strings of the training data.

sentence-transformers' card shows rows of the datasets as widget, as samples and in the usage snippet. :class:`BiomedCard` shows
none of them, also in the cards that the trainer writes beside its checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from huggingface_hub import RepoCard, is_offline_mode
from huggingface_hub.repocard_data import EvalResult, eval_results_to_model_index
from sentence_transformers import SentenceTransformer

from st_biomed.encoder.private_card import PrivateCardData
from st_biomed.release.averaging_text import averaging_sentences, averaging_table
from st_biomed.release.fold_modules import folded_markers
from st_biomed.release.gradients import clipping
from st_biomed.release.own_code import code_of
from st_biomed.release.portable import REDACTED
from st_biomed.release.run_data import RunData, began_from, check_run, empty_run, results_table
from st_biomed.release.scorecard_text import scorecard_summary, scorecard_table
from st_biomed.release.usage import example_terms, is_normalized, pooling_alone
from st_biomed.settings.bundled import bundled

_LINE = 400  # characters
_TAGS = ("sentence-transformers", "sentence-similarity", "feature-extraction", "dense", "biomedical", "st-biomed")


@dataclass
class BiomedCard(PrivateCardData):
    """Card data of a term encoder.

    Args:
        run: The run record from which all figures of the card are copied; by default an empty record.
    """

    run: RunData = field(default_factory=empty_run, repr=False)
    task_name: str = "comparing biomedical terms"
    tags: list[str] = field(default_factory=lambda: list(_TAGS))
    local_files_only: bool = field(default_factory=is_offline_mode)
    own_code: list[str] = field(default_factory=list, init=False)
    folded_markers: list[str] = field(default_factory=list, init=False)
    markers: list[str] = field(default_factory=list, init=False)
    pooling_alone: str = field(default="", init=False)
    is_normalized: bool = field(default=False, init=False)
    template_path: Path = field(default=Path(__file__).parent / "model_card_template.md", init=False, repr=False)

    @classmethod
    def from_run(cls, run: RunData) -> BiomedCard:
        """The card of a finished run.

        Args:
            run: The result of :func:`~st_biomed.release.run_data.read_run` or ``RunRecord.to_dict``.

        Raises:
            InputError: It is not a complete run record.
        """
        check_run(run)
        card = cls(
            run=run,
            language=list(run["language"]),
            license=run["license"],
            model_id=run["model_id"] or None,
            model_name=run["model_id"].split("/")[-1] or f"Biomedical term encoder ({run['recipe']})",
            local_files_only=True,
        )
        card.add_tags(["generated_from_trainer", *(f"loss:{loss['loss']}" for loss in run["losses"].values())])
        began = began_from(run)
        if began.count("/") == 1 and not began.startswith("./"):  # a folder would be a dead link
            card.base_model = began
        return card

    def render(self, model: SentenceTransformer) -> str:
        """The card as Markdown, with the model's architecture and sizes."""
        self.register_model(model)
        self.own_code = code_of(model)
        self.folded_markers = folded_markers(model)
        self.markers = next((list(markers) for module in model if (markers := vars(module).get("markers"))), [])
        self.pooling_alone, self.is_normalized = pooling_alone(model), is_normalized(model)
        return RepoCard.from_template(self, template_path=str(self.template_path)).content

    def rendered_empty(self, model: SentenceTransformer) -> str:
        """The card of the same model without the run except its papers: the text of the template itself."""
        kept = {name: self.run[name] for name in ("citations", "recipe", "language")}
        return BiomedCard(run={**empty_run(), **kept}, local_files_only=True).render(model)  # type: ignore[typeddict-item]

    def to_dict(self) -> dict[str, Any]:
        """The template's variables; sentence-transformers writes those known to the Hub into the card's head."""
        card = super().to_dict()
        tables = {benchmark: results_table(self.run, benchmark) for benchmark in self.run["results"]}
        results = [
            EvalResult(
                task_type="sentence-similarity",
                task_name="Term Similarity",
                dataset_type=benchmark,
                dataset_name=benchmark,
                metric_type=name.removeprefix(f"{benchmark}_"),
                metric_name=name.removeprefix(f"{benchmark}_"),
                metric_value=value,
            )
            for benchmark, stages in self.run["results"].items()
            for name, value in stages.get("after", {}).items()
            if value is not None and name in (self.run["headline"] or stages["after"])
        ]
        terms = ", ".join(f'"{term}"' for term in example_terms(self.run["language"]))
        card.update(
            results_tables=tables,
            scorecards=[
                {
                    "base": scorecard["base"],
                    "summary": scorecard_summary(scorecard),
                    "table": scorecard_table(scorecard),
                }
                for scorecard in self.run["scorecards"]
            ],
            began_from=began_from(self.run),
            averaging_sentences=averaging_sentences(self.run["averaging"], self.run["recipe"]),
            averaging_table=averaging_table(self.run["averaging"]),
            recipe_text=recipe_text(self.run["recipe"]),
            clipping=clipping(self.run),
            command_line=" ".join(word if word == REDACTED else quote(word) for word in self.run["command"]),
            example_terms=f"[{terms}]",
        )
        if "model_string" in card:
            card["model_string"] = "\n".join(map(_shortened, card["model_string"].splitlines()))
        if results:
            card["model-index"] = eval_results_to_model_index(self.model_name or "", results)
        return card

    def run_usage_snippet(self) -> None:
        """Do not encode anything: the template has its own example."""


def recipe_text(recipe: str) -> dict[str, str]:
    """Heading to text of a recipe's file in ``model_cards``; empty if there is none."""
    path = bundled(f"model_cards/{recipe}.md") if recipe.isidentifier() else None
    parts = [] if path is None else path.read_text("utf-8").split("\n## ")[1:]
    return {heading: text.strip() for heading, _, text in (part.partition("\n") for part in parts)}


def _shortened(line: str) -> str:
    """A line of the architecture, shortened if it is long: a module may hold a vocabulary."""
    return line if len(line) <= _LINE else f"{line[: _LINE // 2]} ... {line[-_LINE // 2 :]}"
