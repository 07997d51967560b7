#!/usr/bin/env python3
"""End-to-end tests of the linnet program: pipes, terminals, signals, files, exit statuses.

Usage: cli_test.py LINNET [MODEL]

LINNET is the program, MODEL the folder of the tiny chat model (by default the one of the source
tree). Prints "N passed, N failed" and leaves with 1 when a test failed, with 77 (skipped) when
there is no model.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ""
MODEL = ""
TESTS = []
TIMEOUT = 30


def test(function):
    TESTS.append(function)
    return function


class Outcome:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"status {self.status}\nstdout {self.out[-2000:]!r}\nstderr {self.err[-2000:]!r}"


def environment(home, **extra):
    """A clean one: what the tester has set must not matter."""
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS")
            if key in os.environ}
    kept.update(HOME=str(home), TERM="xterm-256color", LANG="C.UTF-8", LINNET_MODEL=MODEL)
    kept.update(extra)
    return {key: value for key, value in kept.items() if value is not None}


def linnet(*arguments, stdin=b"", env=None, home="/nonexistent"):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=TIMEOUT,
                          env=environment(home, **(env or {})), check=False)
    return Outcome(done.returncode, done.stdout.decode(errors="surrogateescape"),
                   done.stderr.decode(errors="surrogateescape"))


def check(condition, evidence=""):
    if not condition:
        raise AssertionError(repr(evidence))


class Pty:
    """The program on a terminal of 80 columns."""

    def __init__(self, *arguments, home, env=None, redirect=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            if redirect:
                os.dup2(os.open(redirect, os.O_WRONLY | os.O_CREAT, 0o600), 1)
            os.execve(PROGRAM, [PROGRAM, *arguments], environment(home, **(env or {})))
        self.seen = b""
        self.status = None

    def send(self, data):
        """Reads on while it writes, or a long text and its echo would wait for each other."""
        left = data if isinstance(data, bytes) else data.encode()
        while left:
            readable, writable, _ = select.select([self.fd], [self.fd], [], TIMEOUT)
            if readable:
                self.seen += os.read(self.fd, 65536)
            elif writable:
                left = left[os.write(self.fd, left[:256]):]
            else:
                raise AssertionError(f"takes no more input, saw {self.seen[-3000:]!r}")

    def expect(self, pattern, timeout=TIMEOUT):
        """Reads until the pattern is there; returns what came up to its end."""
        pattern = pattern if isinstance(pattern, bytes) else pattern.encode()
        end = time.monotonic() + timeout
        while True:
            found = re.search(pattern, self.seen, re.DOTALL)
            if found:
                text, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return text
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"waited in vain for {pattern!r}, saw {self.seen[-3000:]!r}")
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                raise AssertionError(f"ended before {pattern!r}, saw {self.seen[-3000:]!r}")
            self.seen += more

    def prompt(self):
        return self.expect(rb">>>(?:\x1b\[0m)? $")

    def say(self, line):
        """Types a line and returns what comes until the next prompt."""
        self.send(line + "\r")
        return self.prompt()

    def finish(self, timeout=TIMEOUT):
        """Waits for the end; returns the exit status (negative: the signal)."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
        raise AssertionError(f"still running, saw {self.seen[-3000:]!r}")

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.fd)


class Terminal:
    def __init__(self, *arguments, env=None, redirect=None):
        self.arguments, self.env, self.redirect = arguments, env, redirect

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name)
        redirect = self.home / self.redirect if self.redirect else None
        self.pty = Pty(*self.arguments, home=self.home, env=self.env, redirect=redirect)
        self.pty.home = self.home
        return self.pty

    def __exit__(self, *_):
        self.pty.close()
        self.folder.cleanup()


def golden_cases():
    path = pathlib.Path(MODEL) / "expected.json"
    if not path.exists():
        return None
    return json.loads(path.read_text())["cases"]


# --- the command line ------------------------------------------------------------------------

@test
def version_and_help():
    done = linnet("--version")
    check(done.status == 0 and re.fullmatch(r"linnet \d+\.\d+\.\d+\n", done.out), done)
    done = linnet("--help")
    check(done.status == 0 and "Commands:" in done.out and done.err == "", done)
    for command in re.findall(r"^  (\w+) +[A-Z]", done.out, re.MULTILINE):
        done = linnet(command, "--help")
        check(done.status == 0, done)
        check("Examples:" in done.out, done)
        flags = re.findall(r"^ {2,6}(?:-\w, )?--([\w-]+)", done.out, re.MULTILINE)
        check(len(flags) >= 7, done)
        body = re.sub(r"\s+", " ", done.out)
        for flag in set(flags) - {"help"}:
            variable = {"log-level": "LINNET_LOG"}.get(flag, "LINNET_" + flag.upper().replace("-", "_"))
            check(re.search(rf"\[{variable}[],]", body), (command, flag))


@test
def help_needs_no_sound_environment():
    done = linnet("run", "--help", env={"LINNET_THREADS": "abc"})
    check(done.status == 0, done)


@test
def help_is_a_word_too():
    check(linnet("help").out == linnet("--help").out)
    done = linnet("help", "run")
    check(done.status == 0 and done.out == linnet("run", "--help").out, done)
    check(linnet("run", "--max-tokens", "1", "help").status == 0)
    for words in (("help", "rum"), ("rum", "--help")):
        done = linnet(*words)
        check(done.status == 2 and "did you mean run" in done.err, done)


@test
def usage_mistakes_leave_with_2():
    for arguments, words in (
            ((), "command is missing"),
            (("rnu",), "did you mean run?"),
            (("run", "--temperatur", "1", "x"), "did you mean --temperature?"),
            (("run", "--temperature", "hot", "x"), "--temperature"),
            (("run", "--temperature", "-1", "x"), "--temperature"),
            (("run", "--top-p", "0", "x"), "--top-p"),
            (("run", "--max-tokens", "0", "x"), "--max-tokens"),
            (("run", "--greedy", "--temperature", "1", "x"), "--greedy"),
            (("run", "--raw", "--system", "s", "x"), "--raw"),
            (("run", "two", "words"), "quote"),
            (("run", "--seed"), "--seed: a value is missing"),
            (("run", "--color", "pink", "x"), "--color"),
            (("completion",), "SHELL"),
            (("completion", "tcsh"), "bash, zsh or fish"),
            (("xyzzy",), "linnet --help lists them"),
            (("run", "-x", "y"), "linnet run --help lists them"),
            (("inspect", "--context", "0"), "--context"),
            (("detokenize", "x7"), "x7")):
        done = linnet(*arguments)
        check(done.status == 2 and words in done.err and done.out == "", (arguments, done))
        check(done.err.count("\n") == 1, done)


@test
def a_wrong_variable_is_named():
    for variable, value in (("LINNET_THREADS", "abc"), ("LINNET_NO_MMAP", "maybe"),
                            ("LINNET_LOG", "loud"), ("LINNET_TEMPERATURE", "hot"),
                            ("LINNET_SEED", "-1"), ("LINNET_THINK", "perhaps")):
        done = linnet("run", "hi", env={variable: value})
        check(done.status == 2 and variable in done.err, (variable, done))


@test
def the_command_line_overrides_variables():
    done = linnet("tokenize", "--count", "--threads", "1", "a", env={"LINNET_THREADS": "abc"})
    check(done.status == 0 and done.out == "1\n", done)
    done = linnet("tokenize", "a", env={"LINNET_COUNT": "1"})
    check(done.out == "1\n", done)
    done = linnet("-m", MODEL, "tokenize", "--count", "a", env={"LINNET_MODEL": "/nowhere"})
    check(done.status == 0, done)


@test
def an_empty_value_is_a_value():
    for option in ("--seed=", "--temperature=", "--threads="):
        done = linnet("run", option, "--max-tokens", "1", "hi")
        check(done.status == 2 and option[:-1] in done.err, done)
    done = linnet("run", "--system=", "--greedy", "--no-think", "--max-tokens", "4", "hi")
    check(done.status == 0 and done.out.strip(), done)


@test
def echo_shows_piped_messages_before_their_answers():
    messages = "What is 2 plus 2?\nHello\n"
    plain = linnet("chat", "--greedy", "--no-think", stdin=messages)
    echoed = linnet("chat", "--greedy", "--no-think", "--echo", stdin=messages)
    check(plain.status == 0 and echoed.status == 0, (plain, echoed))
    first, second = plain.out.splitlines()
    check(echoed.out == f">>> What is 2 plus 2?\n{first}\n\n>>> Hello\n{second}\n\n", echoed)


@test
def parse_takes_a_reply_apart():
    reply = '<think>plan</think>Sure.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    record = json.loads(linnet("parse", "--tool-tags", "xml", stdin=reply).out)
    check(record["reasoning"] == "plan" and record["content"] == "Sure.", record)
    call, = record["tool_calls"]
    check(call["name"] == "f" and json.loads(call["arguments"]) == {"a": 1}, record)
    check(record["finish"] == "tool_calls" and not record["parse_error"], record)
    # With other tags a call is text like any other; bytes that are no text are refused.
    check(json.loads(linnet("parse", "--tool-tags", "none", stdin=reply).out)["tool_calls"] == [], record)
    refused = linnet("parse", stdin=b"a\xffb")
    check(refused.status == 1 and "invalid UTF-8 at byte 1" in refused.err, refused)


@test
def parse_reads_ids_too():
    reply = '<think>plan</think>Sure.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    ids = linnet("tokenize", reply + "<|im_end|>").out
    text = linnet("parse", stdin=reply)
    check(linnet("parse", "--ids", stdin=ids).out == text.out, text)
    check(linnet("parse", "--ids", stdin=json.dumps([int(i) for i in ids.split()])).out == text.out)
    for bad, status, words in (("1 x", 2, "id 1"), ("1 -5", 1, "-5"), ("9999999", 2, "9999999")):
        done = linnet("parse", "--ids", stdin=bad)
        check(done.status == status and words in done.err and done.out == "", done)
    check(json.loads(linnet("parse", "--ids", stdin="").out)["content"] == "")


@test
def a_megabyte_is_parsed_and_rendered():
    text = "<think>" + "x <" * 170000 + "</think>" + "\U0001F642" * 130000
    record = json.loads(linnet("parse", stdin=text).out)
    check(len(record["reasoning"]) > 500000 and len(record["content"]) == 130000)
    messages = json.dumps([{"role": "user", "content": "word \u00e9 " * 125000}])
    done = linnet("template", "--no-generation-prompt", stdin=messages)
    check(done.status == 0 and len(done.out.encode()) > 10**6 and done.err == "", done.err)


@test
def words_that_look_like_grammar_are_text():
    for text in ("chat", "[1,2]", "", "a=b", "'quoted'", "--"):
        done = linnet("tokenize", "--", text)
        back = linnet("detokenize", stdin=done.out) if text else None
        check(done.status == 0, (text, done))
        check(back is None or back.out == text + "\n", (text, back))
    done = linnet("detokenize", "--", "-1")
    check(done.status == 1 and "-1" in done.err and "vocabulary" in done.err, done)
    check(linnet("detokenize", "2361", "--", "1219", "637").out == "Hello world\n")
    done = linnet("detokenize", "--", "2361", "-1")
    check(done.status == 1 and "vocabulary" in done.err, done)
    check(linnet("completion", "--", "bash").out == linnet("completion", "bash").out)
    for arguments in (("run", "--", "a", "b"), ("run", "a", "--", "b"), ("doctor", "--", "-x")):
        done = linnet(*arguments)
        check(done.status == 2 and "unexpected argument" in done.err, done)


# --- models ------------------------------------------------------------------------------------

@test
def models_that_are_not_there():
    done = linnet("run", "--model", "/no/such/model", "hi")
    check(done.status == 1 and "/no/such/model" in done.err and done.out == "", done)
    done = linnet("run", "--model", "no-such-name", "hi")
    check(done.status == 1 and "no-such-name" in done.err and "did you mean" not in done.err, done)
    for name, meant in (("tinny", "tiny"), ("smolm2", "smollm2"), ("tiny-smollm3-chta", "tiny-smollm3-chat")):
        done = linnet("run", "--model", name, "hi", env={"LINNET_MODELS": str(ROOT / "models")})
        check(done.status == 1 and f"did you mean {meant}?" in done.err, done)
    with tempfile.TemporaryDirectory() as folder:
        done = linnet("run", "--model", folder, "hi")
        check(done.status == 1 and folder in done.err and "config.json" in done.err, done)
        path = pathlib.Path(folder) / "x.gguf"
        path.write_bytes(b"GGUF" + b"\xff" * 100)
        done = linnet("inspect", str(path))
        check(done.status == 1 and "x.gguf" in done.err, done)


@test
def tensors_that_the_model_lacks_are_told():
    with tempfile.TemporaryDirectory() as folder:
        for file in pathlib.Path(MODEL).iterdir():
            os.symlink(file, pathlib.Path(folder, file.name))
        weights = pathlib.Path(folder, "model.safetensors")
        content = weights.read_bytes()
        weights.unlink()
        size, = struct.unpack_from("<Q", content)
        header, data = json.loads(content[8:8 + size]), content[8 + size:]
        header["stray"] = {"dtype": "U8", "shape": [4], "data_offsets": [len(data), len(data) + 4]}
        head = json.dumps(header).encode()
        weights.write_bytes(struct.pack("<Q", len(head)) + head + data + b"1234")
        done = linnet("run", "--max-tokens", "1", "hi", env={"LINNET_MODEL": folder})
        check(done.status == 0 and "not part of the model: stray" in done.err, done)


@test
def inspect_tells_what_the_files_say():
    config = json.loads((pathlib.Path(MODEL) / "config.json").read_text())
    done = linnet("inspect", MODEL, "--json", "--tensors", "--context", "100")
    check(done.status == 0, done)
    record = json.loads(done.out)
    check(record["config"] == config, record["config"])
    check(record["sizes"]["layers"] == config["num_hidden_layers"])
    check(config["eos_token_id"] in record["stop_ids"])
    check(len(record["tensors"]) == 74 and record["parameters"] == 6062336, record["parameters"])
    # Two blocks of 64 positions of keys and values in f32.
    width = config["num_key_value_heads"] * config["head_dim"]
    check(record["memory"]["cache_bytes"] == 2 * 64 * config["num_hidden_layers"] * 2 * width * 4)
    done = linnet("inspect", MODEL, "--tensors", "--program")
    check("SmolLM3ForCausalLM" in done.out and "attention" in done.out, done)
    check("model.layers.0.self_attn.q_proj.weight" in done.out, done)
    done = linnet("inspect", MODEL, "--lowered")
    check("layers.0.mlp.gate_proj.weight | layers.0.mlp.up_proj.weight gated" in done.out, done)
    lowered = json.loads(linnet("inspect", MODEL, "--lowered", "--json").out)["lowered"]
    # Five steps a layer, embedding, selection of rows, head; few buffers share few pieces of memory.
    check(len(lowered["steps"]) == 5 * config["num_hidden_layers"] + 3, lowered)
    check(lowered["slots"] < 6 < lowered["buffers"], lowered)
    done = linnet("inspect", MODEL, "--template")
    check("add_generation_prompt" in done.out and "architecture" not in done.out, done)
    done = linnet("inspect", MODEL, "--context", "1000000")
    check(done.status == 1 and "1000000" in done.err and "4096" in done.err, done)


# --- text and tokens -----------------------------------------------------------------------------

@test
def tokenize_takes_json_lines():
    texts = ["Hello world", "a\nb", "", "<|im_end|>", "naïve 日本語 🙂"]
    rows = "".join(json.dumps(text if i % 2 else {"id": i, "text": text}) + "\n"
                   for i, text in enumerate(texts))
    done = linnet("tokenize", "--jsonl", "--pieces", "--offsets", stdin=rows)
    check(done.status == 0 and done.err == "", done)
    # splitlines() would cut at U+2028 and its like.
    records = [json.loads(line) for line in done.out.split("\n")[:-1]]
    alone = [json.loads(linnet("tokenize", "--json", "--pieces", "--offsets", "--", text).out)
             for text in texts]
    check(records == alone, records)
    counts = linnet("tokenize", "--jsonl", "--count", "-", stdin=rows).out
    check(counts == "".join(f'{{"count":{each["count"]}}}\n' for each in alone), counts)
    plain = linnet("tokenize", "--jsonl", "--no-special", stdin='"<|im_end|>"').out
    check(json.loads(plain)["count"] > 1, plain)


@test
def bad_json_lines_are_told_and_the_rest_goes_on():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.jsonl"
        path.write_bytes(b'"a"\r\n\n5\n{"x":1}\n{"text":7}\n{"text"\n"\xff"\n' + b"[" * 500 + b'\n"a"')
        done = linnet("tokenize", "--jsonl", str(path))
        records = [json.loads(line) for line in done.out.splitlines()]
        check(done.status == 1, done)
        check([each.get("line") for each in records] == [None, 3, 4, 5, 6, 7, 8, None], records)
        check(records[0] == records[-1] and "error" in records[1], records)
        check(done.err.count("\n") == 6 and f"{path}: line 3: " in done.err, done)
        missing = linnet("tokenize", "--jsonl", folder + "/none")
        check(missing.status == 1 and folder + "/none" in missing.err and missing.out == "", missing)


@test
def a_line_that_is_too_long_is_one_bad_row():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.jsonl"
        path.write_bytes(b'"a"\n"' + b"x" * (64 << 20) + b'"\n"a"\n')
        done = linnet("tokenize", "--jsonl", "--count", str(path))
    records = [json.loads(line) for line in done.out.splitlines()]
    check(done.status == 1 and records[0] == records[2] == {"count": 1}, done)
    check(records[1]["line"] == 2 and "longer than" in records[1]["error"], records)


@test
def messages_are_valid_utf8_and_short():
    row = b'"' + b"x" * 1000000 + b"\xff" + b'"\n'
    for arguments, stdin in ((("tokenize", "--jsonl"), row), (("embed", "--jsonl"), row),
                             (("template",), row), (("tokenize", "--model", b"no\xffsuch", "x"), b""),
                             (("inspect", b"no\xffsuch"), b""), ((b"frob\xff",), b"")):
        done = linnet(*arguments, stdin=stdin)
        check(done.status in (1, 2) and done.err, done)
        done.err.encode()  # no surrogates: the bytes were valid
        check(len(done.err) < 8192, (arguments, len(done.err)))


@test
def records_do_not_wait_for_the_next_row():
    with subprocess.Popen([PROGRAM, "tokenize", "--jsonl", "--count"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=environment("/nonexistent")) as running:
        for row in (b'"a"\n', b'"a"\n\n', b'"a"\n"b'):
            running.stdin.write(row)
            running.stdin.flush()
            check(select.select([running.stdout], [], [], TIMEOUT)[0], row)
            check(os.read(running.stdout.fileno(), 100) == b'{"count":1}\n', row)
        running.stdin.close()


@test
def json_lines_of_any_number_stream():
    row = b'"' + b"1" * 1000 + b'"\n'

    def peak(process):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1))

    # Freed memory that a sanitizer holds back would look like growth.
    with subprocess.Popen([PROGRAM, "tokenize", "--jsonl", "--count"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=environment(
                              "/nonexistent", ASAN_OPTIONS="quarantine_size_mb=1")) as running:
        peaks, records = [], []
        drain = threading.Thread(target=lambda: records.extend(running.stdout))
        drain.start()
        for _ in range(2):
            for _ in range(10):
                running.stdin.write(row * 1000)
            running.stdin.flush()
            peaks.append(peak(running))
        running.stdin.close()
        drain.join(TIMEOUT)
        check(running.wait(timeout=TIMEOUT) == 0)
    check(len(records) == 20000 and len(set(records)) == 1, records[:3])
    check(peaks[1] - peaks[0] < 4096, peaks)


@test
def tokenize_and_back():
    text = "Hello, naïve world 日本語 🙂\n\n  12345\t<|im_end|>"
    ids = linnet("tokenize", text).out
    check(linnet("detokenize", "--keep-special", stdin=ids).out == text + "\n")
    check(linnet("detokenize", stdin=ids).out == text.removesuffix("<|im_end|>") + "\n")
    check(linnet("detokenize", "--keep-special", *ids.split()).out == text + "\n")
    record = json.loads(linnet("tokenize", "--json", "--offsets", "--pieces", text).out)
    check(record["ids"] == [int(i) for i in ids.split()])
    check(record["count"] == len(record["ids"]) == len(record["offsets"]))
    check(linnet("tokenize", "--count", text).out == f"{record['count']}\n")
    check(record["offsets"][-1][1] == len(text.encode()))
    check(linnet("detokenize", "2361", "1219", "637").out == "Hello world\n")  # the help's example
    ids = linnet("tokenize", "It does n't matter , does it ?").out
    check(linnet("detokenize", stdin=ids).out == "It does n't matter , does it ?\n")
    check(linnet("detokenize", "--clean-up-spaces", stdin=ids).out == "It doesn't matter, does it?\n")
    lines = linnet("tokenize", "--pieces", "--offsets", "a\nb").out.splitlines()
    check(all(len(line.split("\t")) == 4 for line in lines), lines)
    check(len(linnet("tokenize", "<|im_end|>").out.split()) == 1)
    check(len(linnet("tokenize", "--no-special", "<|im_end|>").out.split()) > 1)
    check(linnet("tokenize", stdin="a\n").out == linnet("tokenize", "a").out)
    check("ids" not in json.loads(linnet("tokenize", "--json", "--count", text).out))
    done = linnet("detokenize", "99999999")
    check(done.status == 2 and "99999999" in done.err, done)
    done = linnet("detokenize", "1000000")
    check(done.status == 1 and "1000000" in done.err, done)


@test
def invalid_utf8_is_refused_with_its_place():
    for command in ("tokenize", "run"):
        done = linnet(command, stdin=b"abc\xff")
        check(done.status == 1 and "standard input" in done.err and "byte 3" in done.err, done)
    for arguments in (("run", b"abc\xff"), ("run", "--stop", b"abc\xff", "x"),
                      ("run", "--system", b"abc\xff", "x"), ("tokenize", b"abc\xff")):
        done = linnet(*arguments)
        check(done.status == 2 and "byte 3" in done.err, done)


@test
def template_renders_as_the_reference():
    cases = golden_cases()
    if cases is None:
        return
    for case in cases[::7] + [c for c in cases if c["xml_tools"]][:2]:
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--date", "2025-07-08", "--think" if case["enable_thinking"] else "--no-think"]
            if case["xml_tools"]:
                tools = pathlib.Path(folder) / "tools.json"
                tools.write_text(json.dumps(case["xml_tools"]))
                arguments += ["--tools", str(tools)]
            done = linnet("template", *arguments, stdin=json.dumps(case["messages"]))
            check(done.status == 0 and done.out == case["prompt"], (case["id"], done))
            ids = linnet("template", "--ids", *arguments, stdin=json.dumps(case["messages"]))
            check([int(i) for i in ids.out.split()] == case["prompt_ids"], (case["id"], ids))


@test
def template_input_is_checked():
    done = linnet("template", stdin="not json")
    check(done.status == 1 and "standard input" in done.err, done)
    done = linnet("template", stdin="[]")
    check(done.status == 1, done)
    done = linnet("template", "--date", "8 July", stdin='[{"role":"user","content":"x"}]')
    check(done.status == 2 and "--date" in done.err, done)
    done = linnet("template", "--date", "2025-02-30", stdin='[{"role":"user","content":"x"}]')
    check(done.status == 2 and "--date" in done.err, done)
    done = linnet("template", "--no-generation-prompt", stdin='[{"role":"user","content":"x"}]')
    check(done.status == 0 and not done.out.endswith("assistant\n"), done)


@test
def tools_that_a_template_ignores_are_told():
    with tempfile.TemporaryDirectory() as folder:
        deaf = pathlib.Path(folder) / "deaf"
        deaf.mkdir()
        for file in pathlib.Path(MODEL).iterdir():
            (deaf / file.name).symlink_to(file)
        (deaf / "chat_template.jinja").unlink()
        (deaf / "chat_template.jinja").write_text("{{ messages[0].content }}")
        tools = pathlib.Path(folder) / "tools.json"
        tools.write_text('[{"type": "function", "function": {"name": "weather"}}]')
        messages = '[{"role":"user","content":"x"}]'
        done = linnet("template", "--model", str(deaf), "--tools", str(tools), stdin=messages)
        check(done.status == 0 and done.out == "x" and "--tools" in done.err, done)
        done = linnet("template", "--tools", str(tools), stdin=messages)
        check(done.status == 0 and "weather" in done.out and done.err == "", done)


@test
def template_tells_prompt_ids_spans_and_origins():
    messages = json.dumps([{"role": "user", "content": "Hi <|im_end|>"}, {"role": "assistant", "content": "Yes"}])
    arguments = ("template", "--date", "2025-07-08", "--no-think")
    record = json.loads(linnet(*arguments, "--json", stdin=messages).out)
    check(record["prompt"] == linnet(*arguments, stdin=messages).out, record)
    check(" ".join(map(str, record["ids"])) + "\n" == linnet(*arguments, "--ids", stdin=messages).out)
    check(len(record["spans"]) == len(record["ids"]) and record["thinking"] == "closed", record)
    prompt = record["prompt"].encode()
    check(b"".join(prompt[begin:end] for begin, end in record["spans"]) == prompt, record)
    check([prompt[b:e] for b, e in record["input_spans"]] == [b"Hi <|im_end|>", b"Yes"], record)
    (begin, end), = record["generation_spans"]
    check(prompt[begin:end] == b"<|im_start|>assistant\n<think>\n\n</think>\nYes<|im_end|>\n", record)


@test
def a_system_turn_can_be_closed_and_thoughts_dropped():
    messages = json.dumps([{"role": "user", "content": "Hi"},
                           {"role": "assistant", "content": "<think>\nhm\n</think>\nYes"}])
    plain = linnet("template", "--think", stdin=messages).out
    check(plain.count("<|im_end|>") == 2 and "hm" in plain, plain)
    closed = linnet("template", "--think", "--close-system-turn", "--drop-thoughts", stdin=messages).out
    check("\n\n<|im_end|>\n<|im_start|>user\nHi" in closed, closed)
    check(closed.count("<|im_end|>") == 3 and "hm" not in closed, closed)
    open_turn = json.loads(linnet("run", "--json", "--max-tokens", "1", "Hi").out)["prompt_tokens"]
    closed_turn = json.loads(linnet("run", "--json", "--max-tokens", "1", "--close-system-turn", "Hi").out)
    check(closed_turn["prompt_tokens"] == open_turn + 2, (open_turn, closed_turn))


@test
def control_tokens_of_users_are_text():
    messages = '[{"role":"user","content":"<|im_end|>"}]'
    plain = linnet("template", "--ids", stdin=messages).out.split()
    trusted = linnet("template", "--ids", "--trust-user-tokens", stdin=messages).out.split()
    check(len(plain) > len(trusted), (len(plain), len(trusted)))


# --- run -----------------------------------------------------------------------------------------

@test
def greedy_transcripts_are_the_reference():
    cases = golden_cases()
    if cases is None:
        return
    for case in [c for c in cases if len(c["prompt_ids"]) < 700][:4]:
        done = linnet("run", "--raw", "--greedy", "--max-tokens", "128", "--json", stdin=case["prompt"])
        check(done.status == 0, (case["id"], done))
        record = json.loads(done.out)
        check(record["prompt_tokens"] == len(case["prompt_ids"]), (case["id"], record))
        check(record["text"] == case["output_text"], (case["id"], record["text"]))


@test
def the_answer_is_alone_on_standard_output():
    done = linnet("run", "--no-think", "--greedy", "Hello!")
    check(done.status == 0 and len(done.out) > 2 and done.out.endswith("\n"), done)
    check("<think>" not in done.out and "<|" not in done.out and done.err == "", done)
    again = linnet("run", "--no-think", "--greedy", stdin="Hello!\n")
    check(again.out == done.out, again)
    both = linnet("run", "--no-think", "--greedy", "Repeat:", stdin="blue\n")
    one = linnet("run", "--no-think", "--greedy", "Repeat:\n\nblue")
    check(both.out == one.out, (both, one))


@test
def thinking_is_apart_from_the_answer():
    record = json.loads(linnet("run", "--think", "--greedy", "--json", "Hello!").out)
    check(record["reasoning"] and record["text"], record)
    check("think>" not in record["reasoning"] + record["text"], record)
    done = linnet("run", "--think", "--greedy", "Hello!")
    check(done.out == record["text"].rstrip("\n") + "\n" and done.err == "", (done, record))
    shown = linnet("run", "--think", "--greedy", "--show-thinking", "Hello!")
    check(shown.out == done.out and record["reasoning"] in shown.err, shown)
    record = json.loads(linnet("run", "--no-think", "--greedy", "--json", "Hello!").out)
    check(record["reasoning"] == "", record)


@test
def thoughts_that_leave_no_room_are_told():
    done = linnet("run", "--think", "--greedy", "--max-tokens", "3", "Hello!")
    check(done.status == 0 and done.out == "\n" and "--no-think" in done.err, done)
    done = linnet("run", "--no-think", "--greedy", "--max-tokens", "3", "Hello!")
    check(done.status == 0 and done.err == "", done)


TOOLS = [{"name": "get_order_status",
          "description": "Look up the status, carrier and expected delivery date of a customer order.",
          "parameters": {"type": "object", "properties": {"order_id": {
              "type": "string", "description": "The order ID, for example ORD-4821."}},
              "required": ["order_id"]}}]


@test
def tool_calls_are_apart_from_the_text():
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder) / "tools.json"
        tools.write_text(json.dumps(TOOLS))
        arguments = ("run", "--greedy", "--no-think", "--tools", str(tools))
        question = "Where are ORD-918273 and ORD-6644?"
        record = json.loads(linnet(*arguments, "--json", question).out)
        check(record["finish"] == "tool_calls" and record["text"] == "" and not record["parse_error"], record)
        check([call["name"] for call in record["tool_calls"]] == ["get_order_status"] * 2, record)
        check([json.loads(call["arguments"]) for call in record["tool_calls"]] ==
              [{"order_id": "ORD-918273"}, {"order_id": "ORD-6644"}], record)
        done = linnet(*arguments, question)
        check(done.out == "".join(f"{call['name']}({call['arguments']})\n" for call in record["tool_calls"]), done)
        check(done.err == "", done)
        # A call that is not whole stays text, and is told.
        cut = linnet(*arguments, "--max-tokens", "12", question)
        check(cut.out.startswith("<tool_call>\n") and "not whole" in cut.err, cut)
        record = json.loads(linnet(*arguments, "--max-tokens", "12", "--json", question).out)
        check(record["parse_error"] and record["finish"] == "length" and not record["tool_calls"], record)
        plain = linnet(*arguments, "--tool-tags", "none", question)
        check(plain.out.startswith("<tool_call>\n") and plain.err == "", plain)
        for content, words in (("{", "tools.json"), ("5", "tools.json: expected an array"), ("[5]", "[0]")):
            tools.write_text(content)
            done = linnet(*arguments, question)
            check(done.status == 1 and words in done.err and done.out == "", done)
        done = linnet("run", "--raw", "--tools", str(tools), "x")
        check(done.status == 2 and "--raw excludes --tools" in done.err, done)


@test
def the_record_is_complete():
    done = linnet("run", "--json", "--seed", "7", "--max-tokens", "5", "Hello!")
    record = json.loads(done.out)
    check(done.out.count("\n") == 1, done)
    check(record["seed"] == 7 and record["completion_tokens"] <= 5, record)
    check(record["finish"] in ("length", "stop") and record["cached_tokens"] == 0, record)
    check(record["prompt_tokens"] > 20, record)
    for key in ("load_seconds", "prefill_seconds", "decode_seconds", "prefill_tokens_per_second",
                "decode_tokens_per_second"):
        check(record["timings"][key] >= 0, record)
    check(record["memory"]["cache"]["peak_bytes"] > 0, record)
    check(record["model"] == pathlib.Path(MODEL).name, record)


@test
def seeds_repeat():
    def sample(seed):
        return linnet("run", "--seed", seed, "--temperature", "3", "--max-tokens", "12", "Hello!").out
    check(sample("1") == sample("1"))
    check(len({sample(seed) for seed in "1234"}) > 1)


@test
def stop_strings_and_lengths():
    whole = linnet("run", "--no-think", "--greedy", "Hello!").out.rstrip("\n")
    stop = whole[len(whole) // 2:][:3]
    done = linnet("run", "--no-think", "--greedy", "--stop", "@@", "--stop", stop, "Hello!")
    check(done.out == whole[:whole.index(stop)] + "\n", (stop, done, whole))
    record = json.loads(linnet("run", "--no-think", "--greedy", "--max-tokens", "2", "--json", "Hello!").out)
    check(record["finish"] == "length" and record["completion_tokens"] == 2, record)


@test
def empty_prompts_are_usage_errors():
    for stdin in ("", "\n", " \t\n\n"):
        done = linnet("run", stdin=stdin)
        check(done.status == 2 and "empty" in done.err, done)
    done = linnet("run", "", stdin="")
    check(done.status == 2, done)


@test
def a_prompt_longer_than_the_context():
    done = linnet("run", stdin="word " * 200000)
    check(done.status == 1 and "4096" in done.err and re.search(r"\b\d{6}\b", done.err), done)
    check(done.out == "" and len(done.err) < 500, done)


@test
def a_full_disk_is_an_error():
    for arguments in (("run", "--greedy", "Hello!"), ("--help",), ("inspect", MODEL),
                      ("tokenize", "hello"), ("run", "--json", "--greedy", "Hello!")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, env=environment("/nonexistent"),
                                  timeout=TIMEOUT, check=False)
        check(done.returncode == 1 and b"standard output" in done.stderr, (arguments, done))


@test
def a_reader_that_leaves_ends_it_quietly():
    command = f"'{PROGRAM}' inspect '{MODEL}' --tensors --program | head -1; echo \"${{PIPESTATUS[0]}}\""
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=TIMEOUT, check=False,
                          env=environment("/nonexistent"))
    check(done.stderr == b"" and done.stdout.count(b"\n") == 2, done)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([PROGRAM, "run", "--greedy", "Hello!"], stdin=subprocess.DEVNULL,
                          stdout=writer, stderr=subprocess.PIPE, env=environment("/nonexistent"),
                          timeout=TIMEOUT, check=False)
    os.close(writer)
    check(done.returncode == -signal.SIGPIPE and done.stderr == b"", done)


@test
def ctrl_c_ends_a_run_with_130():
    running = subprocess.Popen([PROGRAM, "run", "--temperature", "100", "--top-p", "1", "Hello!"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment("/nonexistent"))
    part = running.stdout.read(20)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=TIMEOUT)
    check(running.returncode == 130 and part and err == b"", (running.returncode, err))
    check((part + out).endswith(b"\n"), out)


@test
def ctrl_c_ends_what_waits_for_input():
    for command in ("run", "chat", "tokenize"):
        waiting = subprocess.Popen([PROGRAM, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment("/nonexistent"))
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        check(waiting.wait(timeout=TIMEOUT) == 130, (command, waiting.returncode))
        check(waiting.stdout.read() == b"" and waiting.stderr.read() == b"", command)


@test
def no_home_and_closed_input():
    done = linnet("run", "--no-think", "--greedy", "Hello!", env={"HOME": None})
    check(done.status == 0 and done.err == "", done)
    done = subprocess.run(["bash", "-c", f"'{PROGRAM}' run --no-think --greedy 'Hello!' <&-"],
                          capture_output=True, timeout=TIMEOUT, check=False,
                          env=environment("/nonexistent"))
    check(done.returncode == 0 and done.stdout.count(b"\n") == 1 and done.stderr == b"", done)
    done = subprocess.run(["bash", "-c", f"'{PROGRAM}' run --greedy 'Hello!' >&-"],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          check=False, env=environment("/nonexistent"))
    check(done.returncode == 1 and b"standard output" in done.stderr, done)


@test
def two_at_once():
    alone = linnet("run", "--no-think", "--greedy", "Hello!").out
    both = [subprocess.Popen([PROGRAM, "run", "--no-think", "--greedy", "Hello!"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             env=environment("/nonexistent")) for _ in range(2)]
    for each in both:
        out, _ = each.communicate(timeout=TIMEOUT)
        check(each.returncode == 0 and out.decode() == alone, out)


@test
def no_mmap_and_threads_change_nothing():
    alone = linnet("run", "--no-think", "--greedy", "Hello!").out
    for arguments in (("--no-mmap",), ("--threads", "1"), ("--threads", "3")):
        check(linnet("run", "--no-think", "--greedy", *arguments, "Hello!").out == alone, arguments)


# --- doctor, completion ----------------------------------------------------------------------------

@test
def doctor_is_content_here():
    with tempfile.TemporaryDirectory() as home:
        done = linnet("doctor", "--json", home=home)
        record = json.loads(done.out)
        check(done.status == 0 and record["ok"], done)
        names = [each["name"] for each in record["checks"]]
        check(names == ["version", "platform", "processor", "kernels", "cores", "memory", "disk", "library",
                        "model", "tensors", "tokenizer", "template"], names)
        check(all(each["status"] in ("ok", "warn") for each in record["checks"]), record)
        done = linnet("doctor", home=home, env={"LINNET_MODEL": None})
        check(done.status == 0 and "library" in done.out and "tokenizer" not in done.out, done)


@test
def doctor_skips_what_a_failure_gates():
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(MODEL):
            os.symlink(os.path.join(MODEL, name), os.path.join(folder, name))
        path = pathlib.Path(folder) / "model.safetensors"
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content[:100000])
        done = linnet("doctor", "--json", "--model", folder)
        status = {each["name"]: each["status"] for each in json.loads(done.out)["checks"]}
        check(done.status == 1 and status["model"] == "error", done)
        check(status["tokenizer"] == "skip" and status["library"] == "ok", status)


@test
def bench_measures_the_tokenizer():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "text.txt"
        path.write_bytes("Some words, some more words. 日本語\n".encode() * 100 + b"\xff")
        done = linnet("bench", "tokenizer", "--runs", "2", "--json", "--text", str(path),
                      "--text", __file__)
        record = json.loads(done.out)
        check(done.status == 0 and record["runs"] == 2 and len(record["texts"]) == 2, record)
        text = record["texts"][0]
        check(text["name"] == "text.txt" and text["bytes"] == path.stat().st_size + 2, text)
        check(round(text["bytes_per_token"] * text["tokens"]) == text["bytes"], text)
        for name in ("encode_mb_per_second", "encode_tokens_per_second", "decode_mb_per_second"):
            check(0 < text[name]["min"] <= text[name]["median"] <= text[name]["max"], text)
        alone = os.path.join(MODEL, "tokenizer.json")
        table = linnet("bench", "tokenizer", "--runs", "1", "--text", str(path), "--model", alone)
        check(table.status == 0 and "text.txt" in table.out and alone in table.out, table)
        path.write_bytes(b"")
        empty = linnet("bench", "tokenizer", "--text", str(path))
        check(empty.status == 1 and str(path) in empty.err and empty.out == "", empty)
        check(linnet("bench").status == 2 and linnet("bench", "nothing").status == 2)


@test
def completion_scripts_are_accepted():
    with tempfile.TemporaryDirectory() as folder:
        for shell in ("bash", "zsh", "fish"):
            done = linnet("completion", shell)
            check(done.status == 0 and "temperature" in done.out, done)
            path = pathlib.Path(folder) / shell
            path.write_text(done.out)
            exists = subprocess.run(["bash", "-c", f"command -v {shell}"], stdout=subprocess.DEVNULL,
                                    check=False).returncode == 0
            if exists:
                syntax = subprocess.run([shell, "-n", str(path)], capture_output=True, check=False)
                check(syntax.returncode == 0 and syntax.stderr == b"", (shell, syntax))

        def complete(*words):
            script = (f"source '{folder}/bash' && complete -p linnet >/dev/null && "
                      f"COMP_WORDS=({' '.join(repr(word) for word in words)}) && "
                      "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _linnet && printf '%s\\n' \"${COMPREPLY[@]}\"")
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
            check(done.returncode == 0, done)
            return done.stdout.splitlines()
        check(complete("linnet", "in") == ["inspect"])
        check("--temperature" in complete("linnet", "run", "--te"))
        check(complete("linnet", "inspect", "--temp") == ["--template"])
        check(complete("linnet", "run", "--color", "a") == ["auto", "always"])
        check(complete("linnet", "completion", "z") == ["zsh"])
        check({"tiny", "smollm2"} <= set(complete("linnet", "run", "--model", "")))
        check(complete("linnet", "run", "--model", "ti") == ["tiny"])
        check("smollm2" in complete("linnet", "inspect", ""))
        (pathlib.Path(folder) / "a b.txt").touch()
        (pathlib.Path(folder) / "a b.gguf").touch()
        check(complete("linnet", "run", "-m", folder + "/a") == [folder + "/a b.gguf"])


# --- chat through a pipe ---------------------------------------------------------------------------

@test
def piped_lines_are_turns():
    done = linnet("chat", "--no-think", "--greedy", stdin="Hello!\n\nWho are you?\n")
    check(done.status == 0 and done.err == "", done)
    first = linnet("run", "--no-think", "--greedy", "Hello!").out
    check(done.out.startswith(first) and len(done.out) > len(first) + 2, (done, first))
    check(">>>" not in done.out and "\x1b" not in done.out, done)
    last = linnet("chat", "--no-think", "--greedy", stdin="Hello!")
    check(last.out == first, last)


@test
def piped_lines_are_never_commands():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x"
        done = linnet("chat", "--no-think", "--greedy", "--max-tokens", "5", stdin=f"/save {path}\n")
        check(done.status == 0 and not path.exists() and done.out, done)


@test
def piped_bytes_that_are_no_text_are_repaired():
    done = linnet("chat", "--no-think", "--greedy", "--max-tokens", "5", stdin=b"Hello \xff\n")
    check(done.status == 0 and "line 1" in done.err and done.out, done)


# --- chat on a terminal ------------------------------------------------------------------------------

@test
def a_chat_on_a_terminal():
    with Terminal("chat", "--no-think", "--greedy") as chat:
        check(b"/help" in chat.prompt())
        answer = chat.say("Hello!")
        plain = linnet("run", "--no-think", "--greedy", "Hello!").out.strip()
        check(plain.encode() in answer, (answer, plain))
        check(b"/regen" in chat.say("/help"))
        check(b"did you mean /think?" in chat.say("/thikn"))
        check(b"/help lists them" in chat.say("/xyzzy"))
        check(b"temperature" in chat.say("/set"))
        check(b"expected" in chat.say("/set temperature hot"))
        check(b"did you mean top_k" in chat.say("/set topk 3"))
        check(b"did you mean top_k" in chat.say("/set topk"))
        check(b"/set alone lists" in chat.say("/set xyzzy 3"))
        check(b"top_k               7\r\n" in chat.say("/set top-k=7"))
        check(b"top_k               7\r\n" in chat.say("/set top_k"))
        check(b"(default)" in chat.say("/set top_k default"))
        check(b'"."' in chat.say("/set stop ."))
        check(b"none  (default)" in chat.say("/set stop default"))
        check(b"takes nothing after it" in chat.say("/undo 2"))
        check(b"of 4096 tokens" in chat.say("/tokens"))
        check(b"cache" in chat.say("/stats"))
        check(plain.encode() in chat.say("/regen"))
        check(b"gone" in chat.say("/undo"))
        check(b"nothing to undo" in chat.say("/undo"))
        check(b"No system text" in chat.say("/system"))
        chat.say("/system Be brief.")
        check(b"Be brief." in chat.say("/system"))
        chat.send("/bye\r")
        check(chat.finish() == 0, chat.seen)
    for word in ("/exit", "/quit"):
        with Terminal("chat") as chat:
            chat.prompt()
            chat.send(word + "\r")
            check(chat.finish() == 0, chat.seen)


@test
def tool_calls_of_a_chat_are_part_of_it():
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder) / "tools.json"
        tools.write_text(json.dumps(TOOLS))
        with Terminal("chat", "--no-think", "--greedy", "--tools", str(tools)) as chat:
            chat.prompt()
            answer = chat.say("Any update on ORD-4821?")
            check(b'get_order_status({"order_id": "ORD-4821"})\r\n' in answer, answer)
            chat.say("/save ~/calls.json")
            saved = json.loads((chat.home / "calls.json").read_text())["messages"]
            call, = saved[1]["tool_calls"]
            check(saved[1]["content"] == "" and call["function"]["name"] == "get_order_status", saved)
            # The next prompt holds the call once.
            prompt = linnet("template", str(chat.home / "calls.json")).out
            check(prompt.count('"ORD-4821"') == 1, prompt)
            check(b"Loaded 2 messages" in chat.say("/load ~/calls.json"))
            check(b">>>" in chat.say("Thanks"))


@test
def saved_chats_come_back():
    with Terminal("chat", "--no-think", "--greedy") as chat:
        path = chat.home / "chat.json"
        chat.prompt()
        chat.say("/system Be brief.")
        chat.say("Hello!")
        check(b"Saved 2 messages" in chat.say(f"/save {path}"))
        check(path.stat().st_mode & 0o777 == 0o600)
        messages = json.loads(path.read_text())["messages"]
        check([m["role"] for m in messages] == ["system", "user", "assistant"], messages)
        chat.say("/clear")
        check(b"nothing to undo" in chat.say("/undo"))
        check(b"Loaded 2 messages" in chat.say("/load ~/chat.json"))
        check(b"gone" in chat.say("/undo"))
        check(b"absent.json" in chat.say("/load absent.json"))
        path.write_text('[{"role": "user", "content": "Hi"}]')
        check(b"Loaded 1 message from" in chat.say(f"/load {path}"))
        path.write_text("[1]")
        check(b"messages[0]" in chat.say(f"/load {path}"))
        check(b"cannot write" in chat.say("/save /nonexistent/x"))
        os.mkfifo(chat.home / "pipe")
        check(b"not a regular file" in chat.say("/save ~/pipe"))
        check((chat.home / "pipe").is_fifo())
        (chat.home / "link").symlink_to("chat.json")
        chat.say("/save ~/link")
        check((chat.home / "link").is_symlink())


@test
def the_history_comes_back_and_is_private():
    with tempfile.TemporaryDirectory() as home:
        first = Pty("chat", "--no-think", "--greedy", home=home)
        first.prompt()
        first.say("/tokens")
        first.say("/system naïve words")
        first.send(b"\x04")
        check(first.finish() == 0, first.seen)
        first.close()
        path = pathlib.Path(home) / ".local/state/linnet/history"
        check(path.stat().st_mode & 0o777 == 0o600)
        check(path.read_text() == "/tokens\n/system naïve words\n", path.read_text())
        second = Pty("chat", home=home)
        second.prompt()
        second.send(b"\x1b[A\r")
        second.prompt()
        check("naïve words".encode() in second.say("/system"))
        second.send(b"\x04")
        check(second.finish() == 0)
        second.close()
        state = pathlib.Path(home) / "state"
        third = Pty("chat", home=home, env={"XDG_STATE_HOME": str(state)})
        third.prompt()
        third.say("/tokens")
        third.close()
        check((state / "linnet/history").read_text() == "/tokens\n")


@test
def several_lines_and_pastes():
    with Terminal("chat", "--no-think", "--greedy") as chat:
        chat.prompt()
        chat.send('"""/system no command\r')
        chat.expect(rb"\.\.\.(?:\x1b\[0m)? $")
        chat.send('second"""\r')
        chat.prompt()
        check(b"by 2 messages" in chat.say("/tokens"))
        chat.say("/save ~/a.json")
        saved = json.loads((chat.home / "a.json").read_text())["messages"]
        check(saved[0]["content"] == "/system no command\nsecond", saved)
        chat.say("/clear")
        chat.send(b"\x1b[A" * 4 + b"\r")  # all of its lines come back, as one
        chat.prompt()
        chat.say("/save ~/a.json")
        again = json.loads((chat.home / "a.json").read_text())["messages"]
        check(again[0]["content"] == saved[0]["content"], again)
        chat.say("/clear")
        chat.send(b"\x1b[200~one\ntwo\x1b[201~\r")
        chat.prompt()
        chat.say("/save ~/b.json")
        saved = json.loads((chat.home / "b.json").read_text())["messages"]
        check(saved[0]["content"] == "one\ntwo", saved)


@test
def ctrl_c_and_ctrl_d():
    with Terminal("chat") as chat:
        chat.prompt()
        chat.send(b"\x03")
        check(chat.finish() == 130, chat.seen)
    with Terminal("chat") as chat:
        chat.prompt()
        chat.send(b"half a line")
        chat.expect(rb"half a line")
        chat.send(b"\x03")
        chat.prompt()
        chat.send(b"\x04")
        check(chat.finish() == 0, chat.seen)
    with Terminal("chat", "--temperature", "100", "--top-p", "1", "--seed", "7", "--no-think") as chat:
        chat.prompt()
        chat.send("Hello!\r")
        chat.expect(rb"Hello!\r\n.{20}")
        chat.send(b"\x03")
        check(b"(stopped)" in chat.prompt())
        check(b"by 2 messages" in chat.say("/tokens"))
        chat.send("Hello!\r")
        chat.expect(rb"Hello!\r\n.{20}")
        chat.send(b"\x03")
        time.sleep(0.01)
        chat.send(b"\x03")
        # On a busy machine both may arrive as one, and the answer has only been stopped.
        time.sleep(0.5)
        with contextlib.suppress(OSError):
            chat.send(b"\x03")
        check(chat.finish() == 130, chat.seen)


@test
def answers_may_go_to_a_file():
    with Terminal("chat", "--no-think", "--greedy", redirect="answers.txt") as chat:
        chat.prompt()
        chat.say("Hello!")
        chat.send(b"\x04")
        check(chat.finish() == 0, chat.seen)
        plain = linnet("run", "--no-think", "--greedy", "Hello!").out
        written = (chat.home / "answers.txt").read_text()
        check(written.strip() == plain.strip() and "\x1b" not in written, written)


@test
def a_chat_comes_back_from_a_stop():
    with Terminal("chat", "--no-think", "--greedy") as chat:
        chat.prompt()
        raw = termios.tcgetattr(chat.fd)
        check(not raw[3] & termios.ICANON)
        chat.send("/tok")
        chat.expect("/tok")
        os.kill(chat.pid, signal.SIGSTOP)
        os.waitpid(chat.pid, os.WUNTRACED)
        shell = list(raw)  # as a shell leaves the terminal
        shell[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(chat.fd, termios.TCSANOW, shell)
        os.kill(chat.pid, signal.SIGCONT)
        chat.expect("/tok")
        check(not termios.tcgetattr(chat.fd)[3] & termios.ICANON)
        chat.send("ens\r")
        check(b"of 4096 tokens" in chat.prompt())


@test
def the_terminal_may_change_its_size():
    with Terminal("chat", "--no-think", "--greedy") as chat:
        chat.prompt()
        chat.send("/tok")
        chat.expect("/tok")
        fcntl.ioctl(chat.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 40, 0, 0))
        chat.send("ens\r")
        check(b"of 4096 tokens" in chat.prompt())


@test
def a_termination_ends_the_chat():
    with Terminal("chat") as chat:
        chat.prompt()
        os.kill(chat.pid, signal.SIGTERM)
        check(chat.finish() == 128 + signal.SIGTERM, chat.seen)


@test
def thinking_is_dimmed_or_hidden():
    with Terminal("chat", "--think", "--greedy") as chat:
        chat.prompt()
        check(re.search(rb"\x1b\[2m.+\x1b\[0m", chat.say("Hello!"), re.DOTALL))
    with Terminal("chat", "--think", "--greedy", env={"NO_COLOR": "1"}) as chat:
        chat.prompt()
        answer = chat.say("Hello!")
        check(b"\x1b[2m" not in answer and b"\x1b[0m" not in answer, answer)
    with Terminal("chat", "--think", "--greedy", "--hide-thinking") as chat:
        chat.prompt()
        hidden = chat.say("Hello!")
        reasoning = json.loads(linnet("run", "--think", "--greedy", "--json", "Hello!").out)["reasoning"]
        check(reasoning.splitlines()[0].encode() not in hidden, hidden)


@test
def escape_sequences_do_not_reach_a_terminal():
    ids = linnet("tokenize", "--no-special", "a\x1b[31mb\x07").out.split()
    raw = linnet("detokenize", *ids)
    check(raw.out == "a\x1b[31mb\x07\n", raw)
    with Terminal("detokenize", *ids) as shown:
        check(shown.finish() == 0, shown.seen)
        check(rb"a\x1b[31mb\x07" in shown.seen and b"\x1b[31m" not in shown.seen, shown.seen)


@test
def a_context_that_is_full_is_told_and_the_chat_goes_on():
    with Terminal("chat", "--no-think", "--greedy") as chat:
        chat.prompt()
        chat.send(b"\x1b[200~" + b"word\n" * 5000 + b"\x1b[201~\r")
        check(b"4096" in chat.prompt())
        check(b"by 0 messages" in chat.say("/tokens"))
        chat.say("Hello!")


def main():
    global PROGRAM, MODEL
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    PROGRAM = os.path.abspath(sys.argv[1])
    candidates = [pathlib.Path(sys.argv[2])] if len(sys.argv) == 3 else [
        ROOT / "models" / "tiny-smollm3-chat"]
    found = [path for path in candidates if (path / "config.json").exists()]
    if not found:
        print(f"skipped: no model at {candidates[0]}")
        return 77
    MODEL = str(found[0].resolve())
    wanted = os.environ.get("CLI_TEST_ONLY", "")
    passed = failed = 0
    for each in TESTS:
        if wanted and not re.search(wanted, each.__name__):
            continue
        try:
            each()
            passed += 1
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {each.__name__}")
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
