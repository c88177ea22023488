"""What is known of the files: the rows of `index.tsv`, and the truths beside the files."""

import csv
import html
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pandoc
from scores import Table, pipe_tables

# Formats by extension, where Loom names them otherwise than by it.
FORMATS = {"md": "markdown", "txt": "text", "htm": "html", "srt": "vtt", "encrypted": "parquet"}
PICTURES = {"png", "jpg", "jpeg", "tif", "tiff"}


@dataclass
class Row:
    """A file."""

    path: Path
    folder: str
    name: str
    special: str
    note: str
    expected: str
    measured: str
    truths: list[Path]

    @property
    def is_dangerous(self) -> bool:
        """Whether it was made to exhaust or to trap its reader. Such files are given to a confined server alone."""
        words = f"{self.special} {self.expected}"
        return self.folder == "hostile" or re.search(r"bomb|memory|recursive|huge|recurse", words) is not None

    @property
    def format(self) -> str:
        """The format that Loom is to read it as."""
        extension = self.name.rsplit(".", 1)[-1].lower()
        if self.folder == "image" or extension in PICTURES:
            return "image"
        if self.folder == "md":
            return "markdown"
        return FORMATS.get(extension, extension)

    @property
    def pages(self) -> int:
        """How many pages it has; 1 where nobody counted."""
        found = re.search(r"pages=(\d+)", self.measured)
        return int(found[1]) if found else 1

    @property
    def is_born_digital(self) -> bool:
        """Whether it is a PDF with a layer of text that nothing refuses."""
        has_text = re.search(r"non-blank chars \(poppler\)=[1-9]", self.measured) is not None
        return self.folder == "pdf" and self.expected == "ingest" and has_text


@dataclass
class Truth:
    """What a file says, as far as somebody wrote it down."""

    # None where only tables are known.
    text: str | None
    tables: list[Table] = field(default_factory=list)
    # Whether the tables are a part of those in the file: one area of a page, some sheets of a workbook.
    is_area: bool = False
    # Who wrote it: `published`, `export` (the program that made the file, or a table extractor's tests), `baseline` (what another
    # converter once answered).
    kind: str = "published"


def rows(folder: Path) -> list[Row]:
    """Every file of the folder, as `index.tsv` has it."""
    with open(folder / "index.tsv", encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row(folder, fields) for fields in read]


def row(folder: Path, fields: dict[str, str]) -> Row:
    path = folder / fields["file"]
    names = dict.fromkeys(name for name in fields["truth_files"].split(";") if name)
    return Row(
        path=path,
        folder=fields["file"].split("/")[0],
        name=path.name,
        special=fields["special"],
        note=fields["ground_truth_note"],
        expected=fields["expected"],
        measured=fields["measured"],
        truths=[path.parent / name for name in names],
    )


def truth(row: Row) -> Truth | None:
    """What is known of a file, or None. Parse trees of SQL, values of TOML and sources of TeX are no text to compare with."""
    if row.folder in ("sql", "toml", "legacy", "hostile") or not row.truths:
        return None
    first = row.truths[0].name
    if first.endswith(".tex"):
        return None
    if first.endswith(".csv"):
        return exported(row)
    text = decoded(row.truths[0].read_bytes())
    if first.endswith(".native"):
        return Truth(pandoc.text(text), pandoc.tables(text))
    if first.endswith(".json"):
        return recorded(json.loads(text))
    if first.endswith(".html") or (row.folder == "html" and first.endswith(".txt")):
        return Truth(untagged(text))
    if row.folder == "csv" and first.endswith(".txt"):
        table = list(csv.reader(io.StringIO(text, newline="")))
        return Truth(words([table]), [table])
    if first.endswith(".md"):
        is_baseline = row.name.startswith(("docling", "markit"))
        return Truth(text, pipe_tables(text), kind="baseline" if is_baseline else "published")
    return Truth(text)


def exported(row: Row) -> Truth:
    """CSV: of a workbook's sheets by the program that made it, of a table by the tests of a table extractor."""
    lines = [decoded(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n") for path in row.truths]
    tables = [table for text in lines if (table := list(csv.reader(io.StringIO(text, newline=""))))]
    # Some workbooks have more sheets than were exported.
    sheets = re.search(r"sheets=(\d+)", row.measured)
    is_part = sheets is not None and int(sheets[1]) > len(lines)
    is_area = row.folder == "pdf" or is_part
    return Truth(None if is_area or row.folder == "parquet" else words(tables), tables, is_area, "export")


def recorded(records: object) -> Truth | None:
    """Records: an object for each, or a list of cells."""
    if not isinstance(records, list) or not records:
        return None
    if isinstance(records[0], dict):
        table = [list(records[0]), *([str(value) for value in record.values()] for record in records)]
    else:
        table = [[str(value) for value in record] for record in records]
    return Truth(words([table]), [table])


def words(tables: list[Table]) -> str:
    return "\n".join(" ".join(cell for cell in row if cell.strip()) for table in tables for row in table)


def untagged(page: str) -> str:
    """What is left of a page without its tags, scripts and styles. Attributes that hide are not heeded."""
    page = re.sub(r"<(script|style)\b.*?</\1\s*>", " ", page, flags=re.S | re.I)
    page = re.sub(r"<!--.*?-->", " ", page, flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def decoded(data: bytes) -> str:
    """Most are UTF-8; some exports are what a Mac or Windows wrote."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")
