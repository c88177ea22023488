"""How alike two texts, and two lists of tables, are.

Everything here is told neither which converter it scores nor which file: what is stripped or folded is stripped
and folded of all of them and of the truth.
"""

import html
import re
import unicodedata
from collections import Counter

from rapidfuzz.distance import Levenshtein

COMMENT = re.compile(r"<!--.*?-->", re.S)
PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
# The tags that converters write inside of Markdown; any other may be the text of a file.
TAG = re.compile(r"</?(?:br|u|s|b|i|em|strong|sub|sup|p|a|span|div|table|thead|tbody|tr|td|th)(?:\s[^<>]*)?/?>", re.I)
# Mathematics between dollar signs; sums of money have no such signs in them.
MATH = re.compile(r"\$\$?([^$\n]*[\\^_={][^$\n]*)\$\$?")
DELIMITER_ROW = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$", re.M)
LINE_MARK = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:#{1,6}[ \t]+|[-*+•][ \t]+)", re.M)
MARKUP = re.compile(r"[*_`~|\\]")
# Boxes as characters and as Markdown has them.
BOXES = str.maketrans({"☐": "[ ]", "☑": "[x]", "☒": "[x]"})
# Soft hyphens, joiners, marks of direction, the byte order mark.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def plain(text: str) -> str:
    """The words of a text without Markdown's markup, on one line."""
    text = COMMENT.sub(" ", text)
    text = PICTURE.sub(r" \1 ", text)
    text = LINK.sub(r"\1", text)
    text = MATH.sub(r"\1", text)
    text = DELIMITER_ROW.sub(" ", text)
    text = LINE_MARK.sub("", text)
    text = html.unescape(TAG.sub(" ", text))
    text = unicodedata.normalize("NFKC", MARKUP.sub(" ", text)).translate(BOXES)
    return " ".join(INVISIBLE.sub("", text).split())


def similarity(found: str, true: str) -> float:
    """Normalised edit similarity: 1 less the edits from one to the other per character of the longer."""
    return Levenshtein.normalized_similarity(plain(found), plain(true))


Table = list[list[str]]


def relations(table: Table) -> Counter:
    """Which cell's words stand next to which: to the right in a row, below in a column, blank cells passed over.

    The measure of the ICDAR 2013 table competition. It needs no alignment of rows, and a blank row or column too many costs
    nothing.
    """
    grid = [[plain(cell) for cell in row] for row in table]
    width = max((len(row) for row in grid), default=0)
    columns = [[row[at] if at < len(row) else "" for row in grid] for at in range(width)]
    pairs: Counter = Counter()
    for direction, lines in (("right", grid), ("below", columns)):
        for line in lines:
            cells = [cell for cell in line if cell]
            pairs.update((direction, *pair) for pair in zip(cells, cells[1:]))
    return pairs


def f1(found: Counter, true: Counter) -> float:
    """The harmonic mean of precision and recall."""
    total = found.total() + true.total()
    return 2 * (found & true).total() / total if total else 1.0


def tables_f1(found: list[Table], true: list[Table], is_area: bool) -> float:
    """F1 of all the neighbours in all tables; where the truth is one area of a page, of the table that is most like it."""
    wanted = sum((relations(table) for table in true), Counter())
    if is_area:
        return max((f1(relations(table), wanted) for table in found), default=0.0)
    return f1(sum((relations(table) for table in found), Counter()), wanted)


def pipe_tables(markdown: str) -> list[Table]:
    """The tables of Markdown that are written with pipes."""
    tables: list[Table] = []
    rows: Table = []
    for line in [*markdown.splitlines(), ""]:
        line = line.strip()
        if not line.startswith("|"):
            if len(rows) > 0:
                tables.append(rows)
            rows = []
        elif not DELIMITER_ROW.fullmatch(line):
            inner = line[1:].removesuffix("|")
            rows.append([cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inner)])
    return tables
