"""What may be published: the rule that keeps names of licensed terminologies out of a release.

(a) Only files of a list leave: weights, configurations, tokenizer, card, licence, run record, results, and the file of
    code of a model that carries one, which is this package's byte for byte.
(b) Every string of a tokenizer file is the base model's or without a space between words; a tokenizer file that is not
    text is the base model's, byte for byte.
(c) No path, no other file and no new string of the tokenizer whose words are joined by punctuation ("type_2") holds a
    term of at least three words or twenty characters that is known only from sources that may not be redistributed,
    apart from terms that the card's template, rendered without a run, or a source's own description also holds. A term
    counts as known from a redistributable source when one of that source's names has the same words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.encoder import OWN_CODE, is_own_code
from st_biomed.errors import InputError
from st_biomed.release.term_search import TermSearch, json_strings, normal_forms, strings_in
from st_biomed.terminology import Terminology

LEAST_WORDS, LEAST_CHARACTERS = 3, 20
TRAINING_ARGUMENTS_BYTES = 50_000

_TOKENIZER_TEXT = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
)
_TOKENIZER_OTHER = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "chat_template.jinja")
_LEAVES = re.compile(
    r"README\.md|LICENSE|run\.json|modules\.json|config_sentence_transformers\.json"  # the folder's own
    r"|results\.(json|csv)|(results|eval)/[\w.@-]+\.(json|csv)"
    r"|(\w+/)*((\w+_)?config\.json|model(-\d+-of-\d+)?\.safetensors|model\.safetensors\.index\.json)"  # the modules'
    r"|(\w+/)*(" + "|".join(map(re.escape, [*_TOKENIZER_TEXT, *_TOKENIZER_OTHER])) + ")"
)
_MODULE_CONFIGURATION = re.compile(r"(\w+/)+(\w+_)?config\.json")
_READ_BYTES = 5_000_000  # a larger file that may not leave is refused unread
_SHOWN = 20


def may_leave(name: str) -> bool:
    """Whether a file, by its path inside the folder, is on the list of those that leave."""
    return _LEAVES.fullmatch(name) is not None or name in OWN_CODE


def check_release(
    folder: str | Path,
    terminologies: Sequence[Terminology],
    base_model_folder: str | Path | None = None,
    *,
    rendered_empty_card: str = "",
    exclude: Collection[str] = (),
) -> None:
    """Refuse a folder that breaks the rule above.

    Args:
        folder: What is to be published.
        terminologies: All that the model was trained or measured on, open ones too: they excuse what they also hold.
        base_model_folder: Where the base model's tokenizer files are; without it every string of the tokenizer has to be
            a single word.
        rendered_empty_card: The card's template rendered without a run.
        exclude: Patterns of files, relative to the folder, that stay behind.

    Raises:
        InputError: With the list of breaches.
    """
    breaches = find_breaches(
        folder, terminologies, base_model_folder, rendered_empty_card=rendered_empty_card, exclude=exclude
    )
    _refuse(f"{folder}: may not be released", breaches)


def find_breaches(
    folder: str | Path,
    terminologies: Sequence[Terminology],
    base_model_folder: str | Path | None = None,
    *,
    rendered_empty_card: str = "",
    exclude: Collection[str] = (),
) -> list[str]:
    """All breaches of the rule, one line each; the arguments are those of :func:`check_release`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; a saved model is needed")
    breaches, tokens = [], set()
    base_strings = _tokenizer_strings(Path(base_model_folder)) if base_model_folder is not None else set()
    passages: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if any(fnmatch(name, pattern) for pattern in exclude):
            continue
        if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
            continue  # the paths of what it holds name it
        passages[name] = [name]
        if path.is_dir() and not path.is_symlink():
            continue
        if path.is_symlink() or not path.is_file():
            breaches.append(f"{name}: is a link or a special file")
        elif not may_leave(name):
            breaches.append(f"{name}: is not on the list of files that may leave")
            if path.stat().st_size <= _READ_BYTES:
                passages[name] += strings_in(path)
        elif name in OWN_CODE:
            if not is_own_code(path):
                breaches.append(f"{name}: differs from this package's")
        elif path.name in _TOKENIZER_TEXT:
            entries = set(_tokenizer_entries(path))
            several = _of_several_words(entries - base_strings)
            tokens |= entries - several
            phrases = {entry for entry in several if _is_phrase(entry)}
            breaches += [f"{name}: {entry!r} is not a single word" for entry in sorted(phrases)]
            # Names of settings have several words as well ("do_lower_case"): only terms among the rest are refused.
            passages[name] += [_spaced(entry) for entry in several - phrases]
        elif path.name in _TOKENIZER_OTHER:
            if not _same_file(path, base_model_folder):
                breaches.append(f"{name}: differs from the base model's")
        else:
            passages[name] += strings_in(path)
    for name in filter(_MODULE_CONFIGURATION.fullmatch, passages):
        # A module may hold the vocabulary once more (token weights): rule (b) has judged these words.
        passages[name] = [string for string in passages[name] if string not in tokens]
    return breaches + _term_breaches(passages, terminologies, rendered_empty_card)


def check_training_arguments(path: str | Path, terminologies: Sequence[Terminology]) -> None:
    """Refuse a ``training_args.bin`` that carries data.

    Whatever is passed to the training arguments is pickled with them, so a sampler bound to its terminology would travel
    along. Here every term counts, whatever its source.

    Raises:
        InputError: The file has 50 kB or more, or holds a term of at least three words or twenty characters.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; the trainer writes training_args.bin beside each checkpoint")
    breaches = []
    if (size := path.stat().st_size) >= TRAINING_ARGUMENTS_BYTES:
        breaches.append(f"has {size:,} bytes, fewer than {TRAINING_ARGUMENTS_BYTES:,} are allowed")
    search = TermSearch({path.name: strings_in(path)})
    for terminology in terminologies:
        found = search.find(terminology.texts["text"], is_telling)
        breaches += [f"holds {term!r}" for term in sorted(found.values())]
    _refuse(f"{path}: carries data", breaches)


def count_searched(terminologies: Sequence[Terminology]) -> tuple[int, int]:
    """How many names that may not be redistributed rule (c) looks for, and how many there are."""
    searched = known = 0
    for terminology in terminologies:
        names = terminology.texts["text"].filter(pa.array(~_from_redistributable(terminology))).to_pylist()
        searched += sum(map(is_telling, names))
        known += len(names)
    return searched, known


def is_telling(term: str) -> bool:
    """Whether a term has at least three words (that hold a letter or digit) or twenty characters, and any letter at all."""
    words = sum(any(character.isalnum() for character in word) for word in term.split())
    long_enough = words >= LEAST_WORDS or len(term) >= LEAST_CHARACTERS
    return long_enough and any(character.isalpha() for character in term)


def _term_breaches(
    passages: dict[str, list[str]], terminologies: Sequence[Terminology], rendered_empty_card: str
) -> list[str]:
    """Rule (c)."""
    search = TermSearch(passages)
    restricted: dict[str, str] = {}
    sources: dict[str, set[str]] = {}
    excused: set[str] = set()
    own_text = [rendered_empty_card]
    for terminology in terminologies:
        open_text = _from_redistributable(terminology)
        texts = terminology.texts["text"]
        found = search.find(texts.filter(pa.array(~open_text)), is_telling)
        restricted.update(found)
        for words, named in zip(found, _sources_of(terminology, list(found.values()))):
            sources.setdefault(words, set()).update(named)
        excused.update(search.find(texts.filter(pa.array(open_text))))
        for source in terminology.sources.values():
            own_text += [source.name, source.title, source.version, source.licence, source.url]
    own = TermSearch({"": own_text})
    return [
        f"{place}: holds {term!r}, known only from {', '.join(sorted(sources[words]))}, which may not be redistributed"
        for words, term in sorted(restricted.items())
        if words not in excused and not own.where(words)
        for place in search.where(words)
    ]


def _sources_of(terminology: Terminology, texts: list[str]) -> list[list[str]]:
    """The sources of each text."""
    ids = pc.index_in(pa.array(texts, pa.string()), value_set=terminology.texts["text"].combine_chunks()).to_pylist()
    terms = terminology.terms.select(["text", "source"])
    sources: dict[int, list[str]] = {one: [] for one in ids}
    for row in terms.filter(pc.is_in(terms["text"], value_set=pa.array(ids, terms["text"].type))).to_pylist():
        sources[row["text"]].append(row["source"])
    return [sources[one] for one in ids]


def _from_redistributable(terminology: Terminology) -> np.ndarray:
    """Which texts have at least one redistributable source, bool ``[T]``; a source without a description has none."""
    names = [source.name for source in terminology.sources.values() if source.redistributable]
    from_open = pc.is_in(terminology.terms["source"].cast(pa.string()), value_set=pa.array(names, pa.string()))
    open_text = np.zeros(terminology.n_texts, dtype=bool)
    open_text[terminology.terms["text"].filter(from_open).to_numpy()] = True
    return open_text


def _tokenizer_strings(folder: Path) -> set[str]:
    """All strings of a model's tokenizer files."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; the base model's folder is needed to compare tokenizers")
    return {entry for name in _TOKENIZER_TEXT for path in folder.rglob(name) for entry in _tokenizer_entries(path)}


def _tokenizer_entries(path: Path) -> Iterator[str]:
    """The strings of one tokenizer file; a merge of two pieces is two strings."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".json":
        yield from json_strings(text)
    else:
        for line in text.splitlines():
            yield from line.split(" ") if path.name == "merges.txt" and line.count(" ") == 1 else [line]


def _spaced(entry: str) -> str:
    """A token with spaces for the marks that byte-level and sentence pieces have instead."""
    return re.sub("[▁Ġ]", " ", entry)


def _is_phrase(entry: str) -> bool:
    """Whether a token has a space between words."""
    return len(_spaced(entry).split()) > 1


def _of_several_words(entries: set[str]) -> set[str]:
    """The tokens of several words, whatever stands between these."""
    listed = sorted(entries)
    readable = [_spaced(entry).encode("utf-8", "replace").decode() for entry in listed]
    several = pc.match_substring(normal_forms(pa.array(readable, pa.string())), " ").to_pylist()
    return {entry for entry, is_several in zip(listed, several) if is_several or _is_phrase(entry)}


def _same_file(path: Path, base_model_folder: str | Path | None) -> bool:
    peers = [] if base_model_folder is None else Path(base_model_folder).rglob(path.name)
    return any(peer.read_bytes() == path.read_bytes() for peer in peers)


def _refuse(what: str, breaches: list[str]) -> None:
    if breaches:
        more = f"; and {len(breaches) - _SHOWN} more" if len(breaches) > _SHOWN else ""
        raise InputError(f"{what}: {'; '.join(breaches[:_SHOWN])}{more}")
