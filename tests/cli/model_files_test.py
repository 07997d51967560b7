#!/usr/bin/env python3
"""End-to-end tests of the commands for files of models: convert, verify, inspect, --dtype.

Usage: as cli_test.py, whose helpers it uses.
"""

import json
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile

import cli_test as harness
from cli_test import check, environment, linnet, test

harness.TESTS.clear()  # its own tests are its own affair

GOLDEN = harness.ROOT / "tests/golden/models"


def read_safetensors(path):
    """Names to (dtype, shape, bytes)."""
    content = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", content)
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


@test
def convert_there_and_back_keeps_the_answers():
    with tempfile.TemporaryDirectory() as folder:
        gguf, back = folder + "/m.gguf", folder + "/back"
        done = linnet("convert", harness.MODEL, gguf)
        check(done.status == 0 and done.err == "" and "74 tensors" in done.out, done)
        done = linnet("convert", gguf, back)
        check(done.status == 0 and done.err == "", done)
        check({"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
               "chat_template.jinja", "model.safetensors"} == set(os.listdir(back)), back)
        check(read_safetensors(back + "/model.safetensors") ==
              read_safetensors(harness.MODEL + "/model.safetensors"))
        defaults = [json.loads(pathlib.Path(model, "generation_config.json").read_text())
                    for model in (harness.MODEL, back)]
        for name in ("do_sample", "temperature", "top_p"):
            check(defaults[0][name] == defaults[1][name], (name, defaults))
        for how in (("--greedy", "Hello!"), ("--seed", "2", "tell me of colors")):
            answers = {linnet("run", *how, "--no-think", "--model", model).out
                       for model in (harness.MODEL, gguf, back)}
            check(len(answers) == 1 and answers != {""}, answers)


@test
def convert_writes_shards_and_types():
    with tempfile.TemporaryDirectory() as folder:
        done = linnet("convert", harness.MODEL, folder + "/s", "--max-shard-size", "5MB", "--dtype", "f16")
        check(done.status == 0, done)
        index = json.loads(pathlib.Path(folder, "s/model.safetensors.index.json").read_text())
        check(index["metadata"]["total_size"] == 2 * 6062336, index["metadata"])
        check(set(index["weight_map"].values()) ==
              {name for name in os.listdir(folder + "/s") if name.endswith(".safetensors")})
        config = json.loads(pathlib.Path(folder, "s/config.json").read_text())
        check("float16" in (config.get("torch_dtype"), config.get("dtype")), config)
        done = linnet("convert", folder + "/s", folder + "/q.gguf", "--dtype", "q4_0")
        check(done.status == 0, done)
        record = json.loads(linnet("inspect", folder + "/q.gguf", "--json").out)
        check(set(record["memory"]["weights_by_dtype"]) == {"q4_0", "f32"}, record["memory"])


@test
def convert_refuses_what_would_be_lost():
    with tempfile.TemporaryDirectory() as folder:
        for arguments, status, words in (
                ((harness.MODEL,), 2, "two paths"),
                ((harness.MODEL, harness.MODEL), 1, "the model itself"),
                ((harness.MODEL, ""), 1, "the result"),
                ((harness.MODEL, harness.MODEL + "/x.gguf"), 1, "inside"),
                ((harness.MODEL, folder + "/x", "--dtype", "q8_0"), 1, "q8_0"),
                ((harness.MODEL, folder + "/x", "--dtype", "q3_x"), 2, "--dtype"),
                ((harness.MODEL, folder + "/x", "--max-shard-size", "5 parsecs"), 2, "5 parsecs"),
                ((harness.MODEL, folder + "/no/x.gguf"), 1, "x.gguf"),
                ((folder + "/nothing", folder + "/x"), 1, "nothing")):
            done = linnet("convert", *arguments)
            check(done.status == status and words in done.err and done.out == "", (arguments, done))
            check(done.err.count("\n") == 1, done)
        check(os.listdir(folder) == [], os.listdir(folder))
        target = pathlib.Path(folder, "m.gguf")
        target.write_text("mine")
        done = linnet("convert", harness.MODEL, str(target))
        check(done.status == 1 and "--force" in done.err and target.read_text() == "mine", done)
        check(linnet("convert", harness.MODEL, str(target), "--force").status == 0)
        check(target.read_bytes()[:4] == b"GGUF")


@test
def a_full_disk_leaves_nothing():
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))

    with tempfile.TemporaryDirectory() as folder:
        for target in ("m.gguf", "hf"):
            done = subprocess.run([harness.PROGRAM, "convert", harness.MODEL, folder + "/" + target],
                                  capture_output=True, timeout=harness.TIMEOUT, check=False,
                                  env=environment("/nonexistent"), preexec_fn=small_files)
            check(done.returncode == 1 and b"cannot write" in done.stderr, done)
            check(os.listdir(folder) == [], os.listdir(folder))


@test
def weights_beyond_f16_are_counted():
    with tempfile.TemporaryDirectory() as folder:
        for file in pathlib.Path(harness.MODEL).iterdir():
            os.symlink(file, pathlib.Path(folder, file.name))
        weights = pathlib.Path(folder, "model.safetensors")
        content = bytearray(weights.read_bytes())
        weights.unlink()
        content[-2:] = struct.pack("<H", 0x7149)  # 1e30 in bf16
        weights.write_bytes(content)
        done = linnet("run", "--greedy", "--model", folder, "--dtype", "f16", "Hello!")
        check(done.status == 1 and "infinite: 1" in done.err and "f16" in done.err, done)
        target = folder + "-f16"
        done = linnet("convert", folder, target, "--dtype", "f16")
        check(done.status == 1 and "infinite: 1" in done.err, done)
        check(not os.path.exists(target))


@test
def inspect_needs_no_more_than_a_config():
    config = {"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "vocab_size": 128256,
              "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
              "num_attention_heads": 16, "num_key_value_heads": 4, "rope_theta": 5000000.0,
              "max_position_embeddings": 65536, "torch_dtype": "bfloat16", "frobnicate": 3}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "config.json")
        path.write_text(json.dumps(config))
        for target in (folder, str(path)):
            record = json.loads(linnet("inspect", target, "--json", "--program", "--context",
                                       "4096").out)
            check(record["parameters"] == 3075098624, record["parameters"])
            check(record["tensor_bytes"] == 6150197248, record["tensor_bytes"])
            check(record["unknown_keys"] == ["frobnicate"], record["unknown_keys"])
            # f32 keys and values: twice the 73,728 bytes that a token takes in bf16.
            check(record["memory"]["cache_bytes"] == 4096 * 2 * 73728, record["memory"])
            linear = sum(step["operations"] for step in record["program"] if step["op"] == "linear")
            check(linear == 2 * (3075098624 - 73 * 2048), linear)
            total = sum(step["operations"] for step in record["program"])
            check(record["one_token"]["operations"] == total)
        pathlib.Path(folder, "README.md").write_text("---\nlicense: apache-2.0\n---\n# Model\n")
        done = linnet("inspect", folder)
        check("3075098624" in done.out and "apache-2.0" in done.out and "frobnicate" in done.out,
              done)


def reference_of(case, change=0.0):
    """A file for linnet verify from golden arrays of transformers."""
    folder = GOLDEN / "base-gqa"
    arrays = read_safetensors(folder / "cases.safetensors")
    _, shape, data = arrays[f"{case}/input_ids"]
    ids = struct.unpack(f"<{shape[1]}q", data)
    _, (_, rows, vocab), data = arrays[f"{case}/logits"]
    logits = struct.unpack(f"<{rows * vocab}f", data)
    lines = [logits[row * vocab:(row + 1) * vocab] for row in range(rows)]
    columns = [0, 7, vocab - 1]
    return [{"model": "golden", "match": {"hidden_size": 64}, "cases": [
        {"name": "values", "ids": ids, "rows": [0, rows - 1], "columns": columns,
         "values": [[lines[row][column] + change for column in columns]
                    for row in (0, rows - 1)]},
        {"name": "means", "ids": ids, "rows": list(range(rows)),
         "means": [sum(line) / vocab for line in lines]},
        {"name": "next", "ids": ids, "one_of": [[-1 % vocab], [lines[-1].index(max(lines[-1]))]]},
    ]}]


@test
def verify_compares_with_reference_values():
    model = str(GOLDEN / "base-gqa")
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/reference.json"
        pathlib.Path(path).write_text(json.dumps(reference_of("single")))
        done = linnet("verify", model, "--reference", path)
        check(done.status == 0 and done.out.count("pass  ") == 3, done)
        check(done.out.endswith("3 passed, 0 failed\n"), done)
        pathlib.Path(path).write_text(json.dumps(reference_of("single", 0.01)))
        done = linnet("verify", model, "--reference", path)
        check(done.status == 1 and "FAIL  values" in done.out and "0.01" in done.out, done)
        check(done.out.endswith("2 passed, 1 failed\n"), done)
        records = json.loads(linnet("verify", model, "--reference", path, "--json").out)
        check([record["passed"] for record in records] == [False, True, True], records)
        # A long input written short, and tokens that are looked at after others.
        ids = reference_of("single")[0]["cases"][0]["ids"]
        long = {"name": "long", "ids": ids[:1], "repeat": {"ids": ids[1:], "times": 2}}
        pathlib.Path(path).write_text(json.dumps([{"model": "x", "cases": [long | {
            "tokens": [ids[0]] * 3}]}]))
        done = linnet("verify", model, "--reference", path)
        made = [int(id) for id in re.search(r"greedy tokens ([\d ]+), exp", done.out)[1].split()]
        check(len(made) == 3 and len(set(made)) > 1, made)
        for skip in range(3):
            cases = [long | {"skip": skip, "tokens": made[skip:]},
                     {"name": "wrong", "ids": ids[:1] + 2 * ids[1:], "skip": skip,
                      "tokens": [made[skip] + 1]}]
            pathlib.Path(path).write_text(json.dumps([{"model": "x", "cases": cases}]))
            done = linnet("verify", model, "--reference", path)
            check(done.out.endswith("1 passed, 1 failed\n"), (skip, done))
        for broken, words in (("{}", "array"),
                              ('[{"model":"x","cases":[{"name":"n","ids":[1],"repeat":{"ids":[1],'
                               '"times":70000},"rows":[0],"means":[1]}]}]', "times"), ('[{"model": "x"}]', "cases"),
                              ('[{"model":"x","cases":[{"name":"n","ids":[99999],"rows":[0],'
                               '"means":[1]}]}]', "99999"),
                              ('[{"model":"x","cases":[{"name":"n","ids":[1],"rows":[3],'
                               '"means":[1]}]}]', "row 3"),
                              ('[{"model":"x","match":{"hidden_size":1},"cases":[]}]', "no reference")):
            pathlib.Path(path).write_text(broken)
            done = linnet("verify", model, "--reference", path)
            check(done.status == 1 and words in done.err, (broken, done))
    done = linnet("verify", model)
    check(done.status == 1 and "HuggingFaceTB/SmolLM3-3B" in done.err, done)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


@test
def tied_and_untied_heads_are_told_apart():
    with tempfile.TemporaryDirectory() as folder:
        for file in pathlib.Path(harness.MODEL).iterdir():
            os.symlink(file, pathlib.Path(folder, file.name))
        weights = pathlib.Path(folder, "model.safetensors")
        tensors = read_safetensors(weights)
        weights.unlink()
        arguments = ("run", "--model", folder, "--greedy", "--max-tokens", "4", "Hello!")
        dtype, shape, content = tensors["model.embed_tokens.weight"]
        tensors["lm_head.weight"] = (dtype, shape, content)
        write_safetensors(weights, tensors)
        equal = linnet(*arguments)
        check(equal.status == 0 and "differs from the embedding" not in equal.err, equal)
        tensors["lm_head.weight"] = (dtype, shape, bytes(len(content)))
        write_safetensors(weights, tensors)
        different = linnet(*arguments)
        check(different.status == 0 and different.out == equal.out, (different, equal))
        check("lm_head.weight" in different.err and "differs from the embedding" in different.err,
              different)
        del tensors["lm_head.weight"]
        write_safetensors(weights, tensors)
        config = pathlib.Path(folder, "config.json")
        fields = json.loads(config.read_text())
        config.unlink()
        config.write_text(json.dumps({**fields, "tie_word_embeddings": False}))
        missing = linnet(*arguments)
        check(missing.status == 1 and "lm_head.weight" in missing.err, missing)


@test
def a_model_cut_short_while_it_is_used_ends_with_its_name():
    with tempfile.TemporaryDirectory() as folder:
        for file in pathlib.Path(harness.MODEL).iterdir():
            os.symlink(file, pathlib.Path(folder, file.name))
        weights = pathlib.Path(folder, "model.safetensors")
        content = weights.read_bytes()
        weights.unlink()
        weights.write_bytes(content[:-1])
        done = linnet("run", "--model", folder, "--greedy", "Hello!")
        check(done.status == 1 and "model.safetensors" in done.err and "cut short" in done.err, done)


if __name__ == "__main__":
    sys.exit(harness.main())
