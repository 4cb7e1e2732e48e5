"""Parents of a terminology as the relations ``isa`` and ``inverse_isa``."""

from __future__ import annotations

PARENT_RELATIONS = {"isa": ("child", "parent"), "inverse_isa": ("parent", "child")}
"""Relations that the parents of a terminology represent, with their head and tail.

Readers map the ``isa`` of a source to parents; ``umls`` maps REL = PAR and CHD, whose RELA is ``inverse_isa`` and ``isa`` or
another one or missing."""
