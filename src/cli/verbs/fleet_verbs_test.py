"""push and fleet: what a store answers is what the traces answer.

Four hosts run each version of the host `changes`; everything is sent twice. Seeds are fixed, so the
samples are the same every time.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GEIGER = os.path.abspath(sys.argv.pop(1))
CHANGES = os.path.abspath(sys.argv.pop(1))
HOSTS = 4
# Sums are formed in another order than from the traces.
CLOSE = 1e-9


def geiger(*words, cwd, **environment):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run([GEIGER, *words], cwd=cwd, env=env, capture_output=True, timeout=300)


class FleetVerbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here = tempfile.mkdtemp(prefix="geiger-fleet-")
        for number, version in enumerate(("plain", "reserve", "again", "leak")):
            program = "plain" if version == "again" else version
            for host in range(HOSTS):
                run = f"{version}{host}.geiger"
                done = geiger("run", "-q", "--interval", "4KiB", "--seed", str(100 * number + host + 1),
                              "-o", run, "--", CHANGES, program, cwd=cls.here)
                assert done.returncode == 0, done
                for _ in range(2):
                    done = geiger("push", "--service", "shop", "--version", version, "--host",
                                  f"web-{host}", "--label", f"zone={host % 2}", run, "fleet.db",
                                  cwd=cls.here)
                    assert done.returncode == 0 and done.stdout == b"", done

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here)

    def geiger(self, *words, code=0):
        done = geiger(*words, cwd=self.here, GEIGER_STORE="fleet.db")
        self.assertEqual(done.returncode, code, done)
        return done.stdout.decode()

    def refused(self, *words, code, **environment):
        done = geiger(*words, cwd=self.here, **environment)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done)
        return done.stderr.decode()

    def json(self, *words, code=0):
        return json.loads(self.geiger(*words, "--json", code=code))

    def runs(self, version):
        return [f"{version}{host}.geiger" for host in range(HOSTS)]

    def assert_alike(self, one, other, path=""):
        """Numbers to CLOSE, all else exactly."""
        if isinstance(one, float) or isinstance(other, float):
            self.assertAlmostEqual(one, other, delta=CLOSE * max(1, abs(one)), msg=path)
        elif isinstance(one, dict):
            self.assertEqual(one.keys(), other.keys(), path)
            for key in one:
                self.assert_alike(one[key], other[key], f"{path}.{key}")
        elif isinstance(one, list):
            self.assertEqual(len(one), len(other), path)
            for number, (a, b) in enumerate(zip(one, other)):
                self.assert_alike(a, b, f"{path}[{number}]")
        else:
            self.assertEqual(one, other, path)

    def test_top_is_the_table_of_the_traces(self):
        for by in ("function", "line", "stack", "module", "size"):
            fleet = self.json("fleet", "top", "plain", "--by", by, "--top", "0")
            local = json.loads(self.geiger("table", *self.runs("plain"), "--by", by, "--top", "0",
                                           "--json"))
            self.assert_alike(fleet["total"], local["total"])
            self.assert_alike(fleet["rows"], local["rows"])
            self.assertGreater(len(fleet["rows"]), 2)

    def test_diff_is_the_diff_of_the_traces(self):
        for after, changes in (("reserve", True), ("again", False)):
            for by in ("function", "stack"):
                fleet = self.json("fleet", "diff", "plain", after, "--by", by, "--all", "--top", "0")
                local = json.loads(self.geiger("diff", *self.runs("plain"), "--", *self.runs(after),
                                               "--by", by, "--all", "--top", "0", "--json"))
                self.assert_alike(fleet["rows"], local["rows"])
                self.assert_alike(fleet["total"], local["total"])
                self.assert_alike(fleet["exact"], local["exact"])
                self.assertEqual(fleet["changes"] > 0, changes, fleet["rows"])
                self.assertEqual(fleet["before"]["run_count"], HOSTS)

    def test_what_changed_is_named_and_nothing_else(self):
        for words, name in ((("plain", "reserve"), "fill_table"),
                            (("plain", "leak", "--kind", "live"), "remember")):
            changed = [row["name"] for row in self.json("fleet", "diff", *words)["rows"]]
            self.assertEqual(changed, [name], words)
            self.assertIn(name, self.geiger("fleet", "diff", *words))
            self.assertEqual(self.json("fleet", "diff", "plain", "again", *words[2:])["changes"], 0)

    def test_live_of_finished_runs_is_what_they_left(self):
        fleet = self.json("fleet", "top", "leak", "--kind", "live", "--host", "web-0", "--top", "0")
        local = json.loads(self.geiger("table", "leak0.geiger", "--kind", "live", "--top", "0", "--json"))
        self.assert_alike(fleet["total"], local["total"])

    def test_parts_are_chosen(self):
        for part, hosts in (("--host=web-1", 1), ("--label=zone=0", 2), ("--from=1h", HOSTS)):
            side = self.json("fleet", "diff", "plain", "reserve", part)["before"]
            self.assertEqual(side["run_count"], hosts, part)
        by_host = self.json("fleet", "top", "plain", "--by", "host")
        self.assertEqual(sorted(row["name"] for row in by_host["rows"]),
                         [f"web-{host}" for host in range(HOSTS)])

    def test_gates_answer(self):
        self.geiger("fleet", "check", "plain", "again", "--max-growth", "20%")
        self.geiger("fleet", "check", "plain", "leak", "--kind", "live", "--max-growth", "1%", code=3)
        self.geiger("fleet", "check", "leak", "--max-bytes", "1TiB")
        self.geiger("fleet", "check", "leak", "--max-bytes", "1KiB", code=3)
        self.assertEqual(self.json("fleet", "check", "leak", "--max-bytes", "1TiB")["answer"], "pass")

    def test_the_store_is_listed_and_healthy(self):
        versions = self.json("fleet", "list")["versions"]
        self.assertEqual({(v["service"], v["version"], v["hosts"]) for v in versions},
                         {("shop", name, HOSTS) for name in ("plain", "reserve", "again", "leak")})
        self.assertIn("shop", self.geiger("fleet", "list"))
        self.assertEqual(self.geiger("fleet", "doctor").splitlines()[0], "The store is healthy.")

    def test_what_is_missing_is_found(self):
        broken = os.path.join(self.here, "broken.db")
        shutil.copy(os.path.join(self.here, "fleet.db"), broken)
        with sqlite3.connect(broken) as database:
            database.execute("DELETE FROM window_counts WHERE window_id = 2")
            database.execute("UPDATE windows SET seed = 5 WHERE window_id < 3")
        doctor = self.json("fleet", "doctor", "--store", "broken.db", code=1)
        self.assertEqual((doctor["incomplete_windows"], doctor["shared_seeds"]), (1, 1))

    def test_other_contents_under_a_key_are_refused(self):
        with sqlite3.connect(os.path.join(self.here, "other.db")) as database:
            sqlite3.connect(os.path.join(self.here, "fleet.db")).backup(database)
            database.execute("UPDATE windows SET content = content + 1")
        why = self.refused("push", "--service", "shop", "--version", "plain", "--host", "web-0",
                           "plain0.geiger", "other.db", code=1)
        self.assertIn("its window is there with other contents", why)

    def test_bad_requests_are_refused_in_a_line(self):
        store = ("--store", "fleet.db")
        for words, code, reason in (
                (("fleet", "top"), 2, "no store given"),
                (("fleet", "top", "--store", "nowhere.db"), 1, "nowhere.db: no such file"),
                (("fleet", "top", "--store", "plain0.geiger"), 1, "plain0.geiger: "),
                (("fleet", "top", "--store", "ftp://x/y"), 2, "only files are stores"),
                (("fleet", "top", "9.9", *store), 1, "no version '9.9' of shop in the store; it has "),
                (("fleet", "top", "--service", "inn", *store), 1, "no service 'inn' in the store; it has shop"),
                (("fleet", "top", "--from", "someday", *store), 2, "'someday' is no date"),
                (("fleet", "top", "--to", "2001-01-01", *store), 1, "no window of that time"),
                (("fleet", "check", "plain", "--max-growth", "5%", *store), 2, "need two versions"),
                (("push", "plain0.geiger"), 1, "plain0.geiger: "),
                (("push", "--version", "a\tb", "plain0.geiger", "fleet.db"), 1, "control characters")):
            why = self.refused(*words, code=code)
            self.assertIn(reason, why)
            self.assertNotIn("terminate", why)


if __name__ == "__main__":
    unittest.main()
