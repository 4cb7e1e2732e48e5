"""``st-biomed unite``: the sources that a file of settings lists as one terminology, with a report of what conflicts."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from st_biomed.cli._options import NewTerminology, check_outside
from st_biomed.cli.read import tally_table
from st_biomed.errors import InputError
from st_biomed.settings.checks import FILE, PATH

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology


def run(
    plan: Annotated[Path, typer.Argument(help="YAML file of sources, e.g. evaluation/open_terminology.yaml."), PATH],
    output: NewTerminology,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the sources' files; by default ST_BIOMED_DATA."), PATH
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Report of conflicts; by default OUTPUT.conflicts.json."), FILE
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out sources whose files are not there.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the terminology in the output folder, and its report.")
    ] = False,
    if_changed: Annotated[
        bool,
        typer.Option(
            "--if-changed",
            help="Replace it only if the plan, a file or the code is not what it was made of; say which.",
        ),
    ] = False,
) -> None:
    """Read many sources, make one terminology of them, and say what stands against one another."""
    from st_biomed.files import check_new_file, lock, write_text
    from st_biomed.settings.bundled import bundled
    from st_biomed.terminology.storage import HEADER, check_folder
    from st_biomed.terminology.union import missing_files, unite
    from st_biomed.terminology.union_plan import UnionPlan
    from st_biomed.terminology.union_record import MADE_OF, made_of, what_changed

    if overwrite and if_changed:
        raise InputError("--if-changed: --overwrite replaces the terminology anyway; give one of them")
    start = time.perf_counter()
    target = _report_file(output, report)

    def tell(name: str, part: Terminology) -> None:
        names, definitions = f"{part.n_texts:>9,} names", f"{part.n_definitions:>8,} definitions"
        typer.echo(f"{name:24}{part.n_concepts:>9,} concepts {names} {definitions}")

    with lock(output, wait=if_changed):
        check_folder(output, overwrite=overwrite or if_changed)
        check_new_file(target, overwrite=overwrite or if_changed)
        settings = UnionPlan.read(plan if plan.exists() else bundled(plan) or plan)
        folder = data or (Path(os.environ["ST_BIOMED_DATA"]) if os.environ.get("ST_BIOMED_DATA") else None)
        lacking = missing_files(settings, folder)
        for name, paths in lacking.items():
            typer.echo(f"missing: {name} needs {', '.join(map(str, paths))}", err=True)
        if lacking and not skip_missing:
            raise InputError(
                f"{len(lacking)} of {len(settings.sources)} sources lack files; --data names their folder, "
                "--skip-missing unites the others"
            )
        made = made_of(settings, folder)
        if if_changed and (output / HEADER).is_file():
            if not (changed := what_changed(output, target, made)):
                typer.echo(f"{output}: made of the same plan, files and code; nothing to do")
                return
            typer.echo(f"{output}: made anew, because {changed}")
        united = unite(settings, folder, skip_missing=skip_missing, progress=tell)
        whole = united.terminology
        whole.save(output)
        write_text(target, json.dumps({**united.report, MADE_OF: made}, indent=1, ensure_ascii=False) + "\n")
    typer.echo(tally_table(united.stages))
    for line in _summary(united.report):
        typer.echo(line)
    typer.echo(
        f"{whole.n_concepts:,} concepts, {whole.n_texts:,} names, {whole.n_definitions:,} definitions, "
        f"{whole.parents.num_rows:,} parents and {whole.relations.num_rows:,} relations saved to {output}, conflicts to "
        f"{target} after {time.perf_counter() - start:.0f} s"
    )


def _report_file(output: Path, report: Path | None) -> Path:
    """Where the report goes: beside the output, unless it is told."""
    named = output if output.name not in ("", "..") else output.resolve()
    target = report or named.with_name(f"{named.name}.conflicts.json")
    check_outside("--report", target, output)
    return target


def _summary(report: dict[str, Any]) -> list[str]:
    """A line for each kind of conflict."""
    names = report["equal names of different concepts"]["names"]
    case = report["names equal but for case, before they were normalized"]
    links = sum(entry["links"] for entry in report["links that do not hold"])
    circles = report["cycles"]
    fate = "dropped" if circles["dropped"] else "kept, which a hierarchy refuses"
    return [
        f"{names:,} names stand for several concepts",
        f"{case['names']:,} names were equal to another but for case, {case['in different concepts']:,} of them in lower "
        "case at different concepts",
        f"{links:,} links did not hold, and their concepts stay apart",
        f"{circles['parents']:,} parents lay on {circles['cycles']:,} cycles, {circles['before']:,} of them before the "
        f"union; {fate}",
    ]
