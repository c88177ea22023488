"""The converters, each in a process that stays warm."""

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from scores import Table, pipe_tables
from truths import Row

HERE = Path(__file__).parent
# A file that takes longer counts as not converted.
SECONDS_MAX = 60


@dataclass
class Answer:
    """What a converter made of a file."""

    text: str
    tables: list[Table]
    # The tables of its Markdown, where it gives them apart as well.
    written: list[Table]
    ms: float
    # What the process computed for it, all its threads together, its answer on the pipe included.
    cpu_ms: float
    # Why there is no text; empty otherwise.
    error: str


class Converter:
    """A process that answers a line for a line."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], by_format: bool) -> None:
        self.name = name
        self.command = command
        self.environment = {**os.environ, **environment}
        # Whether it is told the format.
        self.by_format = by_format
        self.process: subprocess.Popen | None = None

    def convert(self, row: Row) -> Answer:
        """One conversion, from the file on disk to text."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        request = {"path": str(row.path)}
        if self.by_format:
            request["format"] = row.format
        before = self.computed()
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        line = self.line()
        if line is None:
            self.close()
            return Answer("", [], [], SECONDS_MAX * 1000, 0.0, f"no answer in {SECONDS_MAX} s")
        if not line:
            self.close()
            return Answer("", [], [], 0.0, 0.0, "its process ended")
        cpu_ms = (self.computed() - before) * 1000
        answer = json.loads(line)
        written = pipe_tables(answer["text"])
        tables = answer["tables"]
        tables = written if tables is None else tables
        return Answer(answer["text"], tables, written, answer["ms"], cpu_ms, answer.get("error", ""))

    def computed(self) -> float:
        """Seconds that the process has computed so far, by the clock that Linux has for it."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def line(self) -> bytes | None:
        """The next line; empty where the process ended, None where it took too long."""
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS_MAX)
        return self.process.stdout.readline() if ready else None

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def all_of(extract: Path, has_ocr: bool, has_margins: bool = False) -> list[Converter]:
    """Loom first. `extract` is the example of that name of the crate loom-extract.

    Without margins, its text has no headers and footers of documents, which it keeps as blocks of a kind of their own; the others
    leave them out.
    """
    ocr = ["--ocr"] if has_ocr else []
    peers = [
        Converter(name, [sys.executable, str(HERE / "peer.py"), name, *ocr], {}, by_format=False)
        for name in ("markitdown", "kreuzberg")
    ]
    settings = {name: "1" for name, is_set in (("OCR", has_ocr), ("MARGINS", has_margins)) if is_set}
    loom = Converter("Loom", [str(extract), "--lines"], settings, by_format=True)
    return [loom, *peers]
