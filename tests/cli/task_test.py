#!/usr/bin/env python3
"""End-to-end tests of classify, tag, answer and embed.

Usage: task_test.py LINNET [MODEL]

As cli_test.py, whose harness it uses. The heads are those of tests/golden/models with a tokenizer
of one token per byte, and heads made new on the tiny chat model.
"""

import json
import math
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cli_test  # pylint: disable=wrong-import-position
from cli_test import Pty, check, linnet  # pylint: disable=wrong-import-position

GOLDEN = cli_test.ROOT / "tests" / "golden" / "models"
NEW_HEAD = ("--init-head", "3")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def byte_letters():
    """The byte-level alphabet: the letter that stands for each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in plain}
    others = (byte for byte in range(256) if byte not in letters)
    letters.update({byte: chr(0x100 + i) for i, byte in enumerate(others)})
    return letters


class Head:
    """A copy of a golden model with a tokenizer: id = byte - 8, for bytes 8 to 127."""

    def __init__(self, name):
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name
        for file in ("config.json", "model.safetensors"):
            shutil.copy(GOLDEN / f"head-{name}" / file, self.path)
        letters = byte_letters()
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                      "use_regex": True}
        tokenizer = {
            "version": "1.0", "added_tokens": [], "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "vocab": {letters[i + 8]: i for i in range(120)},
                      "merges": []},
        }
        (pathlib.Path(self.path) / "tokenizer.json").write_text(json.dumps(tokenizer))

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.folder.cleanup()


def records(done):
    return [json.loads(line) for line in done.out.splitlines()]


@test
def classify_gives_labels_of_the_config():
    with Head("sequence-classification") as model:
        done = linnet("classify", "-m", model, "my invoice is wrong", "it does not start")
        check(done.status == 0 and done.err == "", done)
        for record in records(done):
            labels = record["labels"]
            check({each["label"] for each in labels} == {"billing", "technical", "account"}, record)
            scores = [each["score"] for each in labels]
            check(scores == sorted(scores, reverse=True) and abs(sum(scores) - 1) < 1e-6, record)
        logits = records(linnet("classify", "-m", model, "--scores", "none", "hello"))[0]["labels"]
        sigmoid = records(linnet("classify", "-m", model, "--scores", "sigmoid", "hello"))[0]
        for one, other in zip(logits, sigmoid["labels"]):
            check(one["label"] == other["label"], sigmoid)
            check(abs(1 / (1 + math.exp(-one["score"])) - other["score"]) < 1e-6, sigmoid)
        top = records(linnet("classify", "-m", model, "--top", "1", "hello"))[0]["labels"]
        check(len(top) == 1 and top[0]["label"] == logits[0]["label"], top)
        pair = records(linnet("classify", "-m", model, "ab", "--pair", "cd"))
        check(pair == records(linnet("classify", "-m", model, "abcd")), pair)
        check(linnet("classify", "-m", model, "a", "b", "--pair", "c").status == 2)


@test
def rows_come_from_arguments_lines_files_and_json():
    with Head("sequence-classification") as model, tempfile.TemporaryDirectory() as folder:
        texts = ["first text", "the second, which is longer", "3"]
        wanted = records(linnet("classify", "-m", model, *texts))
        plain = linnet("classify", "-m", model, stdin="\n".join(texts) + "\n\n")
        lines = pathlib.Path(folder) / "lines.txt"
        lines.write_text("\n".join(texts))
        rows = pathlib.Path(folder) / "rows.jsonl"
        rows.write_text("".join(json.dumps({"id": f"r{i}", "text": text, "more": [1]}) + "\n"
                                for i, text in enumerate(texts)))
        from_file = linnet("classify", "-m", model, "-i", str(lines), "-i", str(rows))
        piped = linnet("classify", "-m", model, "--jsonl", stdin=rows.read_bytes())
        got = records(from_file)
        check(len(got) == 6 and from_file.status == 0, from_file)
        check([each["id"] for each in got[3:]] == ["r0", "r1", "r2"], got)
        for each in [*records(plain), *got, *records(piped)]:
            check(each.pop("line") in (1, 2, 3), each)
            each.pop("id", None)
            check(each in wanted, each)
        check(len(records(linnet("classify", "-m", model, "--whole", "-i", str(lines)))) == 1)
        strings = linnet("classify", "-m", model, "--jsonl", stdin='"3"\n{"text":"3","pair":null}')
        check([each["labels"] for each in records(strings)] == [wanted[2]["labels"]] * 2, strings)


@test
def results_do_not_depend_on_the_batch():
    texts = "".join(f"{'word ' * (i * 7 % 40)}{i}\n" for i in range(60))
    with Head("sequence-classification") as model:
        outputs = {linnet("classify", "-m", model, "--batch", batch, "-t", threads, stdin=texts).out
                   for batch, threads in (("1", "1"), ("7", "2"), ("64", "1"))}
        check(len(outputs) == 1 and outputs.pop().count("\n") == 60)


@test
def bad_rows_are_told_with_their_line_and_the_rest_goes_on():
    stdin = b'{"text":"a"}\n\n{"text":5}\nnot json\n{"pair":"x"}\n{"text":""}\n"\xff"\n[]\n"b"\n'
    with Head("sequence-classification") as model:
        done = linnet("classify", "-m", model, "--jsonl", stdin=stdin)
        got = records(done)
        check(done.status == 1 and [each["line"] for each in got] == [1, 3, 4, 5, 6, 7, 8, 9], done)
        check(["labels" in each for each in got] == [True] + [False] * 6 + [True], got)
        check(all("error" in each for each in got[1:7]), got)
        check(done.err.count("linnet: standard input: line ") == 6, done.err)
        long_row = b'"' + b"x" * (16 << 20) + b'"\n'
        done = linnet("classify", "-m", model, "--jsonl", stdin=b'"a"\n' + long_row + b'"b"\n')
        got = records(done)
        check(done.status == 1 and ["labels" in each for each in got] == [True, False, True], done)
        check(got[1]["line"] == 2 and "longer than" in got[1]["error"], got[1])
        lines = linnet("embed", "--table", stdin=b"a\n\xff\nb\0c\n")
        check(lines.status == 1 and "line 2: " in lines.err and "256 numbers" in lines.out, lines)
        missing = linnet("classify", "-m", model, "-i", "/nonexistent/rows.jsonl")
        check(missing.status == 1 and "/nonexistent/rows.jsonl" in missing.err, missing)


@test
def tag_finds_entities_with_their_places():
    with Head("token-classification") as model:
        text = "Ada met Charles in London."
        done = linnet("tag", "-m", model, text, "--ignore", "none of them")
        entities = records(done)[0]["entities"]
        check(done.status == 0 and entities, done)
        for each in entities:
            check(each["phrase"] == text[each["start"]:each["end"]], each)
            check(each["label"] in ("O", "PER", "LOC") and 0 < each["score"] <= 1, each)
        tokens = records(linnet("tag", "-m", model, text, "--aggregation", "none", "--ignore", "x"))
        check(len(tokens[0]["entities"]) == len(text), tokens)
        told = {each["label"] for each in records(linnet("tag", "-m", model, text))[0]["entities"]}
        check("O" not in told, told)
        for rule in ("word_first", "word_average", "word_max"):
            words = records(linnet("tag", "-m", model, text, "--aggregation", rule,
                                   "--ignore", "x"))[0]["entities"]
            starts = {match.start() for match in re.finditer(r"\w+|\S", text)}
            check(all(each["start"] in starts for each in words), words)
        empty = linnet("tag", "-m", model, "--jsonl", stdin='{"text":""}')
        check(empty.status == 0 and records(empty)[0]["entities"] == [], empty)


@test
def tag_reads_texts_beyond_the_context():
    with Head("token-classification") as model:
        text = "abc " * 5000
        done = linnet("tag", "-m", model, "--aggregation", "none", "--ignore", "x", "--whole",
                      stdin=text)
        entities = records(done)[0]["entities"]
        check([each["start"] for each in entities] == list(range(len(text))), done)


@test
def tag_counts_bytes_and_characters():
    text = "Zoë flew to 北京 🐦 today"
    done = linnet("tag", *NEW_HEAD, "--label", "O", "--label", "B-X", "--ignore", "none", text)
    entities = records(done)[0]["entities"]
    check("new from seed 3" in done.err, done)
    check(entities[-1]["end"] == len(text.encode()), entities)
    for each in entities:
        check(each["phrase"] == text.encode()[each["start"]:each["end"]].decode(), each)
        check(each["phrase"] == text[each["start_character"]:each["end_character"]], each)


@test
def answer_finds_a_span_of_the_context():
    with Head("question-answering") as model, tempfile.TemporaryDirectory() as folder:
        context = "Ada wrote it in 1843."
        ask = ("answer", "-m", model, "who?")
        done = linnet(*ask, "--context", context, "--top", "3")
        answers = records(done)[0]["answers"]
        check(done.status == 0 and len(answers) == 3, done)
        for each in answers:
            check(each["text"] == context[each["start"]:each["end"]], each)
        article = pathlib.Path(folder) / "article.txt"
        article.write_text(context + "\n")
        row = json.dumps({"question": "who?", "context": context}) + "\n"
        for other in (linnet(*ask, "--top", "3", stdin=context),
                      linnet(*ask, "--top", "3", "-i", str(article)),
                      linnet("answer", "-m", model, "--top", "3", "--jsonl", stdin=row)):
            check(records(other)[0]["answers"] == answers, other)
        all_of_them = records(linnet(*ask, "--context", context, "--top", "9999", "--impossible"))
        check(sum("none" in each for each in all_of_them[0]["answers"]) == 1, all_of_them)
        long = linnet(*ask, "--window", "40", "--stride", "10", stdin=context * 30)
        check(records(long)[0]["windows"] > 10, long)
        full = linnet("answer", "-m", model, "q" * 200, "--context", context)
        check(full.status == 1 and "200 tokens, of 128" in full.err, full)
        check(linnet("answer", "-m", model, stdin=context).status == 2)
        bad = linnet("answer", "-m", model, "--jsonl", stdin='{"question":"a"}\n' + row)
        check(bad.status == 1 and "context" in bad.err and bad.out.count("\n") == 2, bad)


@test
def embed_gives_vectors_of_length_one():
    done = linnet("embed", "a bird", "a finch")
    for record in records(done):
        check(len(record["embedding"]) == 256, record)
        check(abs(sum(x * x for x in record["embedding"]) - 1) < 1e-5, record)
    raw = records(linnet("embed", "--no-normalize", "--pooling", "last", "a bird"))[0]["embedding"]
    check(abs(sum(x * x for x in raw) - 1) > 0.1, raw)
    cut = linnet("embed", "--max-input", "4", stdin="a text of more than four tokens\nshort\n")
    first, second = records(cut)
    check(first["truncated"] and first["tokens"] == 4 and "truncated" not in second, cut)
    check("1 of 2 texts was longer" in cut.err, cut)


@test
def a_model_without_the_head_says_what_it_has_and_what_to_do():
    for command in (("classify", "x"), ("tag", "x"), ("answer", "x", "--context", "y")):
        done = linnet(*command)
        for part in ("no head for", "it has: causal_lm", "--init-head"):
            check(done.status == 1 and part in done.err, done)
    with Head("token-classification") as model:
        check("it has: token_classification" in linnet("classify", "-m", model, "x").err)
        other = linnet("classify", "-m", model, "--head", "token_classification", "x")
        check(other.status == 0 and len(records(other)[0]["labels"]) == 5, other)


@test
def a_terminal_gets_a_table_and_no_control_characters():
    with tempfile.TemporaryDirectory() as home:
        terminal = Pty("classify", *NEW_HEAD, "--label", "red", "--label", "\x1b[31mblue",
                       "text \x1b[2J", home=home)
        status = terminal.finish()
        seen = terminal.seen.decode()
        check(status == 0 and re.search(r"0\.\d{4}  red", seen), seen)
        check("\x1b[2J" not in seen and "\x1b[31m" not in seen and '"labels"' not in seen, seen)
        terminal.close()


@test
def rows_stream_in_constant_memory_and_stop_at_an_interrupt():
    with Head("sequence-classification") as model:
        row = json.dumps({"text": "word " * 20}).encode() + b"\n"
        with subprocess.Popen([cli_test.PROGRAM, "classify", "-m", model, "--jsonl", "-t", "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env=cli_test.environment(
                                  "/nonexistent", ASAN_OPTIONS="quarantine_size_mb=1")) as running:
            # The quarantine: freed memory that a sanitizer holds back would look like growth.
            peaks = []
            for _ in range(2):
                for _ in range(25):
                    running.stdin.write(row * 32)
                    running.stdin.flush()
                    for _ in range(32):
                        check(b"labels" in running.stdout.readline())
                status = pathlib.Path(f"/proc/{running.pid}/status").read_text()
                peaks.append(int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)))
            check(peaks[1] - peaks[0] < 4096, peaks)
            # Half a block does not wait for the rest of it, nor for what comes behind a blank line.
            for slow in (row, row + b"\n", row + row[:9]):
                running.stdin.write(slow)
                running.stdin.flush()
                check(select.select([running.stdout], [], [], cli_test.TIMEOUT)[0], slow)
                check(b"labels" in running.stdout.readline())
            # It waits for more now, and must end all the same.
            os.kill(running.pid, signal.SIGINT)
            out, err = running.communicate(timeout=cli_test.TIMEOUT)
            check(running.returncode == 130 and err == b"", (running.returncode, out, err))


if __name__ == "__main__":
    cli_test.TESTS[:] = TESTS
    sys.exit(cli_test.main())
