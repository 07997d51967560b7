#!/usr/bin/env python3
"""End-to-end tests of batch, and of the searches and bounds of run and chat, on the tiny model.

Usage: batch_test.py LINNET [MODEL]

As cli_test.py, whose harness it uses.
"""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cli_test  # pylint: disable=wrong-import-position
from cli_test import Pty, check, linnet  # pylint: disable=wrong-import-position

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def jsonl(rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def requests(count, **fields):
    words = ["a bird", "the sea", "two and two", "Hello!", "rain", "my invoice"]
    return [{"id": f"r{i}", "prompt": f"Tell me about {words[i % 6]} {i}", "temperature": 0.9,
             "max_tokens": 5 + i % 12, **fields} for i in range(count)]


def records(text):
    found = [json.loads(line) for line in text.splitlines()]
    return {each["line"]: each for each in found}


class Files:
    def __init__(self, rows):
        self.rows = rows

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        base = pathlib.Path(self.folder.name)
        self.input, self.output = base / "in.jsonl", base / "out.jsonl"
        self.input.write_text(jsonl(self.rows))
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def arguments(self, *more):
        return ("batch", "-i", str(self.input), "-o", str(self.output), *more)

    def run(self, *more):
        return linnet(*self.arguments(*more))

    def start(self, *more):
        return subprocess.Popen([cli_test.PROGRAM, *self.arguments(*more)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=cli_test.environment("/nonexistent"))

    def lines(self):
        return self.output.read_text().splitlines()


def sorted_output(rows, *more):
    with Files(rows) as files:
        done = files.run(*more)
        check(done.status in (0, 1), done)
        return sorted(files.lines())


@test
def records_do_not_depend_on_what_runs_beside():
    rows = requests(24) + [{"id": 7, "prompt": "Hi", "n": 3, "temperature": 1, "max_tokens": 6},
                           {"prompt": "Hi", "beams": 4, "n": 2, "max_tokens": 6},
                           {"prompt": "Hi", "penalty_alpha": 0.6, "top_k": 4, "max_tokens": 6},
                           {"prompt": "bad", "temperature": -1}]
    alone = sorted_output(rows, "--parallel", "1")
    check(len(alone) == 28 and alone == sorted_output(rows, "--parallel", "8"))
    check(alone == sorted_output(rows, "--parallel", "8", "--no-speculation", "-t", "1"))
    check(alone != sorted_output(rows, "--seed", "5"))
    with Files(rows) as files:
        files.run("--parallel", "8", "--ordered")
        check([json.loads(line)["line"] for line in files.lines()] == list(range(1, 29)))
        check(sorted(files.lines()) == alone)
    found = records("\n".join(alone))
    check([len(found[line]["answers"]) for line in (25, 26)] == [3, 2], alone)
    seeds = [each["seed"] for each in found[25]["answers"]]
    check(seeds == [seeds[0], seeds[0] + 1, seeds[0] + 2], seeds)
    scores = [each["score"] for each in found[26]["answers"]]
    check(scores[0] >= scores[1], scores)
    check(len({found[line]["seed"] for line in range(1, 25)}) == 24, "a seed of its own for each")


@test
def a_line_is_answered_as_run_answers_it():
    rows = [{"id": 1, "prompt": "What is a linnet?", "seed": 11, "temperature": 0.8,
             "max_tokens": 20},
            {"id": 2, "prompt": "Hello there", "raw": True, "temperature": 0, "max_tokens": 9},
            {"id": 3, "messages": [{"role": "user", "content": "Hi!"}], "temperature": 0,
             "max_tokens": 12, "think": False}]
    found = records(linnet("batch", stdin=jsonl(rows)).out)
    wanted = [("--seed", "11", "--temperature", "0.8", "--max-tokens", "20", rows[0]["prompt"]),
              ("--raw", "--greedy", "--max-tokens", "9", rows[1]["prompt"]),
              ("--greedy", "--max-tokens", "12", "--no-think", "Hi!")]
    for line, arguments in enumerate(wanted, 1):
        one = json.loads(linnet("run", "--json", *arguments).out)
        got = found[line]
        check(got["id"] == line, got)
        for field in ("text", "reasoning", "finish", "seed", "tool_calls"):
            if field != "seed" or line == 1:
                check(got[field] == one[field], (field, got, one))
        check(got["tokens"] == {"input": one["prompt_tokens"], "output": one["completion_tokens"],
                                "padding": 0}, got)


@test
def bad_lines_are_told_and_the_others_go_on():
    rows = [{"id": "a", "prompt": "Hi", "max_tokens": 3}, "not json", "", "[1]",
            {"id": "a", "prompt": "again"}, {"id": "b"}, {"id": "c", "prompt": 5},
            {"id": "d", "prompt": "x", "messages": []}, {"id": "e", "ids": [999999]},
            {"id": "f", "ids": []}, {"id": "g", "prompt": "x", "temperature": "hot"},
            {"id": "h", "prompt": "x", "n": 0}, {"id": "i", "prompt": "x", "beams": 2, "n": 3},
            {"id": "j", "prompt": "x", "max_tokens": 3, "max_length": 9}, {"id": [], "prompt": "x"},
            '{"id":"k","prompt":"x","prompt":"y"}', "[" * 1000, {"id": "l", "ids": [5, 6, 7],
                                                                 "max_tokens": 2}]
    stdin = jsonl(rows).encode() + b'{"id":"m","prompt":"\xff"}\n' + \
        b'"' + b"x" * (16 << 20) + b'"\n' + b'{"id":"n","prompt":"Hi","max_tokens":3}'
    done = linnet("batch", stdin=stdin)
    found = records(done.out)
    check(done.status == 1, done.err)
    check(set(found) == set(range(1, 22)) - {3}, sorted(found))
    good = [line for line, each in found.items() if "text" in each]
    check(sorted(good) == [1, 18, 21], [found[line] for line in sorted(found)])
    for line, each in found.items():
        check(line in good or {"code", "message"} == set(each["error"]), each)
    check("earlier line" in found[5]["error"]["message"], found[5])
    check("longer than" in found[20]["error"]["message"], found[20])
    check(found[5]["id"] == "a" and "id" not in found[2], found[5])
    check("3 lines answered, 17 failed" in done.err, done.err)


@test
def openai_lines_keep_their_shape():
    body = {"model": "any", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0}
    rows = [{"custom_id": "one", "method": "POST", "url": "/v1/chat/completions",
             "body": {**body, "max_completion_tokens": 4, "logprobs": True, "top_logprobs": 2}},
            {"custom_id": "two", "method": "POST", "url": "/v1/embeddings", "body": body},
            {"custom_id": "three", "method": "POST", "url": "/v1/completions",
             "body": {"prompt": "Once", "max_tokens": 3, "n": 2}},
            {"custom_id": "four", "url": "/v1/chat/completions",
             "body": {**body, "response_format": {"type": "json_object"}}}]
    done = linnet("batch", stdin=jsonl(rows))
    found = records(done.out)
    check(done.status == 1 and [found[i]["custom_id"] for i in range(1, 5)] ==
          ["one", "two", "three", "four"], done)
    answer = found[1]["response"]["body"]
    check(found[1]["error"] is None and found[1]["response"]["status_code"] == 200, found[1])
    choice = answer["choices"][0]
    check(choice["finish_reason"] == "length" and choice["message"]["role"] == "assistant", choice)
    usage = answer["usage"]
    check(usage["completion_tokens"] == 4 and
          usage["total_tokens"] == usage["prompt_tokens"] + 4, usage)
    rows = choice["logprobs"]["content"]
    check(len(rows) == 4 and all(len(row["top_logprobs"]) == 2 for row in rows), rows)
    for row in rows:
        check(row["logprob"] == row["top_logprobs"][0]["logprob"] <= 0, row)
    check([each["text"] is not None for each in found[3]["response"]["body"]["choices"]] ==
          [True, True], found[3])
    for line in (2, 4):
        check(found[line]["response"] is None and found[line]["error"]["code"] == "unsupported")


@test
def padding_counts_up_to_the_bucket():
    rows = [{"ids": list(range(10, 10 + count)), "max_tokens": 1} for count in (3, 4, 5, 9)]
    done = linnet("batch", "--pad-to", "8,4", stdin=jsonl(rows))
    found = records(done.out)
    check([found[line]["tokens"]["padding"] for line in (1, 2, 3)] == [1, 0, 3], found)
    check("longer" in found[4]["error"]["message"] or "9" in found[4]["error"]["message"], found[4])
    check(linnet("batch", "--pad-to", "8,x", stdin="").status == 2)


@test
def a_killed_run_goes_on():
    rows = requests(60, max_tokens=24)
    wanted = sorted_output(rows)
    check(len(wanted) == 60)
    chance = random.Random(1)
    with Files(rows) as files:
        kills = 0
        for _ in range(40):
            running = files.start("--parallel", "3")
            try:
                running.communicate(timeout=0.15 + 0.35 * chance.random())
                break
            except subprocess.TimeoutExpired:
                running.kill()
                running.communicate()
                kills += 1
            if files.output.exists() and chance.random() < 0.7:
                # As though the last write had been torn.
                content = files.output.read_bytes()
                cut = chance.randrange(1, 40)
                files.output.write_bytes(content[:max(0, len(content) - cut)])
        done = files.run()
        check(done.status == 0 and kills > 0, done)
        check(sorted(files.lines()) == wanted, kills)
        again = files.run("--resume")
        check(again.status == 0 and "60 done before" in again.err, again)
        check(sorted(files.lines()) == wanted)


@test
def foreign_outputs_are_refused_untouched():
    rows = requests(4)
    with Files(rows) as files:
        for content in ("hello\n", "hello", '{"line":1}\n', '[]\n{"line":'):
            files.output.write_text(content)
            done = files.run()
            check(done.status == 1 and "--overwrite" in done.err, (content, done))
            check(files.output.read_text() == content, content)
        check(files.run("--overwrite").status == 0 and len(files.lines()) == 4)
        # Other options, another line.
        check(files.run("--max-tokens", "3").status == 1)
        check(files.run("--seed", "3").status == 1)
        rows[2]["prompt"] += "?"
        files.input.write_text(jsonl(rows))
        done = files.run()
        check(done.status == 1 and "line 3" in done.err, done)
        # A record that was taken out is made again.
        rows[2]["prompt"] = rows[2]["prompt"][:-1]
        files.input.write_text(jsonl(rows))
        before = files.lines()
        files.output.write_text("".join(line + "\n" for line in before[1:]))
        check(files.run().status == 0 and sorted(files.lines()) == sorted(before))
        same = linnet("batch", "-i", str(files.input), "-o", str(files.input))
        check(same.status == 1 and "input" in same.err, same)
        check(linnet("batch", "-i", "/nonexistent/x").status == 1)


@test
def two_runs_do_not_share_an_output():
    with Files(requests(40, max_tokens=200)) as files:
        running = files.start()
        while not files.output.exists():
            time.sleep(0.01)
        time.sleep(0.1)
        done = files.run()
        running.kill()
        running.communicate()
        check(done.status == 1 and "another run" in done.err, done)


@test
def ctrl_c_keeps_what_is_finished():
    rows = requests(80, max_tokens=30)
    with Files(rows) as files:
        running = files.start("--parallel", "2")
        end = time.monotonic() + cli_test.TIMEOUT
        while (not files.output.exists() or not files.output.read_bytes()) and \
                time.monotonic() < end:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=cli_test.TIMEOUT)
        lines = files.lines()
        check(running.returncode == 130 and 0 < len(lines) < 80, (running.returncode, err))
        check(all("text" in json.loads(line) for line in lines), lines[-3:])
        done = files.run()
        check(done.status == 0 and f"{len(lines)} done before" in done.err, done)
        check(sorted(records(files.output.read_text())) == list(range(1, 81)))


@test
def a_full_disk_is_an_error():
    with Files(requests(3)) as files:
        done = linnet("batch", "-i", str(files.input), "-o", "/dev/full")
        check(done.status == 1 and "/dev/full" in done.err, done)


@test
def rows_of_a_pipe_do_not_wait_for_the_next():
    running = subprocess.Popen([cli_test.PROGRAM, "batch", "--max-tokens", "3"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=cli_test.environment("/nonexistent"))
    for number in range(1, 4):
        running.stdin.write(b'{"prompt":"Hi"}\n')
        running.stdin.flush()
        check(json.loads(running.stdout.readline())["line"] == number)
    _, err = running.communicate(timeout=cli_test.TIMEOUT)
    check(running.returncode == 0 and b"3 lines answered" in err, err)


@test
def a_terminal_sees_progress():
    with Files(requests(60, max_tokens=30)) as files:
        screen = Pty(*files.arguments("--parallel", "2"), home="/nonexistent")
        try:
            screen.expect(rb"tokens/s.*\d %")
            screen.expect(rb"60 lines answered")
            check(screen.finish() == 0)
        finally:
            screen.close()


# --- run and chat ------------------------------------------------------------------------------

ASK = ("run", "--json", "--max-tokens", "12")


@test
def run_gives_several_answers():
    several = json.loads(linnet(*ASK, "--answers", "3", "--seed", "4", "--temperature", "1",
                                "Hi").out)["answers"]
    for index, answer in enumerate(several):
        alone = json.loads(linnet(*ASK, "--seed", str(4 + index), "--temperature", "1", "Hi").out)
        check(answer["text"] == alone["text"] and answer["seed"] == 4 + index, (answer, alone))
    plain = linnet("run", "--max-tokens", "12", "--answers", "2", "--greedy", "Hi")
    one = linnet("run", "--max-tokens", "12", "--greedy", "Hi")
    check(plain.out == one.out + "\n" + one.out, plain)
    screen = Pty("run", "--max-tokens", "4", "--answers", "2", "Hi", home="/nonexistent")
    try:
        screen.expect(rb"Answer 1 of 2.*Answer 2 of 2")
        check(screen.finish() == 0)
    finally:
        screen.close()


@test
def run_searches():
    beams = json.loads(linnet(*ASK, "--beams", "4", "--answers", "4", "Hi").out)["answers"]
    scores = [each["score"] for each in beams]
    check(len(beams) == 4 and scores == sorted(scores, reverse=True), scores)
    check(len({(each["text"], each["reasoning"]) for each in beams}) > 1, beams)
    for more in (("--length-penalty", "-2"), ("--early-stopping", "never"),
                 ("--beam-groups", "2", "--diversity-penalty", "0.5")):
        check(linnet(*ASK, "--beams", "4", *more, "Hi").status == 0, more)
    contrastive = linnet(*ASK, "--contrastive-alpha", "0.6", "--contrastive-top-k", "3", "Hi")
    check(contrastive.status == 0 and json.loads(contrastive.out)["completion_tokens"] > 0)
    check(linnet(*ASK, "--beams", "4", "--contrastive-alpha", "0.5", "Hi").status == 2)
    check(linnet(*ASK, "--beams", "2", "--answers", "3", "Hi").status == 1)
    check(linnet(*ASK, "--beams", "4", "--beam-groups", "3", "Hi").status == 1)
    check(linnet("run", "--logprobs", "2", "Hi").status == 2)
    rows = json.loads(linnet(*ASK, "--greedy", "--logprobs", "2", "Hi").out)["logprobs"]
    check(all(row["id"] == row["top_logprobs"][0]["id"] for row in rows) and rows, rows)
    drafts = [json.loads(linnet(*ASK, "--greedy", *more, "Hi").out)
              for more in ((), ("--no-speculation",))]
    check(drafts[0]["text"] == drafts[1]["text"] and drafts[1]["drafted_tokens"] == 0, drafts)


@test
def a_budget_ends_a_thought():
    ask = ("run", "--json", "--greedy", "--think", "--max-tokens", "120", "--think-budget")
    free = json.loads(linnet(*ask[:-1], "Hi").out)
    for budget in (0, 3):
        bound = json.loads(linnet(*ask, str(budget), "Hi").out)
        if free["reasoning_tokens"] > budget:
            # The break before the closing tag is put in beside it.
            check(budget <= bound["reasoning_tokens"] <= budget + 2, bound)
            check(free["reasoning"].startswith(bound["reasoning"].rstrip()), (free, bound))
    check(free["reasoning_tokens"] > 3, free)
    rows = [{"prompt": "Hi", "think": True, "think_budget": 3, "temperature": 0, "max_tokens": 120}]
    found = records(linnet("batch", stdin=jsonl(rows)).out)[1]
    check(found["text"] == bound["text"] and found["reasoning"] == bound["reasoning"], found)
    check(linnet(*ask, "3", "--raw", "Hi").status == 1)


@test
def the_limit_of_the_context_is_the_callers_choice():
    ask = ("run", "--json", "--greedy", "--max-context", "300", "--max-tokens", "90")
    stopped = json.loads(linnet(*ask, "Hi").out)
    check(stopped["finish"] in ("stop", "length"), stopped)
    refused = linnet(*ask, "--at-limit", "error", "Hi")
    check(refused.status == 1 and re.search(r"\d+ tokens of the prompt and 90 of the answer",
                                            refused.err), refused)
    check(linnet(*ask[:4], "400", "--max-tokens", "4", "--at-limit", "error", "Hi").status == 0)
    rows = [{"prompt": "Hi", "max_tokens": 9000}, {"prompt": "Hi", "max_tokens": 3}]
    found = records(linnet("batch", "--at-limit", "error", stdin=jsonl(rows)).out)
    check("context" in found[1]["error"]["message"] and "text" in found[2], found)


@test
def a_chat_drops_its_oldest_turns_and_says_so():
    said = "".join(f"{'word ' * 20}{i}\n" for i in range(12))
    ask = ("chat", "--greedy", "--max-context", "400", "--max-tokens", "16")
    full = linnet(*ask, stdin=said)
    check(full.status == 1 and "context" in full.err, full)
    dropping = linnet(*ask, "--at-limit", "drop-oldest", stdin=said)
    check(dropping.status == 0, dropping)
    told = re.findall(r"no longer sees the oldest (\d+) messages", dropping.err)
    check(told and [int(count) for count in told] == sorted({int(count) for count in told}), told)
    alone = linnet(*ask, "--at-limit", "drop-oldest", stdin="word " * 2000)
    check(alone.status == 1 and "context" in alone.err, alone)


@test
def the_prompt_is_given_back_where_asked_for():
    body = {"prompt": "Hello there", "max_tokens": 4, "temperature": 0, "echo": True, "logprobs": 2}
    rows = [{**body, "raw": True},
            {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": body},
            {"prompt": "Hello there", "raw": True, "max_tokens": 4, "temperature": 0}]
    with Files(rows) as files:
        files.run()
        got = records(files.output.read_text())
    plain, own = got[3], got[1]
    check(own["text"] == plain["text"] and own["prompt_text"] == "Hello there", own)
    check("prompt_text" not in plain and len(own["prompt_logprobs"]) >= 1, plain)
    choice = got[2]["response"]["body"]["choices"][0]
    check(choice["text"] == "Hello there" + plain["text"], choice)
    check(len(choice["logprobs"]["content"]) == len(own["prompt_logprobs"]) + len(own["logprobs"]),
          choice)


if __name__ == "__main__":
    cli_test.TESTS[:] = TESTS
    sys.exit(cli_test.main())
