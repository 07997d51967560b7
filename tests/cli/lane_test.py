#!/usr/bin/env python3
"""End-to-end tests of the choice of lane, weights, cache and kernels.

Usage: lane_test.py LINNET [MODEL]

As cli_test.py, whose harness it uses.
"""

import json
import pathlib
import sys

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


@test
def doctor_shows_the_kernels():
    result = linnet("doctor")
    check("kernels" in result.out and "scalar" in result.out, result.out)


if __name__ == "__main__":
    cli_test.TESTS[:] = TESTS
    sys.exit(cli_test.main())
