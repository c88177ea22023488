"""Another converter in a process of its own: a request a line on standard input, an answer a line on standard output.

`peer.py markitdown|kreuzberg [--ocr]`. A request is a JSON object with `path`; the answer has `text`, `tables` (or null
where the converter gives none beside its text), `ms`, and `error` where it refused.
"""

import json
import logging
import os
import resource
import sys
import time
import warnings

MEMORY_BYTES = 8 << 30


def markitdown(_has_ocr: bool):
    from markitdown import MarkItDown

    converter = MarkItDown()
    return lambda path: (converter.convert(path).text_content, None)


def kreuzberg(has_ocr: bool):
    from kreuzberg import ExtractionConfig, OcrConfig, extract_file_sync

    # Its cache is off: answers that were kept would be timed otherwise.
    ocr = {"ocr": OcrConfig(backend="tesseract", language="eng")} if has_ocr else {"disable_ocr": True}
    config = ExtractionConfig(output_format="markdown", use_cache=False, **ocr)

    def convert(path: str):
        result = extract_file_sync(path, config=config)
        return result.content, [table.cells for table in result.tables]

    return convert


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # What a converter prints is not its answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    convert = {"markitdown": markitdown, "kreuzberg": kreuzberg}[sys.argv[1]]("--ocr" in sys.argv[2:])
    for line in sys.stdin:
        path = json.loads(line)["path"]
        answer: dict = {"text": "", "tables": None}
        begun = time.perf_counter()
        try:
            answer["text"], answer["tables"] = convert(path)
        except Exception as error:  # noqa: BLE001: any refusal is an answer.
            answer["error"] = type(error).__name__
        answer["ms"] = (time.perf_counter() - begun) * 1000
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
