#!/usr/bin/env python3
"""Writes inputs to begin fuzzing with, made from the project's golden data and from the tables here.

Usage: make_seeds.py FOLDER        (gives FOLDER/<target>/<number>)

The saved corpora in tests/fuzz/corpus already hold what is worth keeping of them; this is for
beginning anew, and for a target that has no corpus yet.
"""

import json
import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/text"


def rows(path):
    with open(GOLDEN / path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def byte_alphabet():
    """The characters of all 256 bytes in GPT-2's alphabet."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    points = {byte: byte for byte in shown}
    points.update({byte: 256 + i for i, byte in enumerate(others)})
    return [chr(points[byte]) for byte in range(256)]


def tokenizer_json():
    vocab = {c: i for i, c in enumerate(byte_alphabet())}
    small = {"a": 0, "b": 1, "ab": 2}
    special = {"id": 3, "content": "<|im_end|>", "special": True, "lstrip": False, "rstrip": True,
               "single_word": False, "normalized": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "ignore_merges": False, "vocab": small, "merges": ["a b"]}
    base = {"version": "1.0", "added_tokens": [special], "normalizer": None, "pre_tokenizer": level,
            "post_processor": level, "decoder": level, "model": model}
    yield compact(base)
    yield compact({**base, "model": {**model, "merges": [["a", "b"]], "ignore_merges": True}})
    yield compact({**base, "model": {**model, "vocab": vocab, "merges": []}, "added_tokens": []})
    digits = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, level]}
    template = {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"<|im_end|>": {"id": "<|im_end|>", "ids": [3],
                                                      "tokens": ["<|im_end|>"]}}}
    yield compact({**base, "normalizer": {"type": "NFC"}, "pre_tokenizer": digits,
                   "post_processor": template})
    tiny = json.loads((GOLDEN / "tokenizer/tiny2k_tokenizer.json").read_text(encoding="utf-8"))
    tiny["model"].update(vocab=small, merges=["a b"])
    tiny["added_tokens"] = [special]
    yield compact(tiny)


def tokenizer_gguf():
    for pre in ("llama-bpe", "smollm", "gpt-2", "qwen2", "smaug-bpe", "nonsense"):
        yield f"{pre}\na be 256 257 -1\n1ab\n3<|im_end|>\n4<think>\n5unused\nma b\n".encode()
    yield "llama-bpe\nb 2\n1a\n1b\n1ab\n1Ġ\n1Ġa\n6<0x0A>\nma b\nmĠ a\n".encode()
    yield b"smollm\nt 0\n1a\n1a\n"


def tokenize():
    texts = [row[0] for row in rows("tokenizer/tiny2k_fuzz.jsonl")[:120]]
    texts += [row["text"] for row in rows("tokenizer/tiny2k_cases.jsonl")[::8]]
    for text in texts:
        yield bytes([len(text) % 16]) + text.encode("utf-8", "surrogatepass")
    for text in (b"a <|im_start|>user\n<|im_end|> <think>", b"\xff\xf0\x9f\x98", "e\u0301 \u1e9b\u0323".encode()):
        for variant in range(16):
            yield bytes([variant]) + text


def jinja_source():
    for row in rows("jinja/conformance.jsonl"):
        yield row["template"].encode("utf-8", "surrogatepass")


def jinja_context():
    for row in rows("jinja/conformance.jsonl")[::4]:
        context = row.get("context") or {}
        yield compact(context)
        for value in context.values():
            yield compact(value)
    for row in rows("chat/smollm3_cases.jsonl")[::3]:
        yield compact(row["inputs"])


def output_parser():
    starts = {"content": 0, "reasoning": 4}
    tags = {"none": 0, "xml": 1, "python": 2, "both": 3}
    for row in rows("output/cases.jsonl"):
        choice = starts.get(row["start"], 0) | tags[row["tools"]] | (8 if row["finish"] == "length" else 0)
        yield bytes([choice]) + row["text"].encode("utf-8", "surrogatepass")
    for row in rows("router/answers.jsonl")[::2]:
        yield b"\x01" + row["text"].encode("utf-8", "surrogatepass")


def safetensors():
    def file(header, size):
        text = header if isinstance(header, bytes) else compact(header)
        return struct.pack("<Q", len(text)) + text + bytes(range(size))
    yield file({}, 0)
    yield file({"__metadata__": {"format": "pt"},
                "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
                "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]}}, 22)
    for dtype, width in (("F16", 2), ("I64", 8), ("U8", 1), ("F8_E4M3", 1), ("BOOL", 1), ("F64", 8)):
        yield file({"t": {"dtype": dtype, "shape": [2], "data_offsets": [0, 2 * width]}}, 2 * width)
    yield file({"t": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
                "u": {"dtype": "F32", "shape": [0, 5], "data_offsets": [4, 4]}}, 4)
    yield file({"t": {"dtype": "F32", "shape": [1 << 32, 1 << 32], "data_offsets": [8, 4]}}, 4)
    yield b"\xff" * 8 + b"{}"


def gguf():
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def key(name, kind, value):
        return text(name) + struct.pack("<I", kind) + value

    def number(name, value):
        return key(name, 4, struct.pack("<I", value))

    def texts(name, values):
        return key(name, 9, struct.pack("<IQ", 8, len(values)) + b"".join(map(text, values)))

    def file(keys, tensors, alignment=32):
        infos, data = b"", b""
        for name, shape, kind, content in tensors:
            data += bytes(-len(data) % alignment)
            infos += text(name) + struct.pack("<I", len(shape)) + b"".join(
                struct.pack("<Q", size) for size in shape) + struct.pack("<IQ", kind, len(data))
            data += content
        head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + infos
        return head + bytes(-len(head) % alignment) + data
    model = [key("general.architecture", 8, text("llama")), number("llama.block_count", 1),
             number("llama.context_length", 8), number("llama.embedding_length", 4),
             number("llama.feed_forward_length", 8), number("llama.attention.head_count", 2),
             key("llama.rope.freq_base", 6, struct.pack("<f", 10000.0)),
             key("tokenizer.ggml.model", 8, text("gpt2")), key("tokenizer.ggml.pre", 8, text("smollm")),
             texts("tokenizer.ggml.tokens", ["a", "b", "ab", "<end>"]),
             texts("tokenizer.ggml.merges", ["a b"]), number("tokenizer.ggml.eos_token_id", 3),
             key("tokenizer.ggml.add_bos_token", 7, b"\0"),
             key("tokenizer.ggml.token_type", 9, struct.pack("<IQiiii", 5, 4, 1, 1, 1, 3)),
             key("tokenizer.chat_template", 8, text("{{ x }}"))]
    yield file([], [])
    yield file(model, [("token_embd.weight", [4, 4], 0, bytes(64)),
                       ("blk.0.attn_q.weight", [4, 4], 0, bytes(64)),
                       ("blk.0.ffn_up.weight", [32, 1], 2, bytes(18))])
    for kind, size, block in ((2, 18, 32), (3, 20, 32), (6, 22, 32), (7, 24, 32), (8, 34, 32), (10, 84, 256),
                              (11, 110, 256), (12, 144, 256), (13, 176, 256), (14, 210, 256),
                              (20, 18, 32), (23, 136, 256), (39, 17, 32), (1, 2, 1), (30, 2, 1), (99, 1, 1)):
        yield file([], [("t", [block, 1], kind, bytes(i % 251 for i in range(size)))])
    for kind, form in enumerate("BbHhIif?"):
        yield file([key("k", kind, struct.pack("<" + form, 1))], [])


def model_config():
    base = {"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "vocab_size": 16,
            "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 4,
            "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 32,
            "rms_norm_eps": 1e-6, "hidden_act": "silu", "rope_theta": 10000.0,
            "tie_word_embeddings": True, "eos_token_id": [1, 2], "bos_token_id": None}
    yield compact(base)
    yield compact({**base, "no_rope_layers": [1, 1, 1, 0], "attention_bias": True, "mlp_bias": True})
    yield compact({**base, "no_rope_layer_interval": 2, "use_sliding_window": True, "sliding_window": 8,
                   "layer_types": ["full_attention", "sliding_attention"] * 2})
    for rope in ({"type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 4},
                 {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8},
                 {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 8}, {"rope_type": "wavelet"}):
        yield compact({**base, "rope_scaling": rope})
    yield compact({**base, "architectures": ["LlamaForCausalLM"], "model_type": "llama", "head_dim": 4})


def safetensors_index():
    for shards in ({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"},
                   {"x": "stray.safetensors"}, {"x": "../a.safetensors"}, {"q": "a.safetensors"},
                   {"x": "no.safetensors"}, {"x": 1}, {}):
        yield compact({"metadata": {"total_size": 24}, "weight_map": shards})


TARGETS = [tokenizer_json, tokenizer_gguf, tokenize, jinja_source, jinja_context, output_parser,
           safetensors, gguf, model_config, safetensors_index]


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for target in TARGETS:
        folder = pathlib.Path(sys.argv[1]) / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(target()):
            (folder / f"{number:04}").write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
