"""tools/setup against stand-ins for dpkg-query, apt-get and sudo: nothing is installed."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from script_loading import ROOT

NOBODY = 65534
PACKAGES = "# comment\nalpha\nbeta  # why\n\ngamma\n"


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.root.chmod(0o777)
        (self.root / "tools").mkdir()
        (self.root / "bin").mkdir()
        shutil.copy(ROOT / "tools/setup", self.root / "tools/setup")
        (self.root / "packages.txt").write_text(PACKAGES, encoding="utf-8")
        self.log = self.root / "log"
        self.program("apt-get", f'echo "$@" >>{self.log}')

    def program(self, name, body):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def installed(self, *names):
        lines = "".join(f"installed {name}\\n" for name in names)
        self.program("dpkg-query", f"printf '{lines}config-files gamma\\n'; exit 1")

    def run_setup(self, *names, as_root=True):
        user = {} if as_root or os.geteuid() != 0 else {"user": NOBODY}
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        result = subprocess.run(["bash", str(self.root / "tools/setup"), *names], env={"PATH": path},
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                **user)
        calls = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return result.returncode, result.stdout + result.stderr, calls

    def test_all_there(self):
        self.installed("alpha", "beta", "gamma")
        self.assertEqual(self.run_setup(), (0, "", ""))

    def test_missing_are_installed_with_sudo_or_as_root(self):
        self.program("sudo", 'shift; exec "$@"')
        self.installed("alpha")
        status, _, calls = self.run_setup()
        self.assertEqual(status, 0)
        self.assertIn("update", calls)
        self.assertTrue(calls.rstrip().endswith("install --yes --no-install-recommends beta gamma"))

    def test_named_packages_stand_for_those_of_the_file(self):
        self.program("sudo", 'shift; exec "$@"')
        self.installed("delta")
        status, _, calls = self.run_setup("delta", "epsilon")
        self.assertEqual(status, 0)
        self.assertTrue(calls.rstrip().endswith("--no-install-recommends epsilon"), calls)

    def test_failed_installation_is_an_error(self):
        self.program("sudo", 'shift; exec "$@"')
        self.program("apt-get", "exit 100")
        self.installed("alpha")
        status, output, _ = self.run_setup()
        self.assertEqual(status, 1)
        self.assertIn("could not install: beta gamma", output)

    def test_without_rights_the_command_is_printed(self):
        self.program("sudo", "exit 1")
        self.installed("alpha")
        status, output, calls = self.run_setup(as_root=False)
        self.assertEqual((status, calls), (1, ""))
        self.assertIn("sudo apt-get install --no-install-recommends beta gamma", output)


if __name__ == "__main__":
    unittest.main()
