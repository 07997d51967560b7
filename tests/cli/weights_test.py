#!/usr/bin/env python3
"""End-to-end tests of the commands that write weights: make-random, pack.

Usage: as cli_test.py, whose helpers it uses.
"""

import json
import os
import pathlib
import sys
import tempfile

import cli_test as harness
from cli_test import check, linnet, test

harness.TESTS.clear()  # its own tests are its own affair


@test
def a_packed_model_answers_as_the_model():
    with tempfile.TemporaryDirectory() as folder:
        gguf = folder + "/m.gguf"
        check(linnet("convert", harness.MODEL, gguf).status == 0)
        for source in (harness.MODEL, gguf):
            for weights in ("auto", "i8", "n4"):
                packed = f"{folder}/{weights}{len(source)}"
                done = linnet("pack", source, "--out", packed, "--weights", weights)
                check(done.status == 0 and done.err == "" and "parts" in done.out, done)
                check({"config.json", "tokenizer.json", "chat_template.jinja", "model.linnet"} <=
                      set(os.listdir(packed)), packed)
                how = ("run", "--greedy", "--no-think", "Hello!", "--model")
                check(linnet(*how, packed).out == linnet(*how, source, "--weights", weights).out)
        done = linnet("inspect", "--model", packed)
        check(done.status == 0 and "n4" in done.out and "packed" in done.out, done)


@test
def a_packed_model_is_refused_where_it_does_not_fit():
    with tempfile.TemporaryDirectory() as folder:
        packed = folder + "/p"
        check(linnet("pack", harness.MODEL, "--out", packed, "--weights", "i8").status == 0)
        done = linnet("pack", harness.MODEL, "--out", packed)
        check(done.status == 1 and "--force" in done.err, done)
        check(linnet("pack", harness.MODEL, "--out", packed, "--force").status == 0)
        for arguments, reason in ((("--lane", "reference"), "native lane only"),
                                  (("--weights", "n4"), "was not packed as n4")):
            done = linnet("run", "--model", packed, *arguments, "Hi")
            check(done.status == 1 and reason in done.err, done)
        done = linnet("pack", packed, "--out", folder + "/q")
        check(done.status == 1 and "packed already" in done.err, done)
        file = pathlib.Path(packed, "model.linnet")
        content = bytearray(file.read_bytes())
        content[-4096] ^= 4
        file.write_bytes(content)
        done = linnet("run", "--model", packed, "Hi")
        check(done.status == 1 and "model.linnet" in done.err and "damaged" in done.err, done)
        file.write_bytes(content[:-4096])
        done = linnet("run", "--model", packed, "Hi")
        check(done.status == 1 and "cut short" in done.err, done)
        check(linnet("pack", harness.MODEL).status == 2)


@test
def random_models_have_the_shape_of_their_config():
    with tempfile.TemporaryDirectory() as folder:
        config = harness.MODEL + "/config.json"
        for weights, stored in (("int4", "n4"), ("i8", "i8"), ("bf16", "bf16")):
            made = f"{folder}/{stored}"
            done = linnet("make-random", "--config", config, "--out", made, "--weights", weights)
            check(done.status == 0 and "parameters" in done.out, done)
            done = linnet("inspect", made, "--json")
            check(done.status == 0 and stored in done.out, done)
        done = linnet("make-random", "--config", config, "--out", made)
        check(done.status == 1 and "is there already" in done.err, done)
        check(linnet("make-random", "--out", made).status == 2)
        other = json.loads(pathlib.Path(config).read_text())
        other["quantization_config"] = {"quant_method": "gptq"}
        pathlib.Path(folder, "other.json").write_text(json.dumps(other))
        done = linnet("inspect", folder + "/other.json")
        check(done.status == 1 and "gptq" in done.err, done)


if __name__ == "__main__":
    sys.exit(harness.main())
