"""FHIR: counts of open resources; the files are outside the repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from st_biomed.readers.fhir.resources import read_resources
from st_biomed.records import Tally
from tests.readers.fhir_files import read

pytestmark = pytest.mark.realdata


def test_the_global_patient_set_has_26158_concepts(realdata: Path) -> None:
    gps = read(realdata / "open2026" / "fhir" / "ValueSet-snomed-intl-gps.json.gz")
    assert (gps.n_concepts, gps.n_texts, gps.tallies["fhir rows"].n_dropped) == (26_158, 26_158, 0)
    source = gps.sources["SNOMEDCT-SNOMED-INTL-GPS"]
    assert (source.version, source.license) == ("20200930", "CC-BY-4.0")


def test_each_of_934_files_of_hl7_is_a_resource_that_is_read_or_counted(realdata: Path) -> None:
    """Catches a file in the archive that is skipped: two code systems are in JSON, three value sets among the rest."""
    tally = Tally()
    found = Counter(
        resource["resourceType"]
        for _, resource in read_resources(realdata / "open2026" / "fhir" / "utg_codesystems.tar.gz", tally)
    )
    assert (found, tally.dropped) == (
        {"CodeSystem": 928, "ValueSet": 3},
        {"resources of other kinds (NamingSystem)": 3},
    )
    assert found.total() + tally.n_dropped == 934


def test_928_code_systems_of_hl7_have_19751_concepts(realdata: Path) -> None:
    """19,798 elements, 47 of them in two copies of a code system. Catches a file that is skipped and a lost status."""
    path = realdata / "open2026" / "fhir" / "utg_codesystems.tar.gz"
    hl7 = read(path)
    assert (hl7.n_concepts, hl7.terms.num_rows, hl7.parents.num_rows, hl7.n_definitions) == (
        17_704,
        19_563,
        6_861,
        8_954,
    )
    dropped = hl7.tallies["fhir rows"].dropped
    assert [dropped[f"{status} concepts"] for status in ("retired", "deprecated", "inactive")] == [1_579, 293, 2]
    assert (dropped["concepts without a name"], dropped["resources of other kinds (NamingSystem)"]) == (173, 3)
    prefixes = Counter(code.partition(":")[0][:3] for code in hl7.codes)
    assert (prefixes["V2-"], prefixes["V3-"]) == (5_520, 7_173)
    everything = read(path, inactive=True)
    assert everything.n_concepts + everything.tallies["fhir rows"].dropped["concepts without a name"] == 19_751
