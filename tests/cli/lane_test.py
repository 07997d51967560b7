#!/usr/bin/env python3
"""End-to-end tests of the choice of lane, weights, cache and kernels.

Usage: lane_test.py LINNET [MODEL]

As cli_test.py, whose harness it uses.
"""

import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cli_test  # pylint: disable=wrong-import-position
from cli_test import check, linnet  # pylint: disable=wrong-import-position

TESTS = []
ASK = ("run", "--json", "--max-tokens", "24", "--no-think")


def test(function):
    TESTS.append(function)
    return function


def answer(*options, env=None):
    result = linnet(*ASK, *options, "Hello", env=env)
    check(result.status == 0, result.err)
    record = json.loads(result.out)
    return record["text"], record["completion_tokens"]


@test
def lanes_agree():
    expected = answer("--lane", "reference", "--greedy")
    check(expected[1] > 3, expected)
    for options in (("--lane", "native"), ("--lane", "auto"), ("--weights", "f32"),
                    ("--threads", "3")):
        check(answer(*options, "--greedy") == expected, options)
    sampled = ("--seed", "5", "--temperature", "1.5")
    check(answer("--lane", "native", *sampled) == answer("--lane", "reference", *sampled), sampled)


@test
def integer_formats_do_not_depend_on_the_machine():
    for options in (("--weights", "i8"), ("--weights", "n4"), ("--weights", "i8", "--cache", "i8")):
        expected = answer(*options, "--greedy", env={"LINNET_KERNELS": "scalar"})
        check(answer(*options, "--greedy") == expected, options)
        check(answer(*options, "--greedy", "--threads", "3") == expected, options)


@test
def wrong_names_are_refused():
    result = linnet("run", "Hello", env={"LINNET_KERNELS": "sse9"})
    check(result.status == 1 and "sse9" in result.err and "scalar" in result.err,
          result.err)
    for option in ("--lane", "--weights", "--cache"):
        result = linnet("run", option, "other", "Hello")
        check(result.status == 2 and option in result.err and '"other"' in result.err,
              result.err)


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@test
def telemetry_is_appended_as_json_lines():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "events"
        result = linnet(*ASK, "--telemetry", str(path), "--greedy", "Hello")
        check(result.status == 0 and not result.err, result)
        count = json.loads(result.out)["completion_tokens"]
        first = events(path)
        names = [event["event"] for event in first]
        check(set(first[0]) == {"event", "time", "measurements", "metadata"}, first[0])
        check(names.count("eval.start") == names.count("eval.stop") >= count, names)
        check(names.count("to_binary.stop") == names.count("eval.stop"), names)
        check(names[-1] == "memory.stats" and "memory.stats" in names[:-1], names)
        check(set(first[-1]["measurements"]) == {"active", "peak", "cache"}, first[-1])
        check(not any("fallback" in name for name in names), names)
        again = linnet(*ASK, "Hello", env={"LINNET_TELEMETRY": str(path)})
        check(again.status == 0 and events(path)[:len(first)] == first, again)
        check(len(events(path)) > len(first))


@test
def telemetry_outlives_errors_and_a_full_disk():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "events"
        result = linnet("run", "--raw", "--telemetry", str(path), "word " * 9000)
        check(result.status == 1 and "context" in result.err, result)
        check(events(path)[-1]["event"] == "memory.stats")
        result = linnet(*ASK, "--telemetry", str(path / "x"), "Hello")
        check(result.status == 1 and str(path) in result.err, result)
    result = linnet(*ASK, "--telemetry", "/dev/full", "Hello")
    check(result.status == 0 and json.loads(result.out)["text"] is not None, result)
    check(result.err.count("telemetry") == 1 and "/dev/full" in result.err, result.err)


@test
def fallbacks_are_chosen():
    check(answer("--native-fallback", "raise", "--greedy") == answer("--greedy"))
    result = linnet("run", "--native-fallback", "never", "Hello")
    check(result.status == 2 and "reference or raise" in result.err, result.err)


@test
def memory_is_told_and_limited():
    result = linnet(*ASK, "--greedy", "Hello")
    memory = json.loads(result.out)["memory"]
    check(set(memory) == {"weights", "cache", "scratch"}, memory)
    check(memory["scratch"]["cached_bytes"] > 0 == memory["scratch"]["active_bytes"], memory)
    check(0 < memory["weights"]["active_bytes"] <= memory["weights"]["peak_bytes"], memory)

    weights = memory["weights"]["peak_bytes"]
    result = linnet(*ASK, "--memory-limit", str(weights), "Hello")
    check(result.status == 1 and "does not fit the memory limit" in result.err, result)
    check("of weights (bf16)" in result.err and "--weights n4" in result.err, result.err)
    advice = re.search(r"fits with((?: --[a-z-]+ \w+)+)", result.err)
    check(advice, result.err)
    result = linnet(*ASK, "--memory-limit", str(weights), *advice.group(1).split(), "Hello")
    check(result.status == 0, result)
    roomy = str(weights + (64 << 20))
    check(answer("--greedy", "--memory-limit", roomy, "--max-context", "200") ==
          answer("--greedy"))
    result = linnet(*ASK, "--memory-limit", "1KB", "Hello")
    check(result.status == 1 and "No other format" in result.err, result)
    result = linnet("run", "--memory-limit", "much", "Hello")
    check(result.status == 2 and "--memory-limit" in result.err, result)


@test
def the_context_can_be_made_shorter():
    result = linnet("run", "--raw", "--max-context", "4", "one two three four five six seven")
    check(result.status == 1 and "context 4" in result.err, result)
    result = linnet("run", "--max-context", "99999999", "Hello")
    check(result.status == 1 and "99999999" in result.err, result)


@test
def doctor_shows_the_kernels():
    result = linnet("doctor")
    check("kernels" in result.out and "scalar" in result.out, result.out)


if __name__ == "__main__":
    cli_test.TESTS[:] = TESTS
    sys.exit(cli_test.main())
