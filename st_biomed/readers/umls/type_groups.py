"""The groups of UMLS semantic types that the papers measure."""

from __future__ import annotations

from itertools import chain

_ITALIAN = {
    "BP": "T023 Body Part, Organ, or Organ Component",
    "BS": "T031 Body Substance",
    "C": "T103 Chemical; T120 Chemical Viewed Functionally; T121 Pharmacologic Substance; T195 Antibiotic; "
    "T122 Biomedical or Dental Material; T123 Biologically Active Substance; T125 Hormone; T126 Enzyme; T127 Vitamin; "
    "T129 Immunologic Factor; T192 Receptor; T130 Indicator, Reagent, or Diagnostic Aid; "
    "T131 Hazardous or Poisonous Substance; T104 Chemical Viewed Structurally; T109 Organic Chemical; "
    "T114 Nucleic Acid, Nucleoside, or Nucleotide; T116 Amino Acid, Peptide, or Protein; T197 Inorganic Chemical; "
    "T196 Element, Ion, or Isotope",
    "MD": "T074 Medical Device; T203 Drug Delivery Device",
    "F": "T033 Finding; T034 Laboratory or Test Result",
    "SS": "T184 Sign or Symptom",
    "HCA": "T058 Health Care Activity",
    "DP": "T060 Diagnostic Procedure",
    "LP": "T059 Laboratory Procedure",
    "TPP": "T061 Therapeutic or Preventive Procedure",
    "PF": "T046 Pathologic Function; T047 Disease or Syndrome; T048 Mental or Behavioral Dysfunction; "
    "T191 Neoplastic Process; T049 Cell or Molecular Dysfunction; T050 Experimental Model of Disease",
    "PhF": "T039 Physiologic Function; T040 Organism Function; T041 Mental Process; T042 Organ or Tissue Function; "
    "T043 Cell Function; T044 Molecular Function; T045 Genetic Function",
    "IP": "T037 Injury or Poisoning",
}
_CODER = (
    "T121 Pharmacologic Substance; T047 Disease or Syndrome; T191 Neoplastic Process; T200 Clinical Drug; T033 "
    "Finding; T037 Injury or Poisoning"
)


def _members(types: str) -> tuple[str, ...]:
    """Identifiers and names of some semantic types."""
    return tuple(chain.from_iterable(member.split(" ", 1) for member in types.split("; ")))


TYPE_GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "italian": {group: _members(types) for group, types in _ITALIAN.items()},
    "coder": {member.split(" ", 1)[1]: _members(member) for member in _CODER.split("; ")},
}
"""Preset to its groups, each with the identifiers and the names of its types.

``italian``: the thirteen semantic types of the Italian paper (its data section, with the abbreviations of its Table
    4),
each with the types below it in the UMLS Semantic Network, except those below another one of the thirteen: Chemical is
a group, but HCA does not include DP, LP and TPP, and F does not include SS. The paper does not state this, but
ext-BERT has 3.06 for HCA and more for each of the three types below it (3.48, 3.13, 6.04). Clinical Drug (T200) is a
chemical in the semantic groups of McCray et al. 2001, but not in the network, and is not in ``C``.

``coder``: the six types that CODER's published evaluation measures (Yuan et al. 2022)."""
