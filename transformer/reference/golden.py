"""Writes what the reference implementation makes of the small models of the tests.

    cargo run -p loom-transformer --features testing --example small_models -- FOLDER
    python reference/golden.py FOLDER > reference/golden.json

The committed file was made with torch 1.13.1 and transformers 4.41.2 on a CPU.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

TEXTS = [
    "The marmalade jar stands here.",
    "a",
    "Pickled walnuts, red and blue: number 17 of the cellar shelf - standing by the river bank!",
    "Ünïcode é ß 日本",
    "the river and the bank and the river and the bank and the river and the bank and the river and the bank and the "
    "river and the bank and the river and the bank and the river",
]
QUERY = "Where stands the marmalade?"
POSITIONS = 48


def tokenizer(folder, pad):
    made = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token=pad)
    made.model_max_length = POSITIONS
    return made


def batches(texts):
    """All texts in one padded batch, then each alone."""
    return [texts] + [[text] for text in texts]


def sentences(folder, pad, pooling):
    tokens, model = tokenizer(folder, pad), BertModel.from_pretrained(folder).eval()
    found = []
    for batch in batches(TEXTS):
        given = tokens(batch, padding=True, truncation=True, return_tensors="pt")
        given.setdefault("token_type_ids", torch.zeros_like(given["input_ids"]))
        states = model(**given).last_hidden_state
        mask = given["attention_mask"].unsqueeze(-1).float()
        pooled = (states * mask).sum(1) / mask.sum(1) if pooling == "mean" else states[:, 0]
        found.extend(torch.nn.functional.normalize(pooled).tolist())
    agree(found)
    return {"ids": tokens(TEXTS, truncation=True)["input_ids"], "vectors": found[: len(TEXTS)]}


def scores(folder):
    tokens = tokenizer(folder, "[PAD]")
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for batch in batches(TEXTS):
        given = tokens([QUERY] * len(batch), batch, padding=True, truncation=True, return_tensors="pt")
        found.extend(model(**given).logits.tolist())
    agree(found)
    return [logit for [logit] in found[: len(TEXTS)]]


def agree(found):
    """With padding and without, the same comes out."""
    padded, alone = torch.tensor(found[: len(TEXTS)]), torch.tensor(found[len(TEXTS) :])
    assert torch.allclose(padded, alone, atol=1e-5), (padded - alone).abs().max()


def main():
    folder = Path(sys.argv[1])
    with torch.no_grad():
        golden = {
            "texts": TEXTS,
            "query": QUERY,
            "mean": sentences(folder / "sentence", "[PAD]", "mean"),
            "first": sentences(folder / "sentence", "[PAD]", "first"),
            "unigram": sentences(folder / "unigram", "<pad>", "mean"),
            "cross": scores(folder / "cross"),
        }
    json.dump(golden, sys.stdout, ensure_ascii=False)
    print()


main()
