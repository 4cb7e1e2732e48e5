"""Settings of a linking benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.data_folder import DATA_VARIABLE, data_path, resolved, source_names
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.evaluators.entity_linking.folds import FoldsEvaluator
from st_biomed.linking_data import LinkingDataset, LinkingDictionary, linking_names, open_linking
from st_biomed.linking_data.dictionaries import TERMINOLOGY, is_terminology
from st_biomed.linking_data.formats import linking_format
from st_biomed.linking_data.open_dataset import check_linking_options
from st_biomed.linking_data.preparation import STEPS, prepare
from st_biomed.linking_data.preparation.names import ADDED_SPLITS
from st_biomed.settings.keyword_options import check_types, listed


@dataclass(frozen=True)
class LinkingSettings:
    """A data set, its dictionary, and their preparation steps.

    Args:
        name: Prefix of the metrics.
        format: The data set's format, see :func:`~st_biomed.linking_data.open_linking`.
        path: The file or folder of the data set.
        dictionary: The dictionary that mentions are linked to: a file (of the format's usual form, or ``form:path``),
            the folder of a saved terminology, a reader's name or ``reader:path`` (``obo:doid.obo``); empty if the data
            set contains the names of its concepts.
        options: Options of the format.
        steps: Preparation steps with their options, in their order, see :mod:`st_biomed.linking_data.preparation`.
        dev: The split to measure during training; empty for none.
        test: The split to measure before and after training.
        seen: Splits whose strings are excluded from the refined test set.
        distance: Edit distance to these strings up to which mentions are excluded from the distant test set; 0 for
            none.
        raw: Whether to also measure the test split before any step.
        ks: The k of the accuracies.
        folds: Values of the format's option ``fold``. The mean over these folds is measured, in testing only.
            Fine-tuning uses one fold per model: it trains on the fold's training part and measures on its test part.
        by_document: Whether intervals and tests draw documents with all their mentions in place of single mentions.
            Mentions of one document are alike, so intervals over single mentions are too narrow.

    Raises:
        InputError: An unknown format or step, or option of the format; an option of another type or form; a step that
            adds the mentions of a measured split to the dictionary; or ``folds`` with a dev split, which would belong
            to one fold.
    """

    name: str = ""
    format: str = ""
    path: str = ""
    dictionary: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)
    dev: str = "dev"
    test: str = "test"
    seen: list[str] = field(default_factory=list)
    distance: float = 0.0
    raw: bool = True
    ks: list[int] = field(default_factory=lambda: [1, 5])
    folds: list[int] = field(default_factory=list)
    by_document: bool = False

    def __post_init__(self) -> None:
        if self.format and self.format not in linking_names():
            raise InputError(f"{self.name}: {unknown_name('format', self.format, linking_names())}")
        try:
            if self.format:
                check_linking_options(self.format, self.options)
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None
        for step in self.steps:
            if step not in STEPS:
                raise InputError(f"{self.name}: {unknown_name('step', step, STEPS)}")
            self._check_options(step, self.steps[step])
        if "add_mentions" in self.steps:
            added = listed("splits", (self.steps["add_mentions"] or {}).get("splits", ADDED_SPLITS))
            if measured := [split for split in (self.dev, self.test) if split in added]:
                raise InputError(
                    f"{self.name}: add_mentions puts the answers of the measured split {measured[0]!r} into the "
                    "dictionary; give it other splits, or set dev: '' for no split in training"
                )
        if self.folds and self.dev:
            raise InputError(f"{self.name}: folds are for testing only; set dev: '' for no split in training")

    def _check_options(self, step: str, options: Any) -> None:
        """Reject options of a step of another form than a mapping, and of another type."""
        where = f"{self.name}: step {step}"
        if not isinstance(options, dict | None):
            raise InputError(f"{where} must have options by name, or none, found {options!r}")
        check_types(where, STEPS[step], options or {})

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[EntityLinkingEvaluator | FoldsEvaluator]:
        """The evaluators of the test split: before any step (``<name>_raw``) if ``raw`` is set, and after all steps.

        Raises:
            InputError: Invalid files, or ``by_document`` and mentions without a document.
        """
        raw = self._opened()
        measured = {self.name: _with_one_dictionary([self.prepared(dataset) for dataset in raw])}
        if self.steps and self.raw:
            measured = {f"{self.name}_raw": raw, **measured}
        found: list[EntityLinkingEvaluator | FoldsEvaluator] = []
        for name, datasets in measured.items():
            options["name"] = name
            folds = [
                EntityLinkingEvaluator(
                    dataset,
                    self.test,
                    ks=self.ks,
                    seen=self.seen,
                    distance=self.distance,
                    as_published=as_published,
                    by_document=self.by_document,
                    **options,
                )
                for dataset in datasets
            ]
            found.append(FoldsEvaluator(folds, **options) if self.folds else folds[0])
        return found

    @property
    def has_dev(self) -> bool:
        """Whether the benchmark has a dev split."""
        return bool(self.dev)

    def dev_evaluators(self, **options: Unpack[EvaluatorOptions]) -> list[EntityLinkingEvaluator]:
        """The evaluator of the dev split, after the steps and without intervals.

        Raises:
            InputError: There is no such split, or whatever is wrong with the files.
        """
        return [dev_evaluator(self.prepared(self.open()), self.name, self.dev, options, by_document=self.by_document)]

    def source_names(self) -> list[str]:
        """The data set and its dictionary, named as in the record of a run, and the sources of a dictionary that is a terminology."""
        dataset, (form, _, place) = linking_format(self.format).SOURCE.name, self.dictionary.partition(":")
        dictionary = place if form == TERMINOLOGY else self.dictionary
        read = [dictionary] if dictionary and is_terminology(resolved(dictionary)) else []
        return [dataset, f"{dataset}_DICTIONARY", *source_names(read)]

    def _opened(self) -> list[LinkingDataset]:
        """The data set, or its folds, whose dictionary is read once unless each fold has names of its own."""
        first = self.open(self.folds[0] if self.folds else None)
        read = first if self.dictionary else None
        return [first, *(self.open(fold, read) for fold in self.folds[1:])]

    def open(self, fold: int | None = None, read: LinkingDataset | None = None) -> LinkingDataset:
        """The data set as distributed, before any step; with several folds, one of them.

        Args:
            fold: Its number.
            read: Another fold, whose dictionary is that of this one; by default the dictionary is read.

        Raises:
            InputError: Invalid files, or a dictionary without any id of the mentions.
        """
        for path in (self.path, self.dictionary):
            if path and ":" not in path and not data_path(path).exists() and not is_terminology(path):
                raise InputError(f"{self.name}: {path} is neither here nor in the data folder of {DATA_VARIABLE}")
        dictionary: LinkingDictionary | str | None = resolved(self.dictionary) if self.dictionary else None
        if read is not None:
            dictionary = read.dictionary
        options = self.options if fold is None else {**self.options, "fold": fold}
        dataset = open_linking(self.format, data_path(self.path), dictionary=dictionary, **options)
        if read is not None:
            dataset = replace(dataset, tallies={**dataset.tallies, "dictionary": read.tallies["dictionary"]})
        wanted = [
            identifier for mentions in dataset.mentions.values() for mention in mentions for identifier in mention.ids
        ]
        if wanted and not any(identifier in dataset.dictionary.id_index for identifier in wanted):
            raise InputError(
                f"{self.name}: the dictionary has none of the ids of the mentions: {wanted[0]!r} for example; its ids "
                f"are like {dataset.dictionary.ids[0]!r}"
            )
        return dataset

    def prepared(self, dataset: LinkingDataset) -> LinkingDataset:
        """The data set after the steps."""
        steps = {
            step: {key: data_path(value) if key == "path" else value for key, value in (options or {}).items()}
            for step, options in self.steps.items()
        }
        return prepare(dataset, steps)


def _with_one_dictionary(datasets: list[LinkingDataset]) -> list[LinkingDataset]:
    """The data sets with equal dictionaries as one, as far as their steps left them equal."""
    if len(datasets) == 1:
        return datasets
    known: dict[str, LinkingDictionary] = {}
    return [replace(each, dictionary=known.setdefault(each.dictionary.digest, each.dictionary)) for each in datasets]


def dev_evaluator(
    dataset: LinkingDataset, name: str, split: str, options: EvaluatorOptions, *, by_document: bool = False
) -> EntityLinkingEvaluator:
    """What measures a dev split, quietly and without intervals.

    Raises:
        InputError: There is no such split.
    """
    if split not in dataset.mentions:
        raise InputError(
            f"{name}: no split {split!r} to measure in training; available are {', '.join(map(repr, dataset.mentions))}; "
            "set `dev: ''` for none"
        )
    own: EvaluatorOptions = {**options, "name": f"{name}_dev", "show_progress_bar": False, "n_bootstrap": 0}
    return EntityLinkingEvaluator(dataset, split, by_document=by_document, **own)


FAMILY = "linking"
SETTINGS = LinkingSettings
