"""RF2 snapshots to concepts, names, types, parents and relations: this package, and pandas."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.harness import Table
from benchmarks.read_umls import measured
from benchmarks.synthetic_snomed import FSN, GB, ICD10, INFERRED, IS_A, PREFERRED, SYNONYM, US, write_snomed


def ours(folder: str) -> str:
    """Read: all records in columns, and the tally."""
    from st_biomed.readers import reader
    from st_biomed.records import Rows, Tally

    tally = Tally()
    n_rows: dict[str, int] = {}
    for some in reader("snomed").records(Path(folder), tally=tally):
        if isinstance(some, Rows):
            n_rows[some.table] = n_rows.get(some.table, 0) + len(
                some.columns["source" if "source" in some.columns else "code"]
            )
    return _sizes(n_rows["terms"], n_rows["types"], n_rows["parents"], n_rows["relations"], n_rows["xrefs"])


def ours_saved(folder: str) -> str:
    """Read, put together as a terminology and save."""
    from st_biomed.terminology import Terminology

    terminology = Terminology.read("snomed", folder)
    terminology.save(Path(folder, "saved"))
    return f"{terminology!r}"


def pandas_latest(folder: str) -> str:
    """The same records with pandas, the latest row of each id as several editions together need. It checks and counts nothing."""
    return pandas(folder, latest=True)


def pandas(folder: str, *, latest: bool = False) -> str:
    """The same records of one edition with pandas: the needed columns, active rows, joins by identifier."""
    import pandas as pd

    def table(pattern: str, *columns: str) -> pd.DataFrame:
        [file] = Path(folder, "Snapshot").rglob(pattern)
        needed = ["active", *(["id", "effectiveTime"] if latest else []), *columns]
        every = pd.read_csv(file, sep="\t", quoting=3, usecols=list(dict.fromkeys(needed)), keep_default_na=False)
        if latest:
            every = every.sort_values("effectiveTime", kind="stable").drop_duplicates("id", keep="last")
        return every.loc[every["active"] == 1, [*columns]]

    concepts = table("sct2_Concept_*", "id")["id"]
    names = table("sct2_Description_*", "id", "conceptId", "languageCode", "typeId", "term")
    names = names[names["conceptId"].isin(concepts) & names["typeId"].isin([FSN, SYNONYM])]
    members = table("der2_cRefset_Language*", "refsetId", "referencedComponentId", "acceptabilityId")
    members = members[members["acceptabilityId"] == PREFERRED]
    dialect = members["refsetId"].map({US: 0, GB: 1}).fillna(2)
    dialect = dialect.groupby(members["referencedComponentId"]).min()
    full = names["typeId"] == FSN
    parts = names.loc[full, "term"].str.extract(r"^(.*\S) \(([^()]+)\)$")
    names.loc[full, "term"] = parts[0].fillna(names["term"])
    names["level"] = names["id"].map(dialect).fillna(4).where(~full, 3)
    names = names.sort_values(["conceptId", "level"], kind="stable").drop_duplicates(
        ["conceptId", "term", "languageCode"]
    )
    names["kind"] = (~names["conceptId"].duplicated()).map({True: "preferred", False: "synonym"})
    links = table("sct2_Relationship_*", "sourceId", "destinationId", "typeId", "characteristicTypeId")
    known = links["sourceId"].isin(names["conceptId"]) & links["destinationId"].isin(names["conceptId"])
    links = links[known & (links["characteristicTypeId"] == INFERRED) & (links["sourceId"] != links["destinationId"])]
    links = links.drop_duplicates(["sourceId", "destinationId", "typeId"])
    maps = table("der2_iisssccRefset_*", "refsetId", "referencedComponentId", "mapTarget", "mapRule")
    maps = maps[(maps["refsetId"] == ICD10) & maps["referencedComponentId"].isin(names["conceptId"])]
    is_a = links["typeId"] == IS_A
    return _sizes(len(names), int(parts[1].notna().sum()), int(is_a.sum()), int((~is_a).sum()), len(maps))


def _sizes(names: int, types: int, parents: int, relations: int, xrefs: int) -> str:
    return (
        f"{names:,} names, {types:,} types, {parents:,} parents, {relations:,} relations, {xrefs:,} cross-references"
    )


def main(quick: bool = False) -> Table:
    concepts, rounds = (5_000, 1) if quick else (500_000, 3)
    contestants = {
        "this reader": ours,
        "the same, as a terminology on disk": ours_saved,
        "pandas, the latest row of each id": pandas_latest,
        "pandas, one edition": pandas,
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    memory: dict[str, float] = {}
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_snomed(Path(folder), concepts)
        for _ in range(rounds):
            for name, run in contestants.items():
                results[name], seconds, memory[name] = measured(run, folder)
                times[name].append(seconds)
    rows = []
    for name, seconds_of in times.items():
        ratios = [
            sorted(theirs / own for own, theirs in zip(seconds_of, times[peer]))[rounds // 2]
            for peer in list(times)[2:]
        ]
        cells = [
            f"{sorted(seconds_of)[rounds // 2]:.1f} s",
            *(f"{ratio:.1f}" for ratio in ratios),
            f"{memory[name]:.2f} GB",
        ]
        rows.append([name, *cells, results[name]])
    return Table(
        "SNOMED CT in Release Format 2",
        ["what", "time", "times as fast as pandas (latest)", "as pandas (one edition)", "memory", "result"],
        rows,
        notes=[
            f"A synthetic edition of {concepts:,} concepts, {int(3.2 * concepts):,} descriptions, {6 * concepts:,} relationships "
            f"and {2 * int(3.2 * concepts):,} rows of language reference sets (`benchmarks/synthetic_snomed.py`), a quarter "
            "of the concepts, relationships and synonyms inactive; each step in a fresh process from its import on, "
            f"median of {rounds} rounds that take turns. All run in one thread. This reader checks every "
            "identifier, keeps the latest row of each id and counts every row; "
            "pandas reads only the columns that it needs, without the checks and counts, and for one edition without ids and times.",
        ],
        peers=["pyarrow", "pandas"],
    )
