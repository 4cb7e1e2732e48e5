"""Relations of UMLS (values of RELA) that papers measure."""

from __future__ import annotations

HIPRBERT_28 = (
    "component_of",
    "classified_as",
    "finding_site_of",
    "translation_of",
    "isa",
    "subset_includes_concept",
    "inverse_isa",
    "has_ingredient",
    "concept_in_subset",
    "mapped_from",
    "has_member",
    "member_of",
    "has_translation",
    "expanded_form_of",
    "mapped_to",
    "has_inactive_ingredient",
    "ingredient_of",
    "inactive_ingredient_of",
    "has_finding_site",
    "classifies",
    "active_moiety_of",
    "has_component",
    "has_active_ingredient",
    "active_ingredient_of",
    "has_active_moiety",
    "has_class",
    "has_expanded_form",
    "class_of",
)
"""The "28 most common relations in UMLS" whose mean HiPrBERT reports (section 4.2 and Table 5: 93.7); the paper does
not name them; the list is from its evaluation script. They are 14 relations with their inverses, so the same pairs
count twice in the mean; intervals and tests draw them once, see
:func:`~st_biomed.metrics.relation_groups.relation_groups`."""

HIPRBERT_CLINICAL = {
    "causative": ("causative_agent_of", "cause_of", "due_to", "has_causative_agent", "induced_by", "induces"),
    "may_cause_or_treat": ("may_be_treated_by", "may_treat"),
    "method_of": ("method_of",),
    "classifies": ("classifies",),
    "ddx": ("ddx",),
}
"""The groups of clinical importance in HiPrBERT (section 4.2 names three, its script five), label to relations.
The paper does not state which relations count as "Causative" and "May Cause/Treat"; the notebook of its code has ``cause_of``,
``causative_agent_of`` and ``induces``, and ``may_treat`` and ``may_prevent``. Here the first are cui2vec's causative
relations with their inverses and ``due_to``, and the second are the two relations of MED-RT; figures are not
comparable."""
