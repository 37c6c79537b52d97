#!/usr/bin/env python3
"""Types of plain `new Foo`: built with debug information by each compiler here, at -O0 and -O2,
recorded byte by byte, each site of hosts/new_types.cc has the type that its source says or none.
"""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "hosts" / "new_types.cc"
MARK = " (inferred)"
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

# What each site may be, besides unknown.
TRUTH = {
    "plain": {"Plain"}, "plain_zero": {"Plain"}, "inlined": {"Inlined"}, "called": {"Called"},
    "base": {"Base"}, "derived": {"Derived"}, "larger": {"Larger"}, "both": {"Both"},
    "wrap": {"Wrap"}, "wrap_empty": {"Wrap"}, "wrap_value": {"Wrap"}, "wraps": {"Wrap"},
    "named": {"Named"}, "string": {STRING}, "vector": {"std::vector<int, std::allocator<int> >"},
    "from_argument": {"FromArgument"}, "plain_argument": {"PlainFromArgument"},
    "cells": {"Cell"}, "row": {"Row"}, "rows": {"Row"}, "two_rows": {"Row"},
    "lone_cell": {"LoneCell"}, "lone_cells": {"LoneCells"}, "lone_text": {"LoneText"},
    "lone_texts": {"LoneTexts"}, "inherits": {"Inherits"},
    "template": {"Pair<double>"}, "aligned": {"Aligned"},
    "destructed": {"WithDestructor"}, "node": {"Node"}, "twin_a": {"TwinA"},
    "twin_b": {"TwinB"}, "ints": {"int"}, "one_int": {"int"}, "choice": {"Called"},
    "nothrow": {"Called"}, "either": {"TwinA", "TwinB"}, "raw": {"Called"}, "pool": set(),
    "container": {"Plain"}, "unique": {"Plain"}, "outer": {"Inlined"},
    "outer_inlined": {"HolderInlined", "Called"}, "told": {"Booking"},
}
# The characters of long strings, and the text that iostreams need, are not of `new`.
PARTS = {"char"}
# With a constructor that runs on the memory: known at every level.
KNOWN = {"inlined", "called", "base", "derived", "larger", "both", "named", "from_argument",
         "inherits", "template", "node", "twin_a", "twin_b", "choice", "outer", "outer_inlined"}
KNOWN_OF = {"g++": KNOWN | {"nothrow"}, "clang++": KNOWN | {"cells", "rows", "destructed"}}
# Named by the program, or the function that allocates: not inferred.
NAMED = {"told": "shop::Booking", "container": "shop::Plain", "unique": "shop::Plain"}


def without_scope(name):
    return name.removeprefix("shop::")


class NewTypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="geiger-new-types-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)

    def record(self, compiler, level, *flags, shared=False):
        program = self.directory / f"new_types.{compiler}{level}{''.join(flags)}{shared}"
        trace = program.with_name(program.name + ".geiger")
        if trace.exists():
            return trace
        compile_it = [compiler, "-std=c++20", f"-I{ROOT / 'src'}", *(flags or ["-g"]), level]
        if shared:
            library = program.with_name(program.name + ".so")
            caller = program.with_name(program.name + ".cc")
            caller.write_text("int sites(int, char**);\n"
                              "int main(int c, char** v) { return sites(c, v); }\n")
            subprocess.run([*compile_it, "-fPIC", "-shared", "-Dmain=sites", SOURCE, "-o",
                            library], check=True)
            subprocess.run([*compile_it, caller, library, "-o", program], check=True)
        else:
            subprocess.run([*compile_it, SOURCE, "-o", program], check=True)
        subprocess.run([GEIGER, "run", "--interval", "1", "-o", trace, "--", program], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return trace

    def types(self, trace, *words):
        done = subprocess.run([GEIGER, "table", trace, "--by", "type", "--json", "--top", "0",
                               *words], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        return {row["name"]: row["self"]["bytes"]["value"]
                for row in json.loads(done.stdout)["rows"]}

    def check(self, compiler, level, shared=False):
        trace = self.record(compiler, level, shared=shared)
        unknown = typed = 0
        for site, truth in TRUTH.items():
            with self.subTest(compiler=compiler, level=level, shared=shared, site=site):
                types = self.types(trace, "--function", f"site_{site}(*")
                names = set(types) - PARTS
                unknown += types.get("[unknown]", 0)
                typed += sum(types[name] for name in names if name != "[unknown]")
                known = {without_scope(name.removesuffix(MARK)) for name in names}
                self.assertLessEqual(known - {"[unknown]"}, truth)
                if site in KNOWN_OF[compiler]:
                    self.assertNotEqual(known, {"[unknown]"})
                if site in NAMED:
                    self.assertEqual(names, {NAMED[site]})
                elif known != {"[unknown]"}:
                    self.assertTrue(all(MARK in name for name in names - {"[unknown]"}), names)
        share = typed / (typed + unknown)
        print(f"{compiler} {level}{' shared' * shared}: {share:.1%} of bytes have a type")
        self.assertGreater(share, 0.4)

    def test_no_type_is_wrong(self):
        for compiler in ("g++", "clang++"):
            if shutil.which(compiler) is None:
                continue
            for level in ("-O0", "-O2", "-O3"):
                self.check(compiler, level)
            self.check(compiler, "-O0", shared=True)
            self.check(compiler, "-O2", shared=True)

    def test_only_reports_about_types_infer(self):
        trace = self.record("g++", "-O2")
        every = [GEIGER, "table", trace, "--json", "--top", "0"]
        named = json.loads(subprocess.run([*every, "--by", "function"], check=True,
                                          stdout=subprocess.PIPE).stdout)
        self.assertNotIn(MARK, json.dumps(named))
        chosen = self.types(trace, "--type", "shop::TwinA" + MARK)
        self.assertEqual([name for name, bytes_ in chosen.items() if bytes_ > 0],
                         ["shop::TwinA" + MARK])
        self.assertLessEqual(set(chosen), {"shop::TwinA" + MARK, "[unknown]"})

    def test_without_debug_information_nothing_is_inferred(self):
        types = self.types(self.record("g++", "-O2", "-s"))
        self.assertFalse([name for name in types if MARK in name])


if __name__ == "__main__":
    unittest.main()
