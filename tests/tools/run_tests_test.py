"""run_tests must fail whenever a part of the tests failed, crashed, or did not run at all."""

import contextlib
import io
import pathlib
import tempfile
import unittest

from script_loading import load

CASE = '<testcase name="{}" status="{}"><system-out>{}</system-out></testcase>'
DOCTEST = "[doctest] test cases:  {} |  {} passed | {} failed | {} skipped"


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "checkout"
        self.build = self.root / "build" / "release"
        (self.build / "tests").mkdir(parents=True)
        self.tool = load("run_tests")
        self.tool.ROOT = self.root
        self.tool.SANITIZER_OPTIONS = {}
        self.run_really = self.tool.run
        self.tool.run = self.run_command
        self.tool.NATIVE_GOLDEN = []
        for path in self.tool.GOLDEN:
            (self.root / path).mkdir(parents=True)
        self.ctest_status = 0
        self.cases = [CASE.format("base", "run", DOCTEST.format(5, 4, 0, 1))]
        self.golden("echo FOLDERS $@; echo 7 passed, 0 failed, 2 skipped")

    def run_command(self, command):
        if "ctest" not in command:
            return self.run_really(command)
        report = pathlib.Path(command[command.index("--output-junit") + 1])
        if self.cases is not None:
            report.write_text(f"<testsuite>{''.join(self.cases)}</testsuite>", encoding="utf-8")
        return self.ctest_status, []

    def golden(self, body):
        path = self.build / "tests" / "golden"
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def main(self):
        """The exit status and the last line."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = self.tool.main(["release"])
        line = out.getvalue().splitlines()[-1]
        self.assertEqual((self.build / "test_counts").read_text(encoding="utf-8"), line + "\n")
        return status, line

    def test_all_pass(self):
        # 4 of doctest and 7 golden ones; the shared data, which is absent, counts as two skips.
        self.assertEqual(self.main(), (0, "11 passed, 0 failed, 5 skipped"))

    def test_shared_data_runs_where_present(self):
        for path in self.tool.SHARED_GOLDEN:
            (self.root.parent / "shared" / path).mkdir(parents=True)
        self.assertEqual(self.main(), (0, "25 passed, 0 failed, 7 skipped"))

    def test_the_native_lane_runs_its_own_folders(self):
        self.tool.NATIVE_GOLDEN = self.tool.GOLDEN[:1]
        self.golden('case "$1" in --lane) echo "5 passed, 0 failed, 1 skipped" ;; '
                    '*) echo "7 passed, 0 failed, 2 skipped" ;; esac')
        self.assertEqual(self.main(), (0, "16 passed, 0 failed, 6 skipped"))

    def test_failed_case(self):
        self.cases.append(CASE.format("text", "fail", DOCTEST.format(3, 1, 2, 0)))
        self.assertEqual(self.main(), (1, "12 passed, 2 failed, 5 skipped"))

    def test_program_that_crashed(self):
        self.cases.append(CASE.format("text", "fail", "Segmentation fault"))
        self.assertEqual(self.main(), (1, "11 passed, 1 failed, 5 skipped"))

    def test_program_that_crashed_after_its_cases(self):
        self.cases.append(CASE.format("text", "fail", DOCTEST.format(3, 3, 0, 0) + " leak"))
        self.assertEqual(self.main(), (1, "14 passed, 1 failed, 5 skipped"))

    def test_program_with_a_plain_counting_line(self):
        self.cases.append(CASE.format("cli", "run", "\n9 passed, 0 failed\n"))
        self.assertEqual(self.main(), (0, "20 passed, 0 failed, 5 skipped"))

    def test_ctest_that_failed_or_reported_nothing(self):
        self.ctest_status = 8
        self.assertEqual(self.main(), (1, "11 passed, 1 failed, 5 skipped"))
        self.cases = None
        self.assertEqual(self.main(), (1, "7 passed, 1 failed, 4 skipped"))

    def test_golden_failure_crash_and_silence(self):
        for body, line in (("echo 6 passed, 1 failed, 0 skipped; exit 1", "10 passed, 1 failed"),
                           ("echo 6 passed, 0 failed, 0 skipped; kill -9 $$", "10 passed, 1 failed"),
                           ("true", "4 passed, 1 failed")):
            self.golden(body)
            status, last = self.main()
            self.assertEqual(status, 1)
            self.assertTrue(last.startswith(line), last)

    def test_missing_golden_data_or_runner(self):
        (self.root / self.tool.GOLDEN[1]).rmdir()
        self.assertEqual(self.main(), (1, "11 passed, 1 failed, 5 skipped"))
        (self.build / "tests" / "golden").unlink()
        self.assertEqual(self.main(), (1, "4 passed, 3 failed, 3 skipped"))


if __name__ == "__main__":
    unittest.main()
