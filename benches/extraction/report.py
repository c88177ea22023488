"""The benchmark's tables, as Markdown."""

import statistics
from collections import defaultdict

from server import Outcome, is_as_expected
from truths import Row

HOSTILE_SECONDS_MAX = 10
HOSTILE_GROWTH_MB_MAX = 64


def table(head: list[str], lines: list[list[str]]) -> None:
    print("|", " | ".join(head), "|")
    print("|" + "---|" * len(head))
    for line in lines:
        print("|", " | ".join(line), "|")
    print()


def outcomes(ended: list[tuple[Row, Outcome]]) -> None:
    """How the files of each folder ended in a server."""
    print("### Outcomes, through upload and ingest\n")
    folders: dict[str, list[tuple[Row, Outcome]]] = defaultdict(list)
    for row, outcome in ended:
        folders[row.folder].append((row, outcome))
    lines = []
    for folder, files in sorted(folders.items()):
        states = [outcome.state for _, outcome in files]
        others = [row for row, outcome in files if not is_as_expected(row, outcome)]
        refused = sum(state in ("failed", "refused") for state in states)
        slowest = max(outcome.seconds for _, outcome in files)
        counts = [len(files), states.count("ready"), states.count("partial"), refused, states.count("hangs")]
        expected = f"{len(files) - len(others)}/{len(files)}"
        lines.append([folder, *(str(count) for count in counts), expected, f"{slowest:.1f}"])
    head = ["folder", "files", "ready", "partial", "refused", "hang", "as its row says", "slowest, s"]
    table(head, lines)
    for row, outcome in ended:
        if not is_as_expected(row, outcome):
            said = f"{outcome.state} {outcome.code} {outcome.message}".strip()
            print(f"- `{row.folder}/{row.name}`: expected {row.expected!r}, ended {said!r}")
    print()


def hostile(ended: list[tuple[Row, Outcome]]) -> None:
    """What hostile files cost."""
    if not ended:
        return
    print("### Hostile files\n")
    lines = []
    for row, outcome in ended:
        is_kept = outcome.seconds <= HOSTILE_SECONDS_MAX and outcome.growth_mb < HOSTILE_GROWTH_MB_MAX
        said = f"{outcome.state} {outcome.code}".strip()
        cost = [f"{outcome.seconds:.2f}", f"{max(outcome.growth_mb, 0):.1f}", "yes" if is_kept else "**no**"]
        lines.append([f"`{row.folder}/{row.name}`", row.special, said, *cost])
    bounds = f"within {HOSTILE_SECONDS_MAX} s and {HOSTILE_GROWTH_MB_MAX} MB"
    table(["file", "what it is", "outcome", "seconds", "server's growth, MB", bounds], lines)


def mean(scores: list[list[float]]) -> list[str]:
    return [f"{statistics.mean(column):.3f}" for column in zip(*scores)]


def quality(names: list[str], scored: dict, has_details: bool) -> None:
    """Means by folder, and where Loom is behind file by file."""
    for title, field in (("Text: order and completeness", "text"), ("Tables: F1 of neighbouring cells", "tables")):
        print(f"### {title}\n")
        lines = []
        for folder, files in sorted(scored.items()):
            known = [file for file in files if getattr(file, field) is not None]
            groups = [("", known)]
            weak = [file for file in known if file.kind == "baseline"]
            if weak and len(weak) < len(known):
                groups.append((", strong truths", [file for file in known if file.kind != "baseline"]))
            for label, group in groups:
                if group:
                    lines.append([folder + label, str(len(group)), *mean([getattr(file, field) for file in group])])
        table(["folder", "files", *names], lines)
        one_by_one(names, scored, field, has_details)


def one_by_one(names: list[str], scored: dict, field: str, has_details: bool) -> None:
    lines = []
    for _, files in sorted(scored.items()):
        for file in files:
            scores = getattr(file, field)
            if scores is not None and (has_details or scores[0] < max(scores) - 0.0005):
                shown = [f"{score:.3f}" + (" (refused)" if error else "") for score, error in zip(scores, file.errors)]
                lines.append([f"`{file.row.folder}/{file.row.name}`", file.kind, *shown])
    if lines:
        print("File by file:\n" if has_details else "Where Loom is behind:\n")
        table(["file", "truth", *names], lines)


def speed(names: list[str], taken: dict[str, list[list[tuple[float, float]]]]) -> None:
    """Median milliseconds, and how many times faster Loom is."""
    print("### Speed, processes warm, without OCR\n")
    lines = []
    for folder, files in sorted(taken.items()):
        unit = "page" if folder == "pdf" else "file"
        for at, clock in enumerate(("ms", "CPU ms")):
            times = [[pair[at] for pair in file] for file in files]
            medians = [statistics.median(column) for column in zip(*times)]
            ratios = [median / medians[0] for median in medians[1:]]
            by_file = [statistics.median(file[to] / file[0] for file in times) for to in range(1, len(names))]
            joined = [" / ".join(f"{ratio:.1f}" for ratio in each) for each in (ratios, by_file)]
            lines.append([f"{folder}, {clock} a {unit}", str(len(files)), *(f"{median:.2f}" for median in medians), *joined])
    others = " / ".join(names[1:])
    table(["", "files", *names, f"{others} to Loom: of medians", "median of the files' ratios"], lines)
