"""The native format of pandoc, which is a Haskell value as text: its words and its tables."""

import json
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.|\\\s+\\)*"|[\[\](),]|[^\s\[\](),"]+')
ROMAN = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"]
Node = list | str


def parsed(text: str) -> Node:
    """Nested lists: a list, tuple or bracketed constructor is a list of what stands in it."""
    root: list = []
    stack = [root]
    for token in TOKEN.findall(text):
        if token in "[(":
            inner: list = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token in "])":
            stack.pop()
        elif token != ",":
            stack[-1].append(token)
    # With metadata before it, the document is the last list.
    return root[-1] if root and root[0] == "Pandoc" else root


def string(token: str) -> str:
    """A Haskell string's characters."""
    token = token.replace("\\&", "")
    token = re.sub(r"\\(\d+)", lambda found: json.dumps(chr(int(found[1])))[1:-1], token)
    return json.loads(token.replace("\\'", "'"), strict=False)


def shown(node: Node) -> list[str]:
    """Words, blanks and breaks of a value in order."""
    out: list[str] = []
    walk(node, out)
    return out


def walk(node: Node, out: list[str]) -> None:
    if isinstance(node, str):
        return
    skip = 0
    for at, item in enumerate(node):
        if skip > 0:
            skip -= 1
        elif isinstance(item, list):
            walk(item, out)
        elif item == "Str":
            out.append(string(node[at + 1]))
        elif item in ("Code", "CodeBlock", "Math"):
            # Its attributes or its type, then its text.
            out.append("\n" if item == "CodeBlock" else "")
            out.append(string(node[at + 2]))
            skip = 2
        elif item in ("RawInline", "RawBlock"):
            skip = 2
        elif item in ("Link", "Image", "Span", "Div", "Header"):
            # The attributes; an address stands after the words, as strings that are not of Str.
            skip = 2 if item == "Header" else 1
            if item == "Header":
                out.append("\n")
        elif item == "OrderedList":
            start, style, delimiter = node[at + 1]
            for number, blocks in enumerate(node[at + 2], int(start)):
                out.append(f"\n{marker(number, style, delimiter)} ")
                walk(blocks, out)
            skip = 2
        elif item == "Quoted":
            mark = '"' if node[at + 1] == "DoubleQuote" else "'"
            out.append(mark)
            walk(node[at + 2], out)
            out.append(mark)
            skip = 2
        elif item in ("Space", "SoftBreak", "LineBreak"):
            out.append(" ")
        elif item in ("Para", "Plain", "Cell", "Row", "BulletList", "BlockQuote"):
            out.append("\n")


def marker(number: int, style: str, delimiter: str) -> str:
    """An item's number as a list of that style has it."""
    if style.endswith("Alpha") and 1 <= number <= 26:
        shown = chr(ord("a") + number - 1)
    elif style.endswith("Roman") and 1 <= number < 40:
        shown = "x" * (number // 10) + ROMAN[number % 10]
    else:
        shown = str(number)
    shown = shown.upper() if style.startswith("Upper") else shown
    return {"OneParen": f"{shown})", "TwoParens": f"({shown})"}.get(delimiter, f"{shown}.")


def text(native: str) -> str:
    """The words of a document."""
    return "".join(shown(parsed(native)))


def tables(native: str) -> list[list[list[str]]]:
    """The tables of a document. A cell that spans others is followed by blank ones."""
    found: list[list[list[str]]] = []
    collect(parsed(native), found)
    return found


def collect(node: Node, found: list[list[list[str]]]) -> None:
    if isinstance(node, str):
        return
    for at, item in enumerate(node):
        if item == "Table":
            found.append([])
        elif item == "Row" and found:
            found[-1].append(cells(node[at + 2]))
        elif isinstance(item, list):
            collect(item, found)


def cells(row: Node) -> list[str]:
    out: list[str] = []
    for at, item in enumerate(row):
        if item == "Cell":
            columns = int(row[at + 4][1])
            out.append(" ".join("".join(shown(row[at + 5])).split()))
            out.extend([""] * (columns - 1))
    return out
