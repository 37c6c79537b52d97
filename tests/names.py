#!/usr/bin/env python3
"""Names in whole reports at 80 columns: no two functions look the same, and the last component of
none is cut.

usage: names.py GEIGER
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

GEIGER = os.path.abspath(sys.argv.pop(1))
COLUMNS = 80
#: What functions of hosts/names.cc are called by their author.
OWN = ("grow", "insert_or_assign_all", "open_connection", "fill", "first", "second", "third",
       "append_rows", "call_back", "call_lambdas", "descend", "main")


def own_name(function):
    """The last component of a demangled name, by its author; None: of something else."""
    name, before = function.replace("(anonymous namespace)", "{}"), None
    while name != before:
        before, name = name, re.sub(r"<[^<>()]*>|\([^<>()]*\)", "", name)
    path = re.sub(r" const$", "", name).split(" ")[-1].split("::")
    if path[-1] == "operator":
        path.pop()
    if path[-1].startswith("{lambda"):
        return path[-2] + "::{lambda"
    return path[-1] if path[-1] in OWN else None


def take_chain(nodes):
    """Takes the first of a tree's nodes, and below it those that are alone and have all of it."""
    parents = collections.Counter(node["parent"] for node in nodes)
    chain = [nodes.pop(0)]
    while nodes and (nodes[0]["parent"], parents[nodes[0]["parent"]]) == (chain[-1]["id"], 1):
        if nodes[0]["total"]["samples"] != chain[-1]["total"]["samples"]:
            break
        chain.append(nodes.pop(0))
    return chain


def ends(chain, names):
    """The whole name and what is shown of each node of a chain, but for those behind its "…"."""
    front = names.index("…") if "…" in names else len(names)
    back = len(names) - front - 1
    pairs = list(zip(chain[:front], names[:front]))
    pairs += zip(chain[len(chain) - back:], names[front + 1:]) if back > 0 else []
    return [(node["name"], shown) for node, shown in pairs]


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-names-")
        cls.run_path = os.path.join(cls.here, "names.geiger")
        subprocess.run([GEIGER, "run", "-q", "--seed", "1", "--interval", "8KiB", "-o",
                        cls.run_path, "--", harness.host("names")], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def printed(self, *words):
        return subprocess.run([GEIGER, *words, self.run_path], capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS)},
                              check=True).stdout

    def text(self, *words):
        text = self.printed(*words, "-q") if words[0] != "summary" else self.printed(*words)
        return text.splitlines()

    def json(self, *words):
        return json.loads(self.printed(*words, "--json"))

    def assert_told_apart(self, pairs, report):
        """`pairs`: the whole name and what is shown of each row."""
        shown_as = collections.defaultdict(set)
        for function, shown in pairs:
            shown_as[shown].add(function)
            own = own_name(function)
            if own:
                self.assertIn(own, shown, f"{report}: {function}")
        for shown, functions in shown_as.items():
            self.assertEqual(len(functions), 1, f"{report}: {shown} is {sorted(functions)}")
        self.assertGreater(len(pairs), 2, report)

    def assert_fits(self, lines, report):
        for line in lines:
            self.assertLessEqual(len(line), COLUMNS, f"{report}: {line}")

    def column(self, lines, heading):
        """The cells below `heading`, which ends its line or is followed by `where`."""
        top = next(i for i, line in enumerate(lines)
                   if re.search(rf"  {heading}(  +where)?$", line))
        begin = lines[top].index(heading, lines[top].rindex("  " + heading))
        below = lines[top + 1:]
        rows = below[:below.index("")] if "" in below else below
        # A place without room beside its function has a line of its own.
        return [row[begin:] for row in rows if not re.fullmatch(r" +[\w.]+:\d+.*", row)]

    def test_table(self):
        for words in (["--top", "0"], [], ["--sort", "total"], ["--by", "line"]):
            lines = self.text("table", *words)
            self.assert_fits(lines, "table")
            shown = [cell.split("  ")[0] for cell in self.column(lines, "function")]
            functions = [row["name"] for row in self.json("table", *words)["rows"]]
            self.assertEqual(len(shown), len(functions), "\n".join(lines))
            self.assert_told_apart(list(zip(functions, shown)), f"table {words}")

    def test_tree(self):
        for words in ([], ["--inverted"], ["--min-percent", "0"]):
            lines = self.text("tree", *words)
            self.assert_fits(lines, "tree")
            cells = self.column(lines, "call tree")
            nodes = self.json("tree", *words)["nodes"][1:]
            pairs = []
            for cell in cells[1:]:
                names = [re.sub(r" \([^()]*\.(cc|h|tcc)(:\d+)?( \+\d+)?\)$", "", name)
                         for name in re.sub(r"^[ │├└─]*(› |\d+ )?", "", cell).split(" › ")]
                chain = [nodes.pop(0) for _ in names] if "…" not in names else take_chain(nodes)
                pairs += ends(chain, names)
            self.assertEqual(nodes, [], "\n".join(lines))
            self.assert_told_apart(pairs, f"tree {words}")

    def test_lifetimes(self):
        lines = self.text("lifetimes", "--by", "function")
        self.assert_fits(lines, "lifetimes")
        shown = [cell.split("  ")[0] for cell in self.column(lines, "function")]
        functions = [row["name"] for row in self.json("lifetimes", "--by", "function")["groups"]]
        self.assertEqual(len(shown), len(functions), "\n".join(lines))
        self.assert_told_apart(list(zip(functions, shown)), "lifetimes")

    def test_leaks(self):
        """Suspects come first and have a number; which they are depends on the run's pace."""
        for words in (["--all", "--top", "0"], ["--all", "--top", "0", "--by", "function"]):
            lines = self.text("leaks", *words)
            self.assert_fits(lines, "leaks")
            rows = [match[1] for match in map(re.compile(
                r"(?:\d+  |   (?!(?:where|live|growth|oldest|evidence|path|sites) ))([^ ].*)").match, lines)
                if match]
            shown = [re.sub(r" \([\w.]+:\d+\)$", "", row.split("  ")[0]) for row in rows]
            leaks = self.json("leaks", *words)
            # Sites of an owner are one level down.
            sites = sorted((site for site in leaks["sites"] if "owner" not in site),
                           key=lambda site: site["verdict"] != "suspect")
            # Undecided owners are in the sentences below.
            owners = [owner for owner in leaks["owners"] if owner["verdict"] == "suspect"]
            functions = [row["name"] for row in [*owners, *sites]]
            self.assertEqual(len(shown), len(functions), "\n".join(lines))
            self.assertEqual(len(leaks["sites"]),
                             sum(leaks[verdict] for verdict in ("suspects", "undecided", "clear", "not_judged")))
            self.assert_told_apart(list(zip(functions, shown)), f"leaks {words}")

    def test_modules_without_symbols(self):
        """Said once, where a row is called by its address: what precedes main, here."""
        rows = self.json("table", "--top", "0")["rows"]
        modules = {row["name"].partition("+0x")[0] for row in rows
                   if re.fullmatch(r"[^ (]+\+0x[0-9a-f]+", row["name"])}
        for words in (["table", "--top", "0"], ["tree", "--min-percent", "0"],
                      ["leaks", "--all", "--top", "0"], ["lifetimes", "--top", "0"],
                      ["diff", "--all", "--top", "0", self.run_path]):
            text = " ".join(self.text(*words))
            for module in modules:
                self.assertEqual(text.count(f"{module} has no symbols"), 1, words)
            self.assertEqual("no symbols" in text, bool(modules), words)
        self.assertNotIn("no symbols", " ".join(self.text("table", "--by", "module")))

    def test_summary(self):
        lines = self.text("summary")
        report = self.json("summary")
        for title, field in (("Most allocated, by function", "top_allocated"),
                             ("Most live at the peak, by function", "top_live_at_peak")):
            rows = lines[lines.index(title) + 1:]
            rows = rows[:rows.index("")]
            self.assert_fits(rows, "summary")
            functions = [row["name"] for row in report[field] if row["self"]["samples"] > 0]
            self.assertEqual(len(rows), len(functions))
            shown = [next(cell for cell in row.strip().split("  ") if re.match(r" *[^ \d<]", cell))
                     for row in rows]
            self.assert_told_apart(list(zip(functions, map(str.strip, shown))), "summary")


class Modules(unittest.TestCase):
    def test_opened_by_a_relative_path(self):
        """Without a build id: the path alone says where the file is, from another directory too."""
        with tempfile.TemporaryDirectory() as directory:
            def compiled(name, text, *flags):
                path = os.path.join(directory, name)
                with open(path + ".c", "w", encoding="utf-8") as source:
                    source.write(text)
                subprocess.run(["gcc", "-O0", "-g", path + ".c", "-o", name, "-Wl,--build-id=none",
                                *flags], check=True, cwd=directory)
                return path
            compiled("plugin.so", "#include <stdlib.h>\nvoid* from_plugin() { return malloc(9000); }\n",
                     "-shared", "-fPIC")
            program = compiled("program", "void* from_plugin();\n"
                               "int main() { return from_plugin() == 0; }\n", "./plugin.so")
            trace = os.path.join(directory, "trace")
            subprocess.run([GEIGER, "run", "-q", "--interval", "4KiB", "-o", trace, "--", program],
                           check=True, cwd=directory)
            document = subprocess.run([GEIGER, "table", "--by", "module", "--json", trace],
                                      check=True, capture_output=True, text=True).stdout
            self.assertIn(f'"detail":"{os.path.realpath(directory)}/plugin.so"', document)
            text = subprocess.run([GEIGER, "table", trace], check=True, capture_output=True,
                                  text=True).stdout
            self.assertIn("from_plugin", text)


if __name__ == "__main__":
    unittest.main()
