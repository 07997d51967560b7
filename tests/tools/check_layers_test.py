"""check_layers must find each kind of violation, and must pass a tree without one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from script_loading import ROOT

CMAKE = """
# linnet_room(comment LINKS linnet_cli)
linnet_room(base LINKS Threads::Threads)
linnet_room(tensor LINKS linnet_base)
linnet_room(text LINKS linnet_base)
linnet_room(formats LINKS linnet_tensor linnet_text)
linnet_room(program LINKS linnet_tensor)
linnet_room(model LINKS linnet_program)
"""
TREE = {
    "CMakeLists.txt": CMAKE,
    "src/base/base.h": "#pragma once\n#include <string>\n",
    "src/tensor/tensor.h": '#pragma once\n#include "base/base.h"\n',
    "src/formats/gguf/reader.cpp": '#include "tensor/tensor.h"\n#include "base/base.h"\n',
}


class CheckLayers(unittest.TestCase):
    def run_on(self, changes):
        """The exit status and output for TREE with `changes` ({path: text}) made to it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, **changes}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            result = subprocess.run([sys.executable, str(ROOT / "tools/check_layers"), folder],
                                    capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def assert_refused(self, changes, *words):
        status, output = self.run_on(changes)
        self.assertEqual(status, 1, output)
        errors = [line for line in output.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, output)
        for word in words:
            self.assertIn(word, errors[0])

    def test_clean_tree_passes_and_is_counted(self):
        status, output = self.run_on({})
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?m)^formats +2 +1 +2 +2 +2$")
        self.assertRegex(output, r"(?m)^all +3 +6$")

    def test_upward_include(self):
        self.assert_refused({"src/base/x.cpp": '\n#include "tensor/tensor.h"\n'},
                            "src/base/x.cpp:2", "base (rank 0)", "(rank 1)")

    def test_upward_include_in_angle_brackets(self):
        self.assert_refused({"src/base/x.cpp": "# include <tensor/tensor.h>\n"}, "src/base/x.cpp:1")

    def test_rooms_of_one_rank(self):
        self.assert_refused({"src/text/x.h": '#include "tensor/tensor.h"\n'}, "src/text/x.h:1")

    def test_unknown_room_as_folder(self):
        self.assert_refused({"src/gadgets/x.h": "\n"}, "src/gadgets/x.h", "no rank")

    def test_unknown_room_in_include(self):
        self.assert_refused({"src/base/x.h": '#include "gadgets/x.h"\n'}, "no known room")

    def test_include_that_is_no_path_from_src(self):
        self.assert_refused({"src/base/x.cpp": '#include "base.h"\n'}, "not a path from src/")

    def test_lower_room_that_is_not_linked(self):
        self.assert_refused({"src/program/x.cpp": '#include "text/x.h"\n'},
                            "does not link linnet_text")

    def test_link_list_that_points_upward(self):
        self.assert_refused(
            {"CMakeLists.txt": CMAKE + "linnet_room(engine LINKS linnet_server)\n"},
            "engine (rank 4) links server (rank 6)")

    def test_room_without_target(self):
        self.assert_refused({"src/hub/hub.h": "\n"}, "src/hub", "linnet_room(hub")

    def test_heavy_header_in_a_header(self):
        for header in ("nlohmann/json.hpp", "simdjson.h", "CLI/CLI.hpp", "boost/asio.hpp", "pcre2.h"):
            with self.subTest(header=header):
                self.assert_refused({"src/base/x.h": f"#include <{header}>\n"}, header)

    def test_heavy_header_in_too_many_sources(self):
        sources = {f"src/base/x{i}.cpp": "#include <nlohmann/json.hpp>\n" for i in range(3)}
        self.assertEqual(self.run_on(sources)[0], 0)
        sources["src/base/y.cpp"] = "#include <nlohmann/json.hpp>\n"
        self.assert_refused(sources, "nlohmann", "4 sources")

    def test_sizes(self):
        self.assertEqual(self.run_on({"src/base/x.cpp": "\n" * 800})[0], 0)
        self.assert_refused({"src/base/x.cpp": "\n" * 801}, "801 lines")
        self.assertIn("warning: src/base/x.cpp: 401", self.run_on({"src/base/x.cpp": "\n" * 401})[1])

    def test_empty_names(self):
        for name in ("utils", "common", "misc", "helpers", "manager", "impl"):
            with self.subTest(name=name):
                self.assert_refused({f"src/base/{name}.h": "\n"}, f"src/base/{name}.h")
                self.assert_refused({f"src/base/{name}/x.h": "\n"}, f"src/base/{name}/x.h")

    def test_too_deep(self):
        self.assert_refused({"src/base/a/b/x.h": "\n"}, "at most one level")

    def test_empty_tree_is_no_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "CMakeLists.txt").write_text("", encoding="utf-8")
            result = subprocess.run([sys.executable, str(ROOT / "tools/check_layers"), folder],
                                    capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1, result.stdout)


if __name__ == "__main__":
    unittest.main()
