"""The first readers under damaged files; later ones have this in their own test files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.reader_contract import FIXTURES
from tests.readers.mutations import check_survives, mutated

CASES: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "icd10cm_tabular.xml": ("icd10cm", b"><", {"extensions": True, "includes": "all"}),
    "icd10cm_order_2031.txt": ("icd10cm", b" ", {"short_names": True}),
    "gland_map.csv": ("parent_child", b",", {"strings": FIXTURES / "gland_strings.csv", "missing": "drop"}),
    "gland_strings.csv": ("parent_child", b",", {}),
    "glands.txt": ("parent_child", b"||", {}),
    "phecode_1.2.csv": ("phecode", b",", {"icd_names": FIXTURES / "phecode_icd_names.csv"}),
    "phecode_x.csv": ("phecode", b",", {}),
}
"""Fixture to its reader, its separator and options."""


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_damage_ends_in_a_traceback(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    reader, separator, options = CASES[name]
    path = tmp_path_factory.getbasetemp() / f"damaged_{name}"
    path.write_bytes(data.draw(mutated((FIXTURES / name).read_bytes(), separator=separator)))
    check_survives(reader, path, **options)
