"""tools/demo and tools/bench with a stand-in for `linnet` and, where one is needed, for the fetch."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from script_loading import ROOT


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        for name in ("demo", "bench"):
            shutil.copy(ROOT / "tools" / name, self.root / "tools" / name)

    def program(self, name, body):
        path = self.root / name
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def run_tool(self, *command, linnet):
        return subprocess.run(command, cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False,
                              env={**os.environ, "LINNET": self.program("linnet", linnet)})

    def test_conversation_without_a_terminal(self):
        self.program("tools/get_smollm2", "echo path")
        result = self.run_tool("tools/demo", linnet='echo "called: $*"; cat')
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        called, *questions = result.stdout.splitlines()
        self.assertTrue(called.startswith("called: chat --model smollm2 "), called)
        self.assertEqual(len(questions), 3)
        self.assertTrue(all(question.endswith("?") for question in questions), questions)

    def test_tiny_model_without_a_network(self):
        self.program("tools/get_smollm2", "echo 'no network' >&2; exit 1")
        result = self.run_tool("tools/demo", linnet='echo "$*"')
        self.assertEqual(result.returncode, 0)
        self.assertIn("--model tiny", result.stdout)
        self.assertIn("tiny model", result.stderr)

    def test_failed_answer_fails_the_demo(self):
        self.program("tools/get_smollm2", "echo path")
        self.assertEqual(self.run_tool("tools/demo", linnet="exit 1").returncode, 1)

    def test_bench_keeps_the_table(self):
        result = self.run_tool("tools/bench", "m", linnet='echo "called: $*"')
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        table = (self.root / "build/bench/m.md").read_text(encoding="utf-8")
        self.assertTrue(result.stdout.startswith(table), result.stdout)
        self.assertRegex(table, "^called: bench model --model m --cache i8 --runs 5 --save .*m.json")

    def test_bench_makes_its_model_once(self):
        body = 'echo "$1" >> calls; [[ $1 = make-random ]] && mkdir "${@: -1}"; ' \
               '[[ $1 = pack ]] && mkdir -p "${@: -1}"; true'
        for _ in range(2):
            self.assertEqual(self.run_tool("tools/bench", linnet=body).returncode, 0)
        calls = (self.root / "calls").read_text(encoding="utf-8").split()
        self.assertEqual(calls, ["make-random", "pack", "bench", "bench"])

    def test_bench_fails_with_the_program(self):
        self.assertEqual(self.run_tool("tools/bench", "m", linnet="exit 3").returncode, 1)


if __name__ == "__main__":
    unittest.main()
