"""The types of each concept: semantic types, branches of a hierarchy, or types from a table."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_instance, check_several, unknown_name
from st_biomed.files.delimited import read_table
from st_biomed.readers.umls.type_groups import TYPE_GROUPS

if TYPE_CHECKING:
    from st_biomed.hierarchy import Hierarchy
    from st_biomed.terminology import Terminology

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class ConceptTypes:
    """Types of concepts; a concept may have several, or none.

    Attributes:
        codes: Code of each concept, ``[C]``.
        names: Name of each type, ``[T]``; branches are named by their codes, because names of concepts may be
            licensed.
        types: Concept to types, C rows.
        last: Concept to the type that was stated last, if it still exists, C rows.

    Create one with :meth:`from_terminology`, :meth:`from_branches`, :meth:`from_file` or :meth:`from_lists`.
    """

    codes: Sequence[str]
    names: tuple[str, ...]
    types: CSR
    last: CSR

    @classmethod
    def from_lists(cls, types: Sequence[Sequence[str]], codes: Sequence[str] | None = None) -> ConceptTypes:
        """Types from the names of each concept's types, in the order in which they are stated.

        Args:
            types: A list of names for each concept, which may be empty, ``[C]``.
            codes: Code of each concept, ``[C]``; by default its index in the list.

        Raises:
            InputError: A string in place of a list, a different number of codes, or a code that is there twice.
        """
        for i, names in enumerate(types):
            if isinstance(names, str):
                raise InputError(f"types[{i}]: expected a list of names, found {names!r}")
        codes = [str(i) for i in range(len(types))] if codes is None else codes
        if len(codes) != len(types):
            raise InputError(f"codes: expected one for each of {len(types):,} lists, found {len(codes):,}")
        if len(set(codes)) < len(codes):
            twice = next(code for code, n in Counter(codes).items() if n > 1)
            raise InputError(f"codes: {twice!r} is there twice, expected one list for each concept")
        column = {name: i for i, name in enumerate(dict.fromkeys(chain.from_iterable(types)))}
        concept = np.repeat(np.arange(len(types)), [len(names) for names in types])
        kind = np.array([column[name] for name in chain.from_iterable(types)], dtype=np.int64)
        return cls._stated(codes, list(column), concept, kind)

    @classmethod
    def from_terminology(cls, terminology: Terminology) -> ConceptTypes:
        """The types that a terminology's source states, e.g. the TUIs of MRSTY.

        A terminology has the types of a concept in the order of their names. MRSTY lists them by TUI, so the last type
        is also the last in that file.

        Raises:
            InputError: The terminology has no types.
        """
        column = terminology.types["type"]
        if not len(column):
            raise InputError(
                "types: the terminology has none; branches of its hierarchy or a table may serve as types"
            )
        names = sorted(column.unique().to_pylist())
        kind = pc.index_in(column, value_set=pa.array(names, pa.string())).to_numpy()
        return cls._stated(terminology.codes, names, terminology.types["concept"].to_numpy(), kind)

    @classmethod
    def from_branches(
        cls, hierarchy: Hierarchy, branches: Sequence[str] | None = None, *, children_of: str | None = None
    ) -> ConceptTypes:
        """Each branch of a hierarchy as a type of all concepts below its root.

        Args:
            branches: Codes of the roots, which may lie below each other; by default the roots of the hierarchy.
            children_of: Code of a concept whose children are the roots, in place of ``branches``.

        Raises:
            InputError: Both ``branches`` and ``children_of``, an unknown code, or no concept below any of the roots.
        """
        if branches is not None and children_of is not None:
            raise InputError("branches and children_of: expected one of them, found both")
        check_several("branches", branches, "codes")
        terminology, roots = hierarchy.terminology, hierarchy.graph.roots
        if children_of is not None:
            roots = hierarchy.children.row(terminology.concept(children_of))
        elif branches is not None:
            roots = np.array([terminology.concept(code) for code in dict.fromkeys(branches)], dtype=np.int64)
        numbers = np.arange(len(roots))
        level, rows = CSR.from_pairs(numbers, roots, len(roots)), [np.empty((2, 0), dtype=np.int64)]
        while len(level.indices):
            level = level.compose(hierarchy.children)
            rows.append(np.stack([np.repeat(numbers, level.counts), level.indices]))
        branch, concept = np.concatenate(rows, axis=1)
        if not len(concept):
            raise InputError(f"branches: no concept lies below any of {len(roots)} roots")
        order = np.argsort(branch, kind="stable")
        names = [terminology.codes[root] for root in roots]
        return cls._stated(terminology.codes, names, concept[order], branch[order])

    @classmethod
    def from_file(cls, path: str | Path, columns: tuple[str, str] = ("code", "type")) -> ConceptTypes:
        """Read a table with a concept and one of its types in each row.

        Args:
            path: CSV or TSV with a header.
            columns: The columns of the code, in the form of the terminology, and of the type.

        Raises:
            InputError: No such file or column, no row, or (with file and line) an empty cell.
        """
        types: dict[str, list[str]] = {}
        for line, cells in read_table(path, columns):
            code, name = (cell.strip() for cell in cells)
            if not code or not name:
                raise InputError(f"{path}:{line}: a code and a type are needed, found {code!r} and {name!r}")
            types.setdefault(code, []).append(name)
        if not types:
            raise InputError(f"{path}: has no row, at least one is needed")
        return cls.from_lists(list(types.values()), list(types))

    @classmethod
    def _stated(
        cls, codes: Sequence[str], names: Sequence[str], concept: np.ndarray, kind: np.ndarray
    ) -> ConceptTypes:
        """From the places of a concept and of its type, ``[R]`` both, in the order in which they are stated."""
        last = np.full(len(codes), -1, dtype=np.int64)
        last[concept] = kind  # of a place that repeats, the last value stays
        typed = np.flatnonzero(last >= 0)
        both = CSR.from_pairs(concept, kind, len(codes)), CSR.from_pairs(typed, last[typed], len(codes))
        return cls(codes, tuple(names), *both)

    def for_codes(self, codes: Sequence[str]) -> ConceptTypes:
        """The types of some concepts, in their order; an unknown concept has no type.

        Raises:
            InputError: None of the codes is known.
        """
        row = {code: i for i, code in enumerate(self.codes)}
        places = np.array([row.get(code, -1) for code in codes], dtype=np.int64)
        if not (known := np.flatnonzero(places >= 0)).size:
            example = f"; codes with types look like {self.codes[0]!r}" if len(self.codes) else ""
            raise InputError(f"types: none of {len(codes):,} codes has one{example}")

        def taken(table: CSR) -> CSR:
            position, kind = table.take(places[known])
            return CSR.from_pairs(known[position], kind, len(codes))

        return replace(self, codes=codes, types=taken(self.types), last=taken(self.last))

    def select(
        self,
        *,
        last_type_only: bool = False,
        groups: str | Mapping[str, Sequence[str]] | None = None,
        only_types: Sequence[str] | None = None,
        least_concepts: int = 1,
    ) -> ConceptTypes:
        """Fewer or coarser types, by these steps in this order; all concepts are kept, possibly without a type.

        Args:
            last_type_only: Keep only the type of each concept that was stated last, as in CODER's script. A concept
                has no type if that type is removed in a later step or was removed in an earlier selection.
            groups: Group to the types that become it: a key of :data:`~st_biomed.readers.umls.type_groups.TYPE_GROUPS`, or a mapping such as
                :data:`~st_biomed.readers.umls.semantic_types.SEMANTIC_GROUPS`. Types without a group are removed.
            only_types: The types or groups to keep, in this order; all by default.
            least_concepts: Types with fewer concepts are removed; by default those without concepts. A type with a
                single concept has no neighbor of the same type.

        Raises:
            InputError: An unknown preset or type, a number below 1, or no type is left.
        """
        if least_concepts < 1:
            raise InputError(f"least_concepts must be at least 1, found {least_concepts}")
        check_several("only_types", only_types, "types")
        if isinstance(groups, str) and groups not in TYPE_GROUPS:
            raise unknown_name("groups of types", groups, TYPE_GROUPS)
        if groups is not None and not isinstance(groups, str):
            check_instance("groups", groups, Mapping)
            for name, members in groups.items():
                check_several(f"group {name!r}", members, "types")
        chosen = replace(self, types=self.last) if last_type_only else self
        if groups is not None:
            chosen = chosen._grouped(TYPE_GROUPS[groups] if isinstance(groups, str) else groups)
        if only_types is not None:
            if unknown := [name for name in only_types if name not in chosen.names]:
                raise unknown_name("type", unknown[0], chosen.names)
            chosen = chosen._grouped({name: [name] for name in only_types})
        few = {name for name, n in zip(chosen.names, chosen.counts) if n < least_concepts}
        if len(few) == len(chosen.names):
            shown = ", ".join(self.names[:10]) + (", ..." if len(self.names) > 10 else "")
            raise InputError(f"types: none is left with {least_concepts:,} concepts or more, of {shown or 'none'}")
        if few:
            logger.warning("types of fewer than %d concepts are left out: %s", least_concepts, ", ".join(sorted(few)))
        return chosen._grouped({name: [name] for name in chosen.names if name not in few})

    def _grouped(self, groups: Mapping[str, Sequence[str]]) -> ConceptTypes:
        """Types replaced by the groups that hold them."""
        place = {name: i for i, name in enumerate(self.names)}
        pairs = [(place[name], i) for i, held in enumerate(groups.values()) for name in held if name in place]
        kind, group = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        of_type = CSR.from_pairs(kind, group, len(self.names))
        return ConceptTypes(self.codes, tuple(groups), self.types.compose(of_type), self.last.compose(of_type))

    @property
    def counts(self) -> np.ndarray:
        """Concepts of each type, int64 ``[T]``."""
        return np.bincount(self.types.indices, minlength=len(self.names))

    @property
    def typed(self) -> np.ndarray:
        """The indices of the concepts that have a type, int64 ``[N]``."""
        return np.flatnonzero(self.types.counts)

    def __len__(self) -> int:
        """Number of concepts, C."""
        return len(self.codes)

    def __repr__(self) -> str:
        return f"ConceptTypes({len(self):,} concepts, {len(self.typed):,} of them with {len(self.names):,} types)"
