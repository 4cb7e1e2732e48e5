"""UMLS semantic types: their groups, and the tree numbers of the thirteen types of the Italian paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from st_biomed.errors import InputError, check_name

_GROUPS = {
    "ACTI": "T051 T052 T053 T054 T055 T056 T057 T064 T066",
    "ANAT": "T017 T018 T021 T022 T023 T024 T025 T026 T029 T030 T031",
    "CHEM": "T103 T104 T109 T114 T116 T120 T121 T122 T123 T125 T126 T127 T129 T130 T131 T192 T195 T196 T197 T200",
    "CONC": "T077 T078 T079 T080 T081 T082 T089 T102 T169 T170 T171 T185",
    "DEVI": "T074 T075 T203",
    "DISO": "T019 T020 T033 T037 T046 T047 T048 T049 T050 T184 T190 T191",
    "GENE": "T028 T085 T086 T087 T088",
    "GEOG": "T083",
    "LIVB": "T001 T002 T004 T005 T007 T008 T010 T011 T012 T013 T014 T015 T016 T096 T097 T098 T099 T100 T101 T194 T204",
    "OBJC": "T071 T072 T073 T167 T168",
    "OCCU": "T090 T091",
    "ORGA": "T092 T093 T094 T095",
    "PHEN": "T034 T038 T067 T068 T069 T070",
    "PHYS": "T032 T039 T040 T041 T042 T043 T044 T045 T201",
    "PROC": "T058 T059 T060 T061 T062 T063 T065",
}
SEMANTIC_GROUPS: dict[str, tuple[str, ...]] = {name: tuple(types.split()) for name, types in _GROUPS.items()}
"""Group to its types (McCray et al. 2001, SemGroups.txt)."""

ITALIAN_TYPES: dict[str, str] = {
    "T023": "A1.2.3.1",  # Body Part, Organ, or Organ Component
    "T031": "A1.4.2",  # Body Substance
    "T103": "A1.4.1",  # Chemical
    "T074": "A1.3.1",  # Medical Device
    "T033": "A2.2",  # Finding
    "T184": "A2.2.2",  # Sign or Symptom
    "T058": "B1.3.1",  # Health Care Activity
    "T060": "B1.3.1.2",  # Diagnostic Procedure
    "T059": "B1.3.1.1",  # Laboratory Procedure
    "T061": "B1.3.1.3",  # Therapeutic or Preventive Procedure
    "T046": "B2.2.1.2",  # Pathologic Function
    "T039": "B2.2.1.1",  # Physiologic Function
    "T037": "B2.3",  # Injury or Poisoning
}
"""The thirteen types of the Italian paper (its data section) and their tree numbers."""


def types_of_groups(groups: Iterable[str]) -> set[str]:
    """The types of some groups.

    Raises:
        InputError: An unknown group.
    """
    types: set[str] = set()
    for group in groups:
        check_name("semantic group", group, SEMANTIC_GROUPS)
        types.update(SEMANTIC_GROUPS[group])
    return types


def with_types_below(types: Iterable[str], tree_numbers: Mapping[str, str]) -> set[str]:
    """The types and all below them in the semantic network.

    Args:
        types: Identifiers such as ``"T046"``.
        tree_numbers: Type to its tree number in MRSTY.

    Raises:
        InputError: A type that is not in the tree.
    """
    known = {**ITALIAN_TYPES, **tree_numbers}
    selected = set()
    for kind in types:
        if kind not in known:
            raise InputError(f"semantic type {kind!r} does not occur in MRSTY; there are {sorted(tree_numbers)}")
        root = known[kind]
        # A single letter is followed by a digit, every other number by a point.
        selected |= {
            t for t, at in known.items() if at == root or at.startswith(root if len(root) == 1 else f"{root}.")
        }
    return selected
