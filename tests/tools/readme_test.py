"""What README.md names must exist: make targets, folders, files."""

import re
import subprocess
import unittest

from script_loading import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_is_short(self):
        self.assertLess(len(README.splitlines()), 120)

    def test_make_targets_exist(self):
        targets = set(re.findall(r"(?:^ {4}|`|sudo )make ([a-z]+)", README, re.MULTILINE))
        self.assertLessEqual({"demo", "test", "check"}, targets)
        known = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout
        for target in targets:
            self.assertRegex(known, rf"(?m)^  make {target} ")

    def test_named_files_exist(self):
        paths = re.findall(r"`((?:src|tests|tools|docs|models)/[\w/.-]*|LICENSE|packages\.txt)`", README)
        self.assertGreater(len(paths), 10)
        for path in paths:
            self.assertTrue((ROOT / path).exists(), path)

    def test_every_room_is_on_the_map(self):
        for room in (ROOT / "src").iterdir():
            self.assertIn(f"`src/{room.name}/`", README)


if __name__ == "__main__":
    unittest.main()
