#!/usr/bin/env python3
"""Writes cases.jsonl beside itself: what transformers makes of texts and pairs, cut and padded.

Needs transformers (made with 4.57) with its fast tokenizers. Line 1: the post-processor that is put
into ../tokenizer/tiny2k_tokenizer.json for all lines with "around". Then rows: texts, options,
ids and types, or "error"; batches: rows, options, length, ids, mask and types, flat; clean: a text
and what the clean-up of spaces makes of it.
"""

import json
import pathlib
import random
import tempfile

from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

HERE = pathlib.Path(__file__).resolve().parent
PROCESSOR = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "S", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "E", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "S", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "E", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
             {"SpecialToken": {"id": "E", "type_id": 1}}],
    "special_tokens": {"S": {"id": "S", "ids": [2011], "tokens": ["S"]},
                       "E": {"id": "E", "ids": [2012], "tokens": ["E"]}},
}
WORDS = "the of and tokens number please help account 12 3 naïve 日本 é . , order".split()


def tokenizers():
    content = json.loads((HERE / "../tokenizer/tiny2k_tokenizer.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokenizer.json"
        made = []
        for around in (False, True):
            content["post_processor"] = PROCESSOR if around else {
                "type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
            path.write_text(json.dumps(content))
            made.append(PreTrainedTokenizerFast(tokenizer_file=str(path), pad_token="<|im_end|>"))
        return made


def text(rng, most, least=0):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def row_case(rng, made):
    around = rng.random() < 0.5
    case = {"kind": "row", "around": around, "first": text(rng, 9),
            # To transformers an empty second text is none, but not in a batch.
            "second": text(rng, 9, least=1) if rng.random() < 0.7 else None,
            "truncation": rng.choice(["longest_first", "only_first", "only_second"]),
            "side": rng.choice(["left", "right"]), "max_length": rng.randint(3, 16)}  # less than the ids around: not cut there
    tokenizer = made[around]
    tokenizer.truncation_side = case["side"]
    try:
        out = tokenizer(case["first"], case["second"], truncation=case["truncation"],
                        max_length=case["max_length"], return_token_type_ids=True)
        case.update(ids=out["input_ids"], types=out["token_type_ids"])
    except BaseException as error:  # panics of the Rust part are no Exception
        case["error"] = str(error)
    return case


def batch_case(rng, made):
    around = rng.random() < 0.5
    case = {"kind": "batch", "around": around, "side": rng.choice(["left", "right"]),
            "rows": [[text(rng, 6), text(rng, 6)] for _ in range(rng.randint(1, 5))],
            "length": rng.choice([None, 40]), "multiple_of": rng.choice([1, 4, 7, 16])}
    out = made[around]([a for a, _ in case["rows"]], [b for _, b in case["rows"]],
                       padding="max_length" if case["length"] else "longest",
                       max_length=case["length"], pad_to_multiple_of=case["multiple_of"],
                       padding_side=case["side"], return_token_type_ids=True)
    case["padded_length"] = len(out["input_ids"][0])
    for name, key in (("ids", "input_ids"), ("mask", "attention_mask"), ("types", "token_type_ids")):
        case[name] = [value for row in out[key] for value in row]
    return case


def clean_case(rng):
    parts = [" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're", " ", "a", "'", "n", "\n"]
    before = "".join(rng.choice(parts) for _ in range(rng.randint(1, 12)))
    return {"kind": "clean", "text": before,
            "cleaned": PreTrainedTokenizerBase.clean_up_tokenization(before)}


def main():
    rng = random.Random(1)
    made = tokenizers()
    cases = [{"kind": "around", "post_processor": PROCESSOR}]
    cases += [row_case(rng, made) for _ in range(200)]
    cases += [batch_case(rng, made) for _ in range(24)]
    cases += [clean_case(rng) for _ in range(60)]
    lines = [json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases]
    (HERE / "cases.jsonl").write_text("\n".join(lines) + "\n")


main()
