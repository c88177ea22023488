"""Every file through a running `loom serve`: upload, ingest by its confined process, and what became of the job."""

import json
import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from truths import Row

# Longer than any file may take by itself.
SECONDS_MAX = 150
POLL_S = 0.02


@dataclass
class Outcome:
    """How a file ended."""

    # `ready`, `partial`, `failed`, `refused` (by the upload) or `hangs`.
    state: str
    code: str
    message: str
    seconds: float
    # How far the server's resident memory rose above what it was before, at its highest.
    growth_mb: float

    @property
    def is_read(self) -> bool:
        return self.state in ("ready", "partial")


class Server:
    """A server on a folder of its own, which goes with it."""

    def __init__(self, program: Path) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="loom-extraction-")
        self.process = subprocess.Popen(
            [str(program), "--data", self.folder.name, "serve", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LOOM_BASE_URL": ""},
            text=True,
        )
        announced = self.process.stdout.readline()
        found = re.search(r"(?:http://)?(\d+\.\d+\.\d+\.\d+:\d+)", announced)
        if found is None:
            self.close()
            raise SystemExit(f"{program} serve does not say where it listens: {announced!r}")
        self.base = f"http://{found[1]}/v1"

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def call(self, name: str, body: bytes, content_type: str) -> dict:
        """What an operation answers, an error as it is written."""
        request = urllib.request.Request(f"{self.base}/{name}", body, {"content-type": content_type})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            return json.load(refused)

    def ingest(self, row: Row) -> Outcome:
        """Uploads and ingests a file, and waits for its end."""
        before = self.memory("VmRSS")
        # From here on the peak is counted anew.
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        begun = time.monotonic()
        state, code, message = self.published(row)
        seconds = time.monotonic() - begun
        growth_mb = (self.memory("VmHWM") - before) / 1000
        return Outcome(state, code, message, seconds, growth_mb)

    def published(self, row: Row) -> tuple[str, str, str]:
        query = urllib.parse.urlencode({"filename": row.name})
        uploaded = self.call(f"knowledge.upload?{query}", row.path.read_bytes(), "application/octet-stream")
        if "error" in uploaded:
            return "refused", uploaded["error"]["code"], uploaded["error"]["message"]
        asked: dict = {"upload_id": uploaded["upload_id"], "source_uri": f"{row.folder}/{row.name}", "allow_partial": True}
        if row.folder not in ("hostile", "legacy"):
            asked["options"] = {"format": row.format}
        job = self.post("knowledge.ingest", asked)
        if "error" in job:
            return "refused", job["error"]["code"], job["error"]["message"]
        until = time.monotonic() + SECONDS_MAX
        while time.monotonic() < until:
            status = self.post("knowledge.ingest_status", {"ingestion_id": job["ingestion_id"]})
            if status["state"] not in ("pending", "processing"):
                return status["state"], status["error_code"], status["error_message"]
            time.sleep(POLL_S)
        return "hangs", "", ""

    def post(self, name: str, asked: dict) -> dict:
        return self.call(name, json.dumps(asked).encode(), "application/json")

    def memory(self, field: str) -> float:
        """A size of the process, in kilobytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(re.search(rf"^{field}:\s+(\d+) kB", status, re.M)[1])


# What the files that nothing can be read of have in `measured`.
BLANK = re.compile(r"top-level keys=0|non-empty paragraphs=0|A1:A1 cells=0|bytes=0;|starts: $")
# The codes that mean that the file is damaged, locked or another than it is named.
DAMAGE = {"corrupt", "format_mismatch"}
FOREIGN = DAMAGE | {"UNSUPPORTED_FILE", "unsupported_format", "encoding"}
EMPTY = {"no_text", "VALIDATION_FAILED", "EMPTY_FILE"}


def is_as_expected(row: Row, outcome: Outcome) -> bool:
    """Whether a file ended as its row says.

    Where `expected` and what an established reader measured differ, the latter counts: what it could not read either may be
    refused, and so may a file that it found nothing in.
    """
    expected, code = row.expected, outcome.code
    if outcome.state == "hangs":
        return False
    if expected == "ingest":
        is_unreadable = "reference reader fails" in row.measured or "read fails" in row.measured
        is_blank = BLANK.search(row.measured) is not None
        return outcome.is_read or (is_unreadable and code in DAMAGE) or (is_blank and code in EMPTY)
    if expected == "no text (needs OCR)":
        return outcome.is_read or code in EMPTY
    if expected == "empty input":
        return not outcome.is_read and code in EMPTY
    if expected.startswith(("refuse: password", "refuse: encrypted")):
        return code == "corrupt" and re.search("password|encrypted", outcome.message) is not None
    if expected.startswith(("refuse: legacy", "refuse: unknown", "refuse: xlsb")):
        return not outcome.is_read and code in FOREIGN
    if expected.startswith("refuse: bomb"):
        return not outcome.is_read and code in DAMAGE | {"resource_limit"}
    if expected.startswith("refuse: corrupt"):
        return not outcome.is_read and code in FOREIGN
    if expected.startswith(("refuse or partial", "refuse;")) or expected == "refuse":
        return outcome.state != "ready"
    # Either way: `refuse or ingest`, `must not hang`, `unsupported or bounded`.
    return True
