"""SKOS, the W3C vocabulary of thesauri and classifications, in Turtle or RDF/XML. It needs the extra ``skos``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from st_biomed.errors import check_name
from st_biomed.readers._languages import language_of
from st_biomed.readers.skos.graph import read_graph
from st_biomed.readers.skos.namespaces import Namespaces
from st_biomed.records import Record, SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="SKOS",
    title="Concept schemes in SKOS",
    license="as each concept scheme states",
    url="https://www.w3.org/TR/skos-reference",
)
PATH = "a concept scheme: .ttl, .nt, .rdf, .xml or .owl"

_CODES = ("iri", "notation")


def records(  # noqa: PLR0913 - the differences between thesauri
    path: Path,
    *,
    tally: Tally,
    scheme: str = "",
    codes: str = "iri",
    languages: str | Sequence[str] = "",
    language: str = "en",
    hidden: bool = False,
    definitions: bool = True,
    deprecated: bool = False,
    prefixes: str = "",
) -> Iterator[Record]:
    """Read labels, definitions, broader concepts as parents, related ones as relations, and mappings.

    The preferred name is the ``prefLabel`` in ``language``, or else the first of the others; all other preferred and
    alternative labels are synonyms, each in its language. Labels of SKOS-XL are read like those of SKOS. Parents come
    from ``broader`` and, inversely, from ``narrower``. Mappings are cross-references with the predicates ``exactMatch``,
    ``closeMatch``, ``broadMatch``, ``narrowMatch`` and ``relatedMatch``.

    A code is the end of the concept's IRI. Its prefix is that of other readers if the IRI is known to them, or else the
    prefix that the file declares for the namespace, or the end of the namespace, in capitals. Title, version and license
    of a source are those of its concept scheme. rdflib keeps the whole file in memory.

    Args:
        path: Turtle (``.ttl``), N-Triples (``.nt``) or RDF/XML (``.rdf``, ``.xml``, ``.owl``).
        tally: Counts labels, notations, definitions, parents, relations, mappings, statements of other kinds, and concepts
            that are dropped.
        scheme: IRI of the concept scheme to read; by default every one.
        codes: ``iri`` (default) for the end of the IRI; ``notation`` for the notation of a concept that has one.
        languages: ISO 639-1 codes of the languages to read, separated by commas, e.g. ``"en,it"``; all by default.
        language: ISO 639-1 code of the preferred names, and of literals without a language; ``en`` by default.
        hidden: Whether to read hidden labels, such as misspellings, as synonyms; off by default.
        definitions: Whether to read definitions; on by default.
        deprecated: Whether to read concepts that are ``owl:deprecated``; off by default.
        prefixes: Prefixes of namespaces, as pairs NAMESPACE=PREFIX separated by commas; none by default.

    Raises:
        InputError: With file and line: a syntax error, an entity of XML that is no abbreviation. With the file: two
            concepts with one code, two namespaces with one prefix, a relative IRI, a tag that is no language, no concept.
            Also: no such file, another suffix, no such scheme, rdflib is not installed.
    """
    check_name("codes of reader 'skos'", codes, _CODES)
    spoken = tuple(language_of("languages", tag) for tag in listed("languages", languages))
    usual = language_of("language", language)
    graph = read_graph(path)
    from st_biomed.readers.skos.concepts import Choice, Concepts

    bound = {str(namespace): prefix for prefix, namespace in graph.namespaces()}
    choice = Choice(hidden, spoken, usual, definitions, codes == "notation", scheme, deprecated)
    concepts = Concepts(graph, Namespaces(path, prefixes, bound), tally, choice)
    yield from concepts.records()
