#!/usr/bin/env python3
"""End-to-end tests of quantize and eval, on the tiny model and short texts.

Usage: as cli_test.py, whose helpers it uses.
"""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import cli_test as harness
from cli_test import check, environment, linnet, test

harness.TESTS.clear()  # its own tests are its own affair
harness.TIMEOUT = 240  # calibration under sanitizers

TICKETS = """<|im_start|>user
Subject: Invoice

Hello, I was charged twice for the order ORD-4821. Please send one amount back.<|im_end|>
<|im_start|>assistant
{"category": "billing", "confidence": 0.93, "reply": "We are sorry. We will refund it."}<|im_end|>
<|im_start|>user
Subject: Passwort

Ich kann mich seit gestern nicht mehr anmelden, obwohl das Passwort stimmt.<|im_end|>
<|im_start|>assistant
{"category": "account", "confidence": 0.88, "reply": "Wir setzen Ihr Passwort zurück."}<|im_end|>
"""


def evaluation(model, *options):
    done = linnet("eval", "--model", model, "--max-tokens", "260", "--window", "130", "--json",
                  *options)
    check(done.status == 0, done)
    return json.loads(done.out)


def quantize(out, text, *options, model=None):
    done = linnet("quantize", model or harness.MODEL, "--out", out, "--text", text, *options)
    check(done.status == 0, done)
    return done


def text_file(folder):
    path = pathlib.Path(folder, "text.txt")
    path.write_text(TICKETS * 2, encoding="utf-8")
    return str(path)


@test
def eval_of_one_model_and_of_two_precisions():
    alone = evaluation(harness.MODEL)
    check(alone["tokens"] == 260 and alone["predictions"] == 258, alone)
    check(math.isclose(alone["perplexity"]["mean"], math.exp(alone["loss"]["mean"])), alone)
    check(alone["loss"]["standard_error"] > 0 and "kl_divergence" not in alone, alone)
    same = evaluation(harness.MODEL, "--reference-lane", "reference", "--weights", "f32")
    check(same["kl_divergence"]["mean"] < 1e-7 and same["top1_agreement"] == 1, same)
    eight = evaluation(harness.MODEL, "--weights", "i8", "--reference-weights", "f32")
    four = evaluation(harness.MODEL, "--weights", "n4", "--reference-weights", "f32", "--layers")
    check(1e-6 < eight["kl_divergence"]["mean"] < four["kl_divergence"]["mean"], (eight, four))
    check(four["kl_p99"] > four["kl_divergence"]["mean"] and len(four["layer_errors"]) == 9, four)
    check(math.isclose(four["perplexity_change"], four["perplexity"]["mean"] /
                       four["reference"]["perplexity"]["mean"] - 1, abs_tol=1e-9), four)
    text = linnet("eval", "--max-tokens", "100", "--reference-weights", "f32")
    check(text.status == 0 and "perplexity" in text.out and "top-1 agreement" in text.out, text)


@test
def eval_refuses_what_it_cannot_measure():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "t.txt")
        path.write_bytes(b"ab\xff")
        done = linnet("eval", "--text", str(path))
        check(done.status == 1 and "invalid UTF-8 at byte 2" in done.err, done)
        path.write_text("a")
        done = linnet("eval", "--text", str(path))
        check(done.status == 1 and "two at least are needed" in done.err, done)
    done = linnet("eval", "--window", "5000")
    check(done.status == 1 and "context of 4096" in done.err, done)
    check(linnet("eval", "--reference-weights", "q9").status == 2)


@test
def quantized_models_run_and_are_nearer_than_plain_rounding():
    with tempfile.TemporaryDirectory() as folder:
        text = text_file(folder)
        exact = ("--reference", harness.MODEL, "--reference-weights", "f32")
        # Few tokens would be learnt by heart.
        own = (harness.ROOT / "src/quantize/texts/calibration.txt").read_text(encoding="utf-8")
        pathlib.Path(text).write_text(own[:8000], encoding="utf-8")
        done = quantize(folder + "/n4", text)
        check("n4: " in done.out and done.err == "", done)
        config = json.loads(pathlib.Path(folder, "n4/config.json").read_text())
        check(config["quantization_config"]["quant_method"] == "linnet", config)
        check(config["embedding_factors"] is True, config)
        check(not os.path.exists(folder + "/n4.parts"), os.listdir(folder))
        size = os.path.getsize(folder + "/n4/model.safetensors")
        check(size < 0.55 * os.path.getsize(harness.MODEL + "/model.safetensors"), size)
        calibrated = evaluation(folder + "/n4", *exact)["kl_divergence"]["mean"]
        plain = evaluation(harness.MODEL, "--weights", "n4", *exact)["kl_divergence"]["mean"]
        check(0 < calibrated < 0.8 * plain, (calibrated, plain))
        # What is stored is what --decoded writes, and both lanes read it.
        quantize(folder + "/decoded", text, "--decoded")
        pair = evaluation(folder + "/n4", "--lane", "reference", "--reference",
                          folder + "/decoded", "--reference-lane", "reference")
        check(pair["kl_divergence"]["mean"] == 0, pair)
        answer = linnet("run", "--model", folder + "/n4", "--greedy", "--no-think", "Hello!")
        check(answer.status == 0 and answer.out.strip() != "", answer)
        # Quantized once more, and from GGUF.
        quantize(folder + "/again", text, "--body", "i8", model=folder + "/n4")
        check(evaluation(folder + "/again", *exact)["kl_divergence"]["mean"] < plain)
        refused = linnet("convert", folder + "/n4", folder + "/n4.gguf")
        check(refused.status == 1 and "factors" in refused.err, refused)


@test
def smoothing_alone_leaves_the_function():
    with tempfile.TemporaryDirectory() as folder:
        quantize(folder + "/smooth", text_file(folder), "--body", "f32")
        result = evaluation(folder + "/smooth", "--lane", "reference", "--reference",
                            harness.MODEL, "--reference-lane", "reference", "--layers")
        check(result["kl_divergence"]["mean"] < 1e-7, result)
        check(all(error < 1e-5 for error in result["layer_errors"]), result)


@test
def a_killed_run_goes_on_and_gives_the_same_bytes():
    with tempfile.TemporaryDirectory() as folder:
        text = text_file(folder)
        quantize(folder + "/whole", text)
        for stop, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            out = pathlib.Path(folder, f"resumed-{stop.name}")
            command = ("quantize", harness.MODEL, "--out", str(out), "--text", text)
            with subprocess.Popen([harness.PROGRAM, *command], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, env=environment("/nonexistent")) as run:
                progress = pathlib.Path(str(out) + ".parts", "progress.json")
                deadline = time.monotonic() + harness.TIMEOUT
                while not progress.exists() and run.poll() is None:
                    check(time.monotonic() < deadline, "no progress")
                    time.sleep(0.002)
                run.send_signal(stop)
                err = run.communicate()[1].decode()
            check(run.returncode == status, (run.returncode, err))
            check(not out.exists() and progress.exists(), os.listdir(folder))
            if stop == signal.SIGINT:
                check("goes on from layer" in err, err)
            done = linnet(*command)
            check(done.status == 0 and "an earlier run had finished" in done.out, done)
            check(not progress.exists(), os.listdir(folder))
            for name in os.listdir(folder + "/whole"):
                check((out / name).read_bytes() == pathlib.Path(folder, "whole", name).read_bytes(),
                      name)


@test
def other_settings_begin_anew():
    with tempfile.TemporaryDirectory() as folder:
        text = text_file(folder)
        parts = pathlib.Path(folder, "out.parts")
        parts.mkdir()
        (parts / "progress.json").write_text('{"settings": {"weights": "n4"}, "finished": 3}')
        done = quantize(folder + "/out", text)
        check("earlier run" not in done.out and not parts.exists(), done)


@test
def quantize_refuses_bad_requests():
    with tempfile.TemporaryDirectory() as folder:
        text = text_file(folder)
        check(linnet("quantize", harness.MODEL).status == 2)
        check(linnet("quantize", harness.MODEL, "--out", folder + "/x", "--body", "n5").status == 2)
        done = linnet("quantize", harness.MODEL, "--out", folder)
        check(done.status == 1 and "--force" in done.err, done)
        done = linnet("quantize", harness.MODEL, "--out", folder + "/no/such")
        check(done.status == 1 and "no/such" in done.err, done)
        done = linnet("quantize", harness.MODEL, "--out", folder + "/a", "--body", "affine4",
                      "--text", text)
        check(done.status == 1 and "decoded" in done.err, done)
        empty = pathlib.Path(folder, "empty.txt")
        empty.write_text("")
        done = linnet("quantize", harness.MODEL, "--out", folder + "/b", "--text", str(empty))
        check(done.status == 1 and "empty" in done.err, done)
        check(not os.path.exists(folder + "/a") and not os.path.exists(folder + "/b"))


if __name__ == "__main__":
    sys.exit(harness.main())
