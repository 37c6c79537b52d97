#!/usr/bin/env python3
"""The documents: links and names of files lead somewhere, nothing stands twice, commands exist.

usage: documents.py GEIGER
"""
import collections
import fnmatch
import functools
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
GEIGER = os.path.abspath(sys.argv.pop(1))
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md"),
                *ROOT.glob("research/*.md")])

# Pages of the guide that are not about one task.
REFERENCE = ("commands", "faq", "json-fields", "limits", "reading-the-numbers", "sampling-contract", "security",
             "tutorial")


def prose(page):
    """Lines outside of code, with their numbers."""
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def anchors(page):
    for _, line in prose(page):
        if heading := re.match(r"#+ (.*)", line):
            words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading.group(1)).strip().lower())
            yield words.replace(" ", "-")


def commands(page):
    """(verb, what follows it) of each geiger in code."""
    text = page.read_text()
    code = re.findall(r"(?ms)^ *```[a-z]*\n(.*?)^ *```", text)
    code += re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^ *```.*?^ *```", "", text))
    for part in code:
        yield from re.findall(r"(?m)(?:^|[$;&|] *|\./)geiger ([a-z][a-z-]*)\b([^|;&#\n`]*)", part)


SOURCES = ("python", "src", "heap", "include", "tests", "tools", "cmake", "docs", "bench", "fuzz",
           "research", "examples", "recipes", "web/src", "web/tests", "web/build")
SOURCE_FILE = re.compile(r"[\w*-]+\.(cc|h|inl|py|cmake|sh|map|ts|tsx|scd|sql)")


@functools.lru_cache
def sources():
    """Files and folders of the repository, with and without their endings."""
    found = {"/web", *("/" + folder for folder in SOURCES)}
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            name = "/" + str(path.relative_to(ROOT))
            if "/node_modules" not in name:
                found |= {name, name.removesuffix(path.suffix)}
    return found


def named_files(page):
    """(line, name) in backticks outside of blocks: FOLDER/NAME of a folder of ours, or NAME.cc."""
    folders = {name.rsplit("/", 1)[1] for name in sources()
               if (ROOT / name[1:]).is_dir() and not name.startswith(("/tests/", "/web/build"))}
    for number, line in prose(page):
        for name in re.findall(r"`([\w./*-]+)`", line):
            first, slash, _ = name.partition("/")
            is_path = slash and (first in folders or first == "web")
            # Capitals stand for any name: VERB.cc.
            if (is_path or SOURCE_FILE.fullmatch(name)) and not re.search(r"[A-Z]{3}", name):
                yield number, name.rstrip("/")


def help_of(*words):
    return subprocess.run([GEIGER, *words, "--help"], capture_output=True, text=True,
                          check=True).stdout


def all_verbs():
    verbs = help_of().split("Subcommands:\n")[1].split("\n\n")[0]
    return set(re.findall(r"(?m)^  ([a-z][a-z-]*) ", verbs))


@functools.lru_cache
def options_of(verb):
    """The options of a verb, those of its formats included."""
    text = help_of(verb)
    if "Subcommands:" not in text:
        return set(re.findall(r"--[a-z][a-z-]+", text))
    formats = re.findall(r"(?m)^  ([a-z0-9_]+) ", text.split("Subcommands:")[1])
    return set().union(*(re.findall(r"--[a-z][a-z-]+", help_of(verb, one)) for one in formats))


def said(page, number):
    return f"{page.relative_to(ROOT)}:{number}"


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            for number, line in prose(page):
                for target in re.findall(r"\]\(([^)\s]+)\)", line):
                    path, _, anchor = target.partition("#")
                    if path.startswith("http"):
                        continue
                    there = (page.parent / path).resolve() if path else page
                    self.assertTrue(there.exists(), f"{said(page, number)}: {target}")
                    if anchor and there.suffix == ".md":
                        self.assertIn(anchor, set(anchors(there)), said(page, number))

    def test_named_files_exist(self):
        names = [(page, number, name) for page in PAGES if page.name != "CHANGELOG.md"
                 for number, name in named_files(page)]
        self.assertGreater(len(names), 200)
        for page, number, name in names:
            self.assertTrue(fnmatch.filter(sources(), "*/" + name), f"{said(page, number)}: {name}")

    def test_pages_that_code_names_exist(self):
        named = subprocess.run(["git", "grep", "-nIoE", r"docs/[A-Za-z0-9_/-]+\.md"], cwd=ROOT,
                               capture_output=True, text=True).stdout.splitlines()
        for place, line, page in (one.split(":") for one in named):
            self.assertTrue((ROOT / page).is_file(), f"{place}:{line}: {page}")

    def test_comments_name_what_exists(self):
        headers = "".join(name + "\n" for name in sources() if name.endswith(".h"))
        titles = re.findall(r"(?m)^#+ (.*)$", (ROOT / "docs/internals/estimators.md").read_text())
        foreign = re.compile(r"(Include|cpython|sys)/|pycore_")  # CPython's and the system's.
        for path in [*ROOT.glob("src/**/*.h"), *ROOT.glob("src/**/*.cc")]:
            for comment in re.findall(r"//[^\n]*", path.read_text()):
                for name in re.findall(r"(?<![\w/<.])[\w/]+\.h\b", comment):
                    self.assertTrue(foreign.match(name) or f"/{name}\n" in headers,
                                    f"{path}: {name}")
                for name in re.findall(r'estimators.md, section (?:([\d.]*\d)|"(.+?)")', comment):
                    self.assertTrue(any(re.match(re.escape("".join(name)) + r"(\.? |$)", title)
                                        for title in titles), f"{path}: section {name}")

    def test_architecture_lists_the_rooms(self):
        layers = re.findall(r"(?m)^([a-z/]+) *:", (ROOT / "src/LAYERS").read_text())
        text = (ROOT / "docs/internals/architecture.md").read_text()
        table = text.split("| room |")[1].split("\n\n")[0]
        listed = re.findall(r"(?m)^\| `([a-z/]+)`", table)
        self.assertCountEqual(listed, [room for room in layers if not room.startswith("cli/")])
        for part in layers:
            self.assertIn(f"`{part}`", table)

    def test_what_to_change_is_there(self):
        """Names of code in "Where to change what"; that files exist is test_named_files_exist."""
        page = (ROOT / "docs/internals/architecture.md").read_text()
        rows = re.findall(r"(?m)^\| .*", page.split("## Where to change what")[1].split("\n## ")[0])[2:]
        self.assertGreater(len(rows), 15)
        code = "\n".join(path.read_text() for folder in ("src", "web/src", "cmake")
                         for path in (ROOT / folder).rglob("*")
                         if path.suffix in (".cc", ".h", ".ts", ".cmake"))
        words = set(re.findall(r"\w+", code))
        for row in rows:
            self.assertRegex(row, r"`[\w./*-]+[/.][\w./*-]+`")
            for name in re.findall(r"`(\w+)`", row):
                if not re.search(r"[A-Z]{3}", name):  # Capitals stand for any name.
                    self.assertTrue(name in words, f"{name}: {row}")

    def test_every_page_is_in_the_index(self):
        index = (ROOT / "docs" / "README.md").read_text()
        for page in sorted((ROOT / "docs").glob("*/*.md")):
            self.assertIn(f"({page.relative_to(ROOT / 'docs')})", index)
        self.assertEqual([page.name for page in (ROOT / "docs").glob("*.md")], ["README.md"])

    def test_tasks_begin_with_what_to_type(self):
        for page in sorted((ROOT / "docs/guide").glob("*.md")):
            if page.stem not in REFERENCE:
                self.assertRegex(page.read_text(), r"\A# .*\n\n```(sh|cpp|cmake)\n", page.name)

    def test_nothing_stands_twice(self):
        for page in PAGES:
            if page.name == "json-fields.md":
                continue  # Generated, of documents that have fields in common.
            lines = collections.Counter(line for _, line in prose(page)
                                        if len(line) > 30)
            twice = [line for line, count in lines.items() if count > 1]
            of_numbers = [line for line in twice if re.search(r"\| \.\d", line)]
            self.assertEqual([line for line in twice if line not in of_numbers], [], page.name)

    def test_tables_name_a_thing_once(self):
        for page in PAGES:
            seen, before = set(), ""
            for number, line in prose(page):
                if not line.startswith("|"):
                    seen = set()
                first = line.split("|")[1].strip() if line.startswith("|") else ""
                if re.match(r"(`[a-z_]+`|\*\*.*\*\*)$", first):
                    self.assertNotIn(first, seen, said(page, number))
                    seen.add(first)
                is_heading = re.match(r"#+ ", line)
                self.assertFalse(is_heading and before, f"{said(page, number)}: no blank before")
                before = line

    def test_all_verbs_are_listed(self):
        text = (ROOT / "docs/guide/commands.md").read_text()
        listed = re.findall(r"(?m)^\| `geiger ([a-z][a-z-]*)` \|", text)
        self.assertCountEqual(listed, all_verbs())

    def test_commands_and_options_exist(self):
        known = all_verbs()
        tried = 0
        for page in PAGES:
            for verb, words in commands(page):
                self.assertIn(verb, known, f"{page.name}: geiger {verb}{words}")
                # Behind `run` stand the program's own words.
                own = words.split(" -- ")[0] if verb == "run" else words
                for option in re.findall(r"(?<= )--[a-z][a-z-]+", own):
                    tried += 1
                    self.assertIn(option, options_of(verb), f"{page.name}: geiger {verb}{words}")
        self.assertGreater(tried, 50)


if __name__ == "__main__":
    unittest.main()
