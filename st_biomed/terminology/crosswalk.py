"""Which concepts of different terminologies are one: by cross-references, and by equal names where asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.readers._normalizers import normalize
from st_biomed.records import FORMER_CODE, Tally
from st_biomed.terminology import Terminology
from st_biomed.terminology.stages import with_stage


@dataclass(frozen=True)
class Crosswalk:
    """Codes that become others when terminologies are merged.

    A link between two concepts holds if each is linked to no other concept of the other's prefix, and if no concept
    would thereby be united with a second one of its own prefix over a third terminology. What fails this is a
    conflict: it is left apart and reported.

    Attributes:
        codes: Code to the code that it becomes: that of the terminology given first, then the smallest.
        conflicts: Links that do not hold, as (code, other code, reason), sorted.
        tally: Links read, kept and dropped.
    """

    codes: dict[str, str] = field(default_factory=dict)
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def between(
        cls,
        *terminologies: Terminology,
        predicates: Sequence[str] = (),
        through: Sequence[str] = (),
        same_name: str | None = None,
        preferred: bool = False,
        apart_from: Sequence[Collection[str]] = (),
        by_name: Sequence[bool] = (),
    ) -> Crosswalk:
        """Find the concepts of several terminologies that are one.

        Args:
            *terminologies: Those to be merged; where two codes become one, an earlier terminology gives it.
            predicates: Predicates of the cross-references to follow, e.g. ``["xref", "exactMatch"]``.
            through: Prefixes of codes over which concepts are linked although no terminology here has them: with
                ``["UMLS"]`` two ontologies are united where both refer to one CUI.
            same_name: Also link concepts of different terminologies that have a name in common after this normalizer
                (``"none"``, ``"lower"``, ``"coder"``) and in one language; a name of several concepts of one
                terminology links nothing, nor does one of a concept that a cross-reference links to another concept of
                the other's prefix.
            preferred: Whether only preferred names link concepts. By default synonyms link, too, which may be wider or
                narrower than their concept.
            apart_from: For each terminology, prefixes of codes to which its own cross-references do not link, e.g. the
                substance of a therapy. None by default.
            by_name: For each terminology, whether its names link; ``False`` where titles depend on the parent code. By
                default all names do.

        Raises:
            InputError: No cross-reference has one of the predicates, or leads to one of the prefixes (for ``apart_from``,
                none of its own), an unknown normalizer, or ``apart_from`` or ``by_name`` of another length.
        """
        first: dict[str, int] = {}
        for at, terminology in enumerate(terminologies):
            for code in terminology.codes:
                first.setdefault(code, at)
        former = {
            code: now
            for terminology in terminologies
            for code, now in terminology.former_codes.items()
            if code not in first
        }
        apart = [frozenset(prefixes) for prefixes in apart_from or [()] * len(terminologies)]
        if len(apart) != len(terminologies):
            raise InputError(f"apart_from must have an entry for each of {len(terminologies)}, found {len(apart)}")
        named = list(by_name) or [True] * len(terminologies)
        if len(named) != len(terminologies):
            raise InputError(f"by_name must have an entry for each of {len(terminologies)}, found {len(named)}")
        links = set(_by_xrefs(terminologies, predicates, through, apart, first, former))
        linking = [terminology for terminology, is_linked in zip(terminologies, named) if is_linked]
        equal = set() if same_name is None else set(_by_names(linking, same_name, preferred)) - links
        linked = {(code, _prefix(other)) for link in links for code, other in (link, link[::-1])}
        free = {link for link in equal if not {(link[0], _prefix(link[1])), (link[1], _prefix(link[0]))} & linked}
        found = _resolved(links | free, first, former)
        found.tally.read_dropped(
            "equal names of concepts that cross-references link otherwise", len(equal) - len(free)
        )
        return found

    def merge(self, *terminologies: Terminology) -> Terminology:
        """The terminologies as one, with the codes of this crosswalk and its tally as the stage ``crosswalk``.

        Raises:
            InputError: As :meth:`Terminology.merge`.
        """
        merged = Terminology.merge(*terminologies, codes=self.codes)
        if self.tally.n_read:
            merged.tallies = with_stage(merged.tallies, "crosswalk", self.tally)
        return merged


def _by_xrefs(
    terminologies: Sequence[Terminology],
    predicates: Sequence[str],
    through: Sequence[str],
    apart: Sequence[Collection[str]],
    known: dict[str, int],
    former: dict[str, str],
) -> Iterator[tuple[str, str]]:
    """Links between known codes, and to those with a prefix of ``through``, the smaller first.

    Args:
        former: Codes that an earlier merge replaced, to those that replaced them. One that is known links the two.
    """
    present = {name for terminology in terminologies for name in terminology.xrefs["predicate"].unique().to_pylist()}
    for predicate in predicates:
        if predicate not in present:
            raise InputError(f"no cross-reference has predicate {predicate!r}; there are {sorted(present)}")
    wanted = pa.array([*predicates, FORMER_CODE], pa.string())
    met: set[str] = set()
    for terminology, others in zip(terminologies, apart):
        rows = terminology.xrefs.filter(pc.is_in(terminology.xrefs["predicate"], value_set=wanted))
        codes = terminology.codes
        prefixes = {_prefix(target) for target in rows["target"].unique().to_pylist()}
        if unmet := sorted(set(others) - prefixes):
            raise InputError(
                f"apart_from: no cross-reference of {', '.join(terminology.sources)} that is followed leads to "
                f"{', '.join(unmet)}; they lead to {sorted(prefixes)}"
            )
        met |= prefixes
        for concept, target in zip(rows["concept"].to_pylist(), rows["target"].to_pylist()):
            outside = _prefix(target) in through
            if _prefix(target) in others:
                continue
            target = former.get(target, target)
            if (outside or target in known) and target != codes[concept]:
                yield min(codes[concept], target), max(codes[concept], target)
    for prefix in through:
        if prefix not in met:
            raise InputError(f"no cross-reference that is followed leads to {prefix!r}; they lead to {sorted(met)}")


def _by_names(terminologies: Sequence[Terminology], normalizer: str, preferred: bool) -> Iterator[tuple[str, str]]:
    """Links between concepts with a name in common, the smaller code first."""
    named = [_concept_of_name(terminology, normalizer, preferred) for terminology in terminologies]
    for at, concepts in enumerate(named):
        for other_concepts in named[at + 1 :]:
            for name in concepts.keys() & other_concepts.keys():
                if concepts[name] != other_concepts[name]:
                    yield min(concepts[name], other_concepts[name]), max(concepts[name], other_concepts[name])


def _concept_of_name(terminology: Terminology, normalizer: str, preferred: bool) -> dict[tuple[str, str], str]:
    """Languages and normalized names that one concept alone has, to its code."""
    texts = normalize(terminology.texts["text"].combine_chunks(), normalizer).dictionary_encode()
    terms = terminology.terms
    if preferred:
        terms = terms.filter(pc.equal(terms["kind"], "preferred"))
    languages = terms["language"].unify_dictionaries().combine_chunks()
    strings, of_language, codes = texts.dictionary.to_pylist(), languages.dictionary.to_pylist(), terminology.codes
    name = texts.indices.to_numpy()[terms["text"].to_numpy()]
    columns = [name, languages.indices.to_numpy(), terms["concept"].to_numpy()]
    rows = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0)
    _, first, count = np.unique(rows[:, :2], axis=0, return_index=True, return_counts=True)
    alone = rows[first[count == 1]].tolist()
    return {(of_language[language], strings[n]): codes[c] for n, language, c in alone if strings[n]}


def _resolved(links: Iterable[tuple[str, str]], first: dict[str, int], former: dict[str, str]) -> Crosswalk:
    """What is united: groups of linked concepts, of which no two are of one source."""
    found = Crosswalk()
    prefixes: dict[str, set[str]] = defaultdict(set)
    for code, now in former.items():
        prefixes[now].add(_prefix(code))

    def unlike(group: list[str]) -> bool:
        """Whether no two concepts are of one source, those included that an earlier merge united with them."""
        of_code = [{_prefix(code), *prefixes[code]} for code in group]
        return len(set().union(*of_code)) == sum(map(len, of_code))

    ordered = sorted(links)
    found.tally.read(len(ordered))
    single, several = _by_partners(ordered)
    reason = "one of the two is linked to several concepts of the other's source"
    found.conflicts.extend((*link, reason) for link in several)
    united = _groups(single)
    for left, right in single:
        group = united[left]
        if sum(code in first for code in group) < 2:
            found.tally.drop("links to a code that nothing else here is linked to")
        elif not unlike(group):
            found.conflicts.append((left, right, "two concepts of one source would become one"))
        else:
            found.tally.keep()
    for group in {id(group): group for group in united.values()}.values():
        here = [code for code in group if code in first]
        if here and unlike(group):
            stays = min(here, key=lambda code: (first[code], code))
            found.codes.update({code: stays for code in here if code != stays})
    for _, _, reason in found.conflicts:
        found.tally.drop(reason)
    found.conflicts.sort()
    return found


def _by_partners(links: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The links whose concepts have one partner in each other's source, and those where one has several."""
    partners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for left, right in links:
        partners[left, _prefix(right)].add(right)
        partners[right, _prefix(left)].add(left)
    single: list[tuple[str, str]] = []
    several: list[tuple[str, str]] = []
    for left, right in links:
        one = len(partners[left, _prefix(right)]) == len(partners[right, _prefix(left)]) == 1
        (single if one else several).append((left, right))
    return single, several


def _groups(links: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Each code to the list of all codes that links lead to from it; the codes of a group share one list."""
    united: dict[str, list[str]] = {}
    for left, right in links:
        group = united.setdefault(left, [left])
        others = united.setdefault(right, [right])
        if group is not others:
            group.extend(others)
            for code in others:
                united[code] = group
    return united


def _prefix(code: str) -> str:
    return code.partition(":")[0]
