#!/usr/bin/env python3
"""The archive of `cmake --workflow --preset tarball`, packed from this build: the same bytes every
time, what it lists is what it has, and it starts here, on Debian 11 (glibc 2.31) and where there is
musl alone, not even a shell.

The trees of other systems are skipped where none can be made (root, debootstrap, a mirror).
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import bare_debian
import harness

PLACE = "opt/geiger"  # in each tree
RELEASE = "bullseye"


def make_archive(path):
    subprocess.run([harness.ROOT / "tools" / "make_tarball.py", harness.BUILD, path], check=True,
                   capture_output=True)
    return path


def unpack(archive, place):
    place.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive, "-C", place, "--strip-components=1"], check=True)
    return place


class Tarball(harness.ProcessTest):
    @classmethod
    def setUpClass(cls):
        cls.here = pathlib.Path(tempfile.mkdtemp(prefix="tarball-"))
        cls.archive = make_archive(cls.here / "geiger.tar.gz")
        cls.tree = unpack(cls.archive, cls.here / "with a blank" / "geiger")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here, ignore_errors=True)

    def geiger(self, *words, root=None):
        """Inside a tree only what lies there is to be had."""
        if root is None:
            command, environment = [self.tree / "bin" / "geiger", *words], None
        else:
            command = ["unshare", "-m", "-p", "-f", "-R", root, "--mount-proc", "-w", "/",
                       f"/{PLACE}/bin/geiger", *words]
            environment = {"PATH": bare_debian.SYSTEM_PATH}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_records(self, program, root=None):
        trace = "/tmp/tarball.geiger" if root else str(self.here / "tarball.geiger")
        self.geiger("run", "-q", "-f", "--interval", "1", "-o", trace, "--", *program, root=root)
        rows = json.loads(self.geiger("table", "--json", trace, root=root))["rows"]
        self.assertTrue(rows)
        summary = json.loads(self.geiger("summary", "--json", trace, root=root))
        self.assertLess(summary["truncated_samples"], summary["samples"] / 5)
        self.geiger("doctor", trace, root=root)

    def test_same_files_give_the_same_bytes(self):
        again = make_archive(self.here / "again.tar.gz")
        self.assertEqual(hashlib.sha256(again.read_bytes()).digest(),
                         hashlib.sha256(self.archive.read_bytes()).digest())

    def test_has_what_users_read_and_type(self):
        for name in ("share/doc/geiger/guide/tutorial.md", "share/bash-completion/completions/geiger",
                     "share/geiger/python/geiger.py", "lib/geiger/lib64/libgeiger-preload.so",
                     "share/doc/geiger/licences/libc6.txt"):
            self.assertTrue((self.tree / name).exists(), name)

    def test_lists_what_is_inside(self):
        document = json.loads((self.tree / "share/doc/geiger/geiger.spdx.json").read_text())
        ids = {each["SPDXID"] for kind in ("packages", "files") for each in document[kind]}
        for relation in document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], ids)
        listed = {each["fileName"].removeprefix("./"):
                  {sum_["algorithm"]: sum_["checksumValue"] for sum_ in each["checksums"]}
                  for each in document["files"]}
        with tarfile.open(self.archive) as archive:
            inside = {entry.name.split("/", 1)[1]: archive.extractfile(entry).read()
                      for entry in archive if entry.isfile()}
        self.assertEqual(set(inside) - set(listed), {"share/doc/geiger/geiger.spdx.json"})
        for name, sums in listed.items():
            self.assertEqual(hashlib.sha256(inside[name]).hexdigest(), sums["SHA256"], name)
        for each in (document, *document["packages"], *document["files"]):
            self.assertRegex(each["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
        self.assertEqual(len(ids), len(document["packages"]) + len(document["files"]))
        generated = {relation["spdxElementId"] for relation in document["relationships"]
                     if relation["relationshipType"] == "GENERATED_FROM"}
        system = [each for each in document["files"] if "/lib/geiger/system/" in each["fileName"]]
        self.assertTrue(system)
        self.assertLessEqual({each["SPDXID"] for each in system}, generated)

    def test_starts_here(self):
        self.assert_records(["ls", "-R", "/usr/share/doc"])
        self.assertIn("allocation profiler", self.geiger("--help"))

    def test_its_libraries_are_its_own(self):
        maps = self.here / "maps"
        subprocess.run([self.tree / "bin" / "geiger", "run", "-q", "--", "/bin/sh", "-c",
                        f"cat /proc/$PPID/maps > '{maps}'"], check=True, cwd=self.here)
        mapped = {line.split(None, 5)[5] for line in maps.read_text().splitlines() if ".so" in line}
        self.assertTrue(mapped)
        for path in mapped:
            self.assertTrue(path.startswith(str(self.tree)), path)

    def test_starts_with_an_older_glibc(self):
        bare_debian.require()
        def fill(tree):
            bare_debian.run_or_skip("debootstrap", "--variant=minbase", "--include=python3-minimal",
                                    RELEASE, tree, bare_debian.MIRROR)
            tree.chmod(0o755)
        root = bare_debian.kept_tree(RELEASE, fill)
        shutil.rmtree(root / PLACE, ignore_errors=True)
        unpack(self.archive, root / PLACE)
        self.addCleanup(shutil.rmtree, root / PLACE)
        self.assert_records(["ls", "-R", "/usr/share"], root)

    def test_starts_with_musl_alone(self):
        harness.require("musl-gcc")
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root, to change it")
        root = self.here / "musl"
        for folder in ("lib", "proc", "tmp"):
            (root / folder).mkdir(parents=True)
        shutil.copy("/lib/ld-musl-x86_64.so.1", root / "lib")
        subprocess.run(["musl-gcc", "-w", "-g", "-O1", "-fno-builtin", "-Wl,--eh-frame-hdr", "-o",
                        root / "program", harness.ROOT / "tests/static/program.c"], check=True)
        unpack(self.archive, root / PLACE)
        self.assert_records(["/program", "100"], root)


if __name__ == "__main__":
    unittest.main()
