"""From an OMOP vocabulary to a terminology: this package, and the same tables joined by pandas."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

from benchmarks.harness import Table
from benchmarks.read_umls import measured
from benchmarks.synthetic_omop import write_vocabulary


def ours(folder: str) -> str:
    """Read and save: names, types, codes, mappings, parents, relations."""
    from st_biomed.terminology import Terminology

    saved = Terminology.read("omop", folder).save(Path(folder, "saved"))
    return f"{Terminology.load(saved)!r}"


def standard(folder: str) -> str:
    """The same of standard concepts, without relations."""
    from st_biomed.terminology import Terminology

    return f"{Terminology.read('omop', folder, standard=True, relations='')!r}"


def peer(folder: str) -> str:
    """The same tables by pandas: concepts and names sorted and replaced by their indices, then saved as parquet."""
    import numpy as np
    import pandas as pd

    def read(table: str, columns: list[str]) -> pd.DataFrame:
        path = Path(folder, f"{table}.csv")
        return pd.read_csv(
            path, sep="\t", quoting=csv.QUOTE_NONE, usecols=columns, keep_default_na=False, na_filter=False
        )

    concept = read(
        "CONCEPT",
        [
            *("concept_id", "concept_name", "domain_id", "vocabulary_id", "standard_concept"),
            "concept_code",
            "invalid_reason",
        ],
    )
    concept = concept[concept.pop("invalid_reason") == ""].sort_values("concept_id", ignore_index=True)
    index = pd.Index(concept["concept_id"])

    def known(frame: pd.DataFrame, *ends: str) -> pd.DataFrame:
        for end in ends:
            frame[end] = index.get_indexer(frame[end])
            frame = frame[frame[end] >= 0]
        return frame

    synonym = read("CONCEPT_SYNONYM", ["concept_id", "concept_synonym_name", "language_concept_id"])
    synonym = known(synonym, "concept_id").rename(columns={"concept_synonym_name": "name"})
    title = pd.DataFrame({"concept_id": np.arange(len(concept)), "name": concept.pop("concept_name")})
    names = pd.concat([title.assign(language_concept_id=4180186), synonym])
    names["name"] = names["name"].str.strip()
    names = names[names["name"] != ""].drop_duplicates()
    names["name"], texts = pd.factorize(names["name"], sort=True)
    related = read("CONCEPT_RELATIONSHIP", ["concept_id_1", "concept_id_2", "relationship_id", "invalid_reason"])
    related = known(related[related.pop("invalid_reason") == ""], "concept_id_1", "concept_id_2")
    related = related[~related["relationship_id"].isin(["Subsumes", "Mapped from"])]
    parents = related[related["relationship_id"] == "Is a"]
    ancestor = read("CONCEPT_ANCESTOR", ["ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation"])
    ancestor = ancestor[ancestor.pop("min_levels_of_separation") == 1]
    ancestor = known(ancestor, "ancestor_concept_id", "descendant_concept_id")
    ancestor = ancestor[~ancestor["descendant_concept_id"].isin(parents["concept_id_1"])]
    out = Path(folder, "pandas")
    out.mkdir()
    tables = {"concept": concept, "text": pd.DataFrame({"text": texts}), "name": names}
    for name, frame in (tables | {"related": related, "ancestor": ancestor}).items():
        frame.to_parquet(out / f"{name}.parquet")
    return f"{len(concept):,} concepts, {len(texts):,} texts, {len(parents) + len(ancestor):,} parents"


def main(quick: bool = False) -> Table:
    concepts = 20_000 if quick else 10_000_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_vocabulary(Path(folder), concepts)
        for what, run in (
            ("read and saved", ours),
            ("standard concepts without relations, read", standard),
            ("names, parents and relations by pandas, saved", peer),
        ):
            result, seconds, memory = measured(run, folder)
            rows.append([what, f"{seconds:.1f} s", f"{memory:.1f} GB", result])
    return Table(
        "An OMOP vocabulary to a terminology",
        ["what", "time", "memory", "result"],
        rows,
        notes=[
            f"A synthetic vocabulary in Athena's form (`benchmarks/synthetic_omop.py`) with {concepts:,} rows each of CONCEPT, "
            f"CONCEPT_SYNONYM and CONCEPT_ANCESTOR and {2 * concepts:,} of CONCEPT_RELATIONSHIP, each step in a fresh "
            "process from its import on. Both sort concepts and names and replace them by indices; ours counts the reason of "
            "every row that is left out and keeps sources and cross-references as tables of their own.",
        ],
        peers=["pyarrow", "pandas"],
    )
