"""The publication rule that keeps names of licensed terminologies out of a release.

(a) Only listed files are published: weights, configurations, tokenizer, card, license, run record, results, and the file of
    code of a model that needs one, which is identical to this package's. Each file has the content of its type, so
    that all of it can be searched: UTF-8 text, JSON, or a header with tensors and nothing else.
(b) Every string of a tokenizer file is the base model's or without a space between words; a tokenizer file that is not
    text is identical to the base model's. No added piece is a name, and no consecutive pieces form one
    (:mod:`st_biomed.release.vocabulary_rule`).
(c) No path, no other file and no new string of the tokenizer whose words are joined by punctuation ("type_2") contains a name
    that is known only from sources that may not be redistributed, in any spelling
    (:mod:`st_biomed.release.spellings`): of at least three words or twenty characters anywhere; of two words, or of
    four characters of Chinese, Japanese or Korean, in one clause of free text, which is everything except the
    tokenizer. Names in ordinary text are excused (:mod:`st_biomed.release.own_text`): the card's template, rendered
    without a run, sources' information on themselves, the text of this package. A name counts as known from a
    redistributable source when one of that source's names has the same letters and digits.
(d) The same holds for definitions: a whole one, as for names of three words or twenty characters, and eight consecutive words
    of a longer one (:mod:`st_biomed.release.definition_search`). Words that open definitions and names also have are
    excused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.encoder import OWN_CODE, is_own_code
from st_biomed.errors import InputError
from st_biomed.release.base_model import first_model_folder
from st_biomed.release.definition_search import find_definitions, search_definitions
from st_biomed.release.file_strings import READ_BYTES, fault_of, strings_in
from st_biomed.release.name_kinds import Kind
from st_biomed.release.name_search import Findings, search_names
from st_biomed.release.term_search import TermSearch
from st_biomed.release.vocabulary_rule import TOKENIZER_OTHER, TOKENIZER_TEXT, Vocabulary
from st_biomed.terminology import Terminology

TRAINING_ARGUMENTS_BYTES = 50_000

_LEAVES = re.compile(
    r"README\.md|LICENSE|run\.json|modules\.json|config_sentence_transformers\.json"  # the folder's own
    r"|results\.(json|csv)|(results|eval)/[\w.@-]+\.(json|csv)"
    r"|(\w+/)*((\w+_)?config\.json|model(-\d+-of-\d+)?\.safetensors|model\.safetensors\.index\.json)"  # the modules'
    r"|(\w+/)*(" + "|".join(map(re.escape, [*TOKENIZER_TEXT, *TOKENIZER_OTHER])) + ")"
)
_CONFIGURATION = re.compile(r"(\w+/)*((\w+_)?config\.json|model(-\d+-of-\d+)?\.safetensors)")
_SHOWN = 20


def may_leave(name: str) -> bool:
    """Whether a file, by its path inside the folder, is on the list of published files."""
    return _LEAVES.fullmatch(name) is not None or name in OWN_CODE


def check_release(
    folder: str | Path,
    terminologies: Sequence[Terminology],
    base_model_folder: str | Path | None = None,
    *,
    own_text: str = "",
) -> Findings:
    """Reject a folder that violates the rule above.

    Args:
        terminologies: All terminologies of training or measurement, including open ones, which excuse their own names.
        base_model_folder: The folder of the base model's tokenizer files; without it every string of the tokenizer
            must be a single word.
        own_text: Text of the release that does not depend on training: the card's template rendered without a run.

    Returns:
        The findings that are not violations.

    Raises:
        InputError: With the list of violations.
    """
    findings = judge(folder, terminologies, base_model_folder, own_text=own_text)
    _refuse(f"{folder}: may not be released", findings.breaches)
    return findings


def judge(
    folder: str | Path,
    terminologies: Sequence[Terminology],
    base_model_folder: str | Path | None = None,
    *,
    own_text: str = "",
) -> Findings:
    """All findings of the rule; for the arguments see :func:`check_release`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected a saved model")
    base = None if base_model_folder is None else Path(base_model_folder)
    first = None if base is None else first_model_folder(base)
    breaches, vocabulary = [], Vocabulary(base, first)
    passages: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
            continue  # the paths of its contents include it
        passages[name] = [name]
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            breaches.append(f"{name}: is a link or a special file")
        elif path.is_file():
            faults, strings = _read(name, path, base, vocabulary)
            breaches += [f"{name}: {fault}" for fault in faults]
            passages[name] += strings
    for name in passages:
        if _CONFIGURATION.fullmatch(name):
            known = _strings_beside(first, name)
            # A module may contain the vocabulary again (token weights): rule (b) has checked these words.
            known |= vocabulary.tokens if "/" in name else set()
            passages[name] = [string for string in passages[name] if string not in known]
    findings = search_names(terminologies, passages, vocabulary, own_text)
    of_definitions, usual = search_definitions(terminologies, passages, vocabulary, own_text)
    return replace(
        findings, breaches=breaches + findings.breaches + of_definitions, ordinary=findings.ordinary | usual
    )


def check_training_arguments(path: str | Path, terminologies: Sequence[Terminology]) -> None:
    """Reject a ``training_args.bin`` that contains data.

    Everything that is passed to the training arguments is pickled with them, so a sampler with its terminology would
    be included. All telling names count here, of any source.

    Raises:
        InputError: The file has 50 kB or more, or contains a name of at least three words or twenty characters, or a
            definition.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; the trainer writes training_args.bin beside each checkpoint")
    breaches = []
    if (size := path.stat().st_size) >= TRAINING_ARGUMENTS_BYTES:
        breaches.append(f"has {size:,} bytes, must have fewer than {TRAINING_ARGUMENTS_BYTES:,}")
    search = TermSearch({path.name: strings_in(path)})
    for terminology in terminologies:
        names_found = search.find(terminology.texts["text"], lambda kind: kind is Kind.TELLING)
        defined: dict[int, str] = {}
        for occurrence in find_definitions(terminology.definitions["text"], search):
            defined.setdefault(occurrence.row, occurrence.words)
        breaches += [f"holds {name!r}" for name in sorted({*names_found.values(), *defined.values()})]
    _refuse(f"{path}: carries data", breaches)


def _read(name: str, path: Path, base: Path | None, vocabulary: Vocabulary) -> tuple[list[str], list[str]]:
    """The faults of a file apart from names, and its strings to search."""
    try:
        small = path.stat().st_size <= READ_BYTES
        if not may_leave(name):
            return ["is not on the list of published files"], strings_in(path) if small else []
        if name in OWN_CODE:
            return ([], []) if is_own_code(path) else (["differs from this package's"], strings_in(path))
        if path.name in TOKENIZER_OTHER:
            same = _same_file(path, base)
            return ([], []) if same else (["differs from the base model's"], strings_in(path) if small else [])
        fault = fault_of(path)
        if path.name in TOKENIZER_TEXT:
            vocabulary.add(name, path)
            faults = [fault] if fault and not _same_file(path, base) else []
            return [*faults, *(f"{phrase!r} is not a single word" for phrase in vocabulary.phrases[name])], []
        return [fault] if fault else [], strings_in(path) if small or not fault else []
    except OSError as error:
        return [f"cannot be read ({error.strerror})"], []


def _strings_beside(model: Path | None, name: str) -> set[str]:
    """The strings of a model's file with this name, if there is one."""
    path = None if model is None else model / name
    return set(strings_in(path)) if path is not None and path.is_file() else set()


def _same_file(path: Path, base_model_folder: Path | None) -> bool:
    peers = [] if base_model_folder is None else base_model_folder.rglob(path.name)
    return any(peer.read_bytes() == path.read_bytes() for peer in peers)


def _refuse(what: str, breaches: list[str]) -> None:
    if breaches:
        more = f"; and {len(breaches) - _SHOWN} more" if len(breaches) > _SHOWN else ""
        raise InputError(f"{what}: {'; '.join(breaches[:_SHOWN])}{more}")
