"""Holds Loom's extractor, markitdown and kreuzberg against the known content of real files.

    python benches/extraction/bench.py FOLDER --extract PROGRAM [--loom PROGRAM]

`FOLDER` has `index.tsv`, a folder of files for each format and truths beside them. See README.md.
"""

import argparse
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import converters
import report
import truths
from converters import Answer, Converter
from scores import similarity, tables_f1
from server import Outcome, Server
from truths import Row

# The formats whose time is taken by the file; PDF's is by the page.
OFFICE = ("docx", "pptx", "xlsx")
# How often a file is converted for its time, after once untimed; the median counts.
TIMES = 3


@dataclass
class Scored:
    """A file's scores by converter: None where there is no such truth."""

    row: Row
    text: list[float] | None
    tables: list[float] | None
    errors: list[str]
    kind: str


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--extract", type=Path, help="the example `extract` of the crate loom-extract")
    asked.add_argument("--loom", type=Path, help="the program `loom`: every file through a server, the hostile ones too")
    asked.add_argument("--only", action="append", default=[], help="only files of this folder; may be repeated")
    asked.add_argument("--margins", action="store_true", help="count Loom's headers and footers as text")
    asked.add_argument("--no-speed", action="store_true")
    asked.add_argument("--details", action="store_true", help="also every file's scores")
    given = asked.parse_args()
    rows = [row for row in truths.rows(given.folder) if not given.only or row.folder in given.only]
    if given.loom is not None:
        through_server(given.loom, rows)
    if given.extract is None:
        return
    quality(given, rows)
    if not given.no_speed:
        speed(given.extract, rows)


def through_server(program: Path, rows: list[Row]) -> None:
    """Outcomes of all files, and of the hostile ones their seconds and the server's memory.

    The hostile ones have a server of their own: one that had grown by other files would hide by how much they make it grow.
    """
    hostile = [row for row in rows if row.is_dangerous]
    others = [row for row in rows if not row.is_dangerous]
    ended = dict(ingested(program, others[:1], hostile) + ingested(program, [], others))
    report.outcomes([(row, ended[row.path]) for row in rows])
    report.hostile([(row, ended[row.path]) for row in hostile])


def ingested(program: Path, first: list[Row], rows: list[Row]) -> list[tuple[Path, Outcome]]:
    """How files end in a new server. Those of `first` open the namespace, load the model and start a process before it counts."""
    if not rows:
        return []
    server = Server(program)
    try:
        for row in first:
            server.ingest(row)
        return [(row.path, server.ingest(row)) for row in rows]
    finally:
        server.close()


def quality(given: argparse.Namespace, rows: list[Row]) -> None:
    """Text and tables against the truths, with OCR for who has it."""
    known = [(row, truth) for row in rows if not row.is_dangerous and (truth := truths.truth(row)) is not None]
    opened = converters.all_of(given.extract, has_ocr=True, has_margins=given.margins)
    scored: dict[str, list[Scored]] = defaultdict(list)
    for row, truth in known:
        answers = [converter.convert(row) for converter in opened]
        text = None if truth.text is None else [similarity(answer.text, truth.text) for answer in answers]
        # A table of a single cell has no neighbours to compare.
        has_tables = any(sum(1 for line in table for cell in line if cell.strip()) > 1 for table in truth.tables)
        tables = [cells(answer, truth) for answer in answers] if has_tables else None
        errors = [answer.error for answer in answers]
        scored[row.folder].append(Scored(row, text, tables, errors, truth.kind))
    for converter in opened:
        converter.close()
    names = [converter.name for converter in opened]
    report.quality(names, scored, given.details)


def cells(answer: Answer, truth: truths.Truth) -> float:
    """The better of the tables that a converter gives apart and those in its Markdown."""
    return max(tables_f1(tables, truth.tables, truth.is_area) for tables in (answer.tables, answer.written))


def speed(extract: Path, rows: list[Row]) -> None:
    """Median milliseconds, of files that all three convert, without OCR."""
    opened = converters.all_of(extract, has_ocr=False)
    names = [converter.name for converter in opened]
    # Milliseconds by the clock and computed, of each converter.
    taken: dict[str, list[list[tuple[float, float]]]] = defaultdict(list)
    for row in rows:
        is_office = row.folder in OFFICE and row.expected == "ingest" and not row.is_dangerous
        if not (is_office or (row.is_born_digital and not row.is_dangerous)):
            continue
        times = [timed(converter, row) for converter in opened]
        if None not in times:
            by = 1 if is_office else row.pages
            taken[row.folder].append([(ms / by, cpu_ms / by) for ms, cpu_ms in times])
    for converter in opened:
        converter.close()
    report.speed(names, taken)


def timed(converter: Converter, row: Row) -> tuple[float, float] | None:
    """Milliseconds by the clock, and computed; None where the file is refused."""
    if converter.convert(row).error:
        return None
    answers = [converter.convert(row) for _ in range(TIMES)]
    return statistics.median(answer.ms for answer in answers), statistics.median(answer.cpu_ms for answer in answers)


if __name__ == "__main__":
    main()
