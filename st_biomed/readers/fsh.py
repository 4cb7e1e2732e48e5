"""Code systems in FHIR Shorthand, the format in which national bodies publish their editions of classifications."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.readers._languages import language_of
from st_biomed.records import Definition, Parent, Record, SourceInfo, Tally, Term, single_spaced
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="FSH",
    title="A code system in FHIR Shorthand",
    license="not stated",
    url="https://hl7.org/fhir/uv/shorthand",
)
PATH = "a code system in FHIR Shorthand, e.g. icd9cm.fsh"

_CODE = r'#(?:"(?P<{0}_quoted>[^"\\]*)"|(?P<{0}>[^\s"]+))'
_STRING = r'"(?:[^"\\]|\\.)*"'
# "* #parent #code "display" "definition"": the codes above come first (FHIR Shorthand 3.0, section 3.5.4).
_CODES = r'(?:#(?:"[^"\\]*"|[^\s"]+)\s+)*'
_METADATA = re.compile(rf"\*\s+{_CODES}(?:\^|insert\s)")  # a caret path, or the rules of a RuleSet
_CONCEPT = re.compile(
    rf"\*\s+(?P<above>{_CODES}){_CODE.format('code')}"
    rf"(?:\s+(?P<display>{_STRING})(?:\s+(?P<definition>\"\"\".*\"\"\"|{_STRING}))?)?"
)
# A comment begins at a word of its own, so that http://a.org has none; texts may hold what looks like one.
_COMMENT = r"(?:^|(?<=\s))(?://[^\n]*|/\*.*?\*/)"
_TEXT_OR_COMMENT = re.compile(
    rf'(?P<text>"""(?:(?!""").)*""")|{_COMMENT}|(?P<without_end>"""|(?:^|(?<=\s))/\*).*|(?P<line>{_STRING})', re.DOTALL
)
_ENDS = {'"""': '"""', "/*": "*/"}
_HEADER = re.compile(r"(\w+):\s*(.*)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_VERSION = re.compile(r'\*\s+\^version\s*=\s*"([^"]*)"')


def records(
    path: Path,
    *,
    tally: Tally,
    name: str | None = None,
    prefix: str | None = None,
    language: str = "en",
    license: str = "not stated",
    replace: str = "",
) -> Iterator[Record]:
    """Read codes, displays, definitions and, for nested codes (written after their parent's, or indented), parents.

    Args:
        path: A file with one ``CodeSystem``.
        tally: Counts its rules and definitions: concepts are kept, metadata, properties, inserted sets of rules and aliases
            are dropped.
        name: Short name of the source; by default the code system's ``Id`` in capitals.
        prefix: Prefix of the codes, e.g. ``ICD9CM``; by default the source's name. With the prefix of another
            terminology, its concepts get these names in a merge.
        language: ISO 639-1 code of the displays and definitions; ``en`` by default.
        license: License of the source; "not stated" by default. Its names are never redistributed.
        replace: Replacements for damaged characters of an export, separated by commas, none by default:
            ``"@=À,PIY=PIÙ"``.

    Raises:
        InputError: With file and line: no ``CodeSystem``, a second one, a concept without a display, a code that is
            listed twice, a parent code that is not listed before, an indentation other than two spaces a level, a rule
            that cannot be read.
    """
    repairs, language = _repairs(replace), language_of("language", language)
    system = _CodeSystem()
    for line, indentation, rule in _rules(path):
        where = f"{path}:{line}"
        header = _HEADER.fullmatch(rule)
        if rule.startswith("Alias:"):
            tally.read_dropped("aliases")
        elif header and not rule.startswith("*"):
            _take_header(where, system.about, *header.groups())
        elif "CodeSystem" not in system.about:
            raise InputError(f"{where}: expected 'CodeSystem: NAME', found {rule[:40]!r}")
        elif _METADATA.match(rule):
            if version := _VERSION.fullmatch(rule):
                system.about["version"] = version[1]
            tally.read_dropped("metadata and properties")
        else:
            system.take_concept(where, indentation, rule, repairs)
            tally.read_kept()
    if not system.names:
        raise InputError(f"{path}: no code found; expected 'CodeSystem: NAME' and lines like * #1 \"name\"")
    tally.read_kept(len(system.definitions))
    about = system.about
    source = name or re.sub(r"[^\w.-]+", "_", about.get("Id", about["CodeSystem"])).upper()
    title = single_spaced(about.get("Title", "").strip('"')) or about["CodeSystem"]
    prefix = prefix or source
    if prefix != source:
        yield SourceInfo(prefix, prefix, "", license, "not stated")
    yield SourceInfo(source, title, about.get("version", ""), license, "not stated")
    for code, display in system.names.items():
        yield Term(f"{prefix}:{code}", display, "preferred", language, source)
    for code, definition in system.definitions.items():
        yield Definition(f"{prefix}:{code}", definition, language, source)
    for code, above in system.parents:
        yield Parent(f"{prefix}:{code}", f"{prefix}:{above}", source)


@dataclass
class _CodeSystem:
    """What is read so far: the headers, display and definition of each code, and pairs of a code and its parent."""

    about: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    parents: list[tuple[str, str]] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    """The last code of each level of indentation."""

    def take_concept(self, where: str, indentation: str, rule: str, repairs: Mapping[str, str]) -> None:
        """Add the concept of a rule."""
        code, display, definition, above = _concept(where, rule)
        level = _level(where, indentation, len(self.nested))
        if level and not above:
            above = self.nested[level - 1]
        self.nested[level:] = [code]
        if code in self.names:
            raise InputError(f"{where}: code {code} is listed twice")
        if above and above not in self.names:
            raise InputError(f"{where}: {code} is below {above}, which is not listed before it")
        for garbled, meant in repairs.items():
            display, definition = display.replace(garbled, meant), definition.replace(garbled, meant)
        self.names[code] = display
        if definition:
            self.definitions[code] = definition
        if above:
            self.parents.append((code, above))


def _repairs(replace: str) -> Mapping[str, str]:
    pairs = [pair.partition("=") for pair in listed("replace", replace)]
    for garbled, equals, _ in pairs:
        if not garbled or not equals:
            raise InputError(f"replace of reader 'fsh' must be FROM=TO,..., found {replace!r}")
    return {garbled: meant for garbled, _, meant in pairs}


def _level(where: str, indentation: str, n_levels: int) -> int:
    """The level of an indented rule, which FHIR Shorthand puts below the rule before it of one level less."""
    level, rest = divmod(len(indentation), 2)
    if rest or indentation.strip(" ") or level > n_levels:
        raise InputError(
            f"{where}: expected an indentation of two spaces for each level, at most one level more than before, found "
            f"{indentation!r}"
        )
    return level


def _rules(path: Path) -> Iterator[tuple[int, str, str]]:
    """The non-empty lines without comments, with their indentation; lines that a text or a comment joins are one."""
    started, lines, begin = 0, [], ""
    for line, content in read_lines(path):
        started = started or line
        lines.append(content)
        if begin and _ENDS[begin] not in content:
            continue  # nothing before it has to be looked at again
        joined = "\n".join(lines)
        begin = next((mark for match in _TEXT_OR_COMMENT.finditer(joined) if (mark := match["without_end"])), "")
        if begin:
            continue
        blank = _TEXT_OR_COMMENT.sub(
            lambda match: match["text"] or match["line"] or re.sub(r"\S", " ", match[0]), joined
        )
        if rule := blank.lstrip():
            of_line = joined[joined.rfind("\n", 0, len(blank) - len(rule)) + 1 :]
            yield started, of_line[: len(of_line) - len(of_line.lstrip())], rule.replace("\n", " ").rstrip()
        started, lines = 0, []
    if begin:
        kind = "a comment" if begin == "/*" else "a text"
        raise InputError(f"{path}:{started}: {kind} that begins with {begin} has no end")


def _take_header(where: str, about: dict[str, str], key: str, value: str) -> None:
    if not about and key != "CodeSystem":
        raise InputError(f"{where}: expected 'CodeSystem: NAME', found {key!r}")
    if key in about:
        raise InputError(f"{where}: a second {key!r}; a file must contain one code system")
    if not value:
        raise InputError(f"{where}: {key} is empty")
    about[key] = value


def _concept(where: str, rule: str) -> tuple[str, str, str, str]:
    """Code, display, definition, and the parent code."""
    match = _CONCEPT.fullmatch(rule)
    if not match:
        raise InputError(f'{where}: expected * #code "name", found {rule[:60]!r}')
    code = match["code_quoted"] if match["code"] is None else match["code"]
    display, definition = _text(where, match["display"] or ""), _text(where, match["definition"] or "")
    if not code.strip() or not display:
        raise InputError(f"{where}: expected a code and a display, found {rule[:60]!r}")
    above = re.findall(r'#(?:"([^"\\]*)"|(\S+))', match["above"])
    return code.strip(), display, definition, "".join(above[-1]) if above else ""


def _text(where: str, quoted: str) -> str:
    """A text without its quotes and escapes, on one line; a character beyond four digits is two escapes, as in UTF-16."""
    n_quotes = 3 if quoted.startswith('"""') else 1
    text = _ESCAPE.sub(_unescaped, quoted[n_quotes:-n_quotes])
    try:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"{where}: an escape of {quoted[:60]} stands for no character")
    return single_spaced(text)


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape stands for."""
    if len(escape[1]) > 1:
        return chr(int(escape[1][1:], 16))
    return " " if escape[1] in "nrtf" else escape[1]
