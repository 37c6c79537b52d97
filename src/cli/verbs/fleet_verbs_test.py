"""push and fleet: what a store answers is what the traces answer."""
import json
import os
import unittest

from fleet_store import CHANGES, HOSTS, FleetStore


class FleetVerbs(FleetStore):
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
                                               "--kind", "allocated", "--by", by, "--all", "--top", "0",
                                               "--json"))
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

    @classmethod
    def database(cls, name):
        """A new store; its URL."""
        return name + ".db"

    def test_one_run_as_two_versions_is_not_compared(self):
        url = self.database("twice")
        for version, run in (("1.0", "plain0"), ("1.1", "plain0"), ("1.2", "again0")):
            self.geiger("push", "--service", "shop", "--version", version, "--host", "web-" + version,
                        run + ".geiger", url)
        why = self.refused("fleet", "diff", "1.0", "1.1", "--store", url, code=1)
        self.assertIn("one process sampled with the seed of another one", why)
        self.geiger("fleet", "diff", "1.0", "1.2", "--store", url)

    def test_a_run_is_called_by_the_program_with_most_samples(self):
        self.geiger("run", "-q", "--interval", "4KiB", "-o", "shell.geiger", "--",
                    "sh", "-c", f"'{CHANGES}' plain; true")
        url = self.database("shell")
        self.geiger("push", "shell.geiger", url)
        (only,) = self.json("fleet", "list", "--store", url)["versions"]
        self.assertEqual(only["service"], os.path.basename(CHANGES))

    def test_processes_one_after_another_take_turns(self):
        url = self.database("turns")
        alone = []
        for host in range(HOSTS):
            for name in (f"alone-{host}", "all"):
                self.geiger("push", "--service", "shop", "--version", "leak", "--host", name,
                            f"leak{host}.geiger", url)
            alone.append(self.json("fleet", "top", "--kind", "live", "--host", f"alone-{host}", "--store", url))
        all_ = self.json("fleet", "top", "--kind", "live", "--host", "all", "--store", url)
        hours = [top["fleet"][0]["recorded_hours"] for top in (*alone, all_)]
        self.assertAlmostEqual(hours[-1], sum(hours[:-1]), delta=1e-9)
        mean = sum(top["total"]["bytes"]["value"] * time for top, time in zip(alone, hours)) / hours[-1]
        self.assertAlmostEqual(all_["total"]["bytes"]["value"], mean, delta=1e-6 * mean)

    def test_limits_on_a_total_are_not_divided_by_it(self):
        words = ("fleet", "check", "plain", "reserve", "--per", "total", "--max-growth", "1%")
        self.assertIn("it would always pass", self.refused(*words, code=2, GEIGER_STORE=self.store))
        parts = self.json(*words, "--by", "function", "--ignore-below", "1", code=3)
        self.assertNotIn("total", [gate["name"] for gate in parts["gates"]])

    def test_services_at_a_glance(self):
        url = self.database("services")
        for service, run in (("shop", "plain0"), ("bank", "leak0"), ("bank", "leak1")):
            self.geiger("push", "--service", service, "--version", run, "--host", run, run + ".geiger", url)
        listed = self.json("fleet", "list", "--store", url)["versions"]
        for version in listed:
            top = self.json("fleet", "top", version["version"], "--service", version["service"], "--store", url)
            self.assertAlmostEqual(version["bytes"]["value"], top["total"]["bytes"]["value"], delta=1)
            self.assertEqual(len(version["trend"]), 1)
        services = self.json("fleet", "top", "--by", "service", "--store", url)["services"]
        self.assertEqual({each["service"]: each["hosts"] for each in services}, {"shop": 1, "bank": 2})
        self.assertIn("bank", self.geiger("fleet", "top", "--store", url))
        self.assertIn("choose one with --service: bank, shop",
                      self.refused("fleet", "series", "--store", url, code=1))

    def test_what_was_pushed_by_mistake_is_removed(self):
        url = self.database("mistakes")
        push = ("push", "--service", "shop", "--host", "web-0", "--version")

        def versions():
            return [each["version"] for each in self.json("fleet", "list", "--store", url)["versions"]]

        self.geiger(*push, "1.0", "plain0.geiger", url)
        self.assertIn("already there", self.refused(*push, "1.0", "plain0.geiger", url, code=0))
        self.geiger(*push, "1.1", "plain0.geiger", url)
        doctor = self.json("fleet", "doctor", "--store", url, code=1)
        self.assertEqual([each["version"] for each in doctor["seed_sharers"]], ["1.0", "1.1"])
        self.geiger(*push, "1.2", "again0.geiger", url)
        self.refused("fleet", "remove", "--store", url, code=2)
        shown = self.json("fleet", "remove", "1.1", "--store", url)
        self.assertEqual((shown["is_done"], [part["windows"] for part in shown["parts"]]), (False, [1]))
        self.assertEqual(versions(), ["1.0", "1.1", "1.2"])
        self.assertIn("Removed: 1 window.", self.geiger("fleet", "remove", "1.1", "--yes", "--store", url))
        self.assertEqual(versions(), ["1.0", "1.2"])
        self.geiger("fleet", "doctor", "--store", url)
        self.geiger("fleet", "remove", "--run", "again0.geiger", "--yes", "--store", url)
        self.assertEqual(versions(), ["1.0"])
        self.assertIn("sent to", self.refused(*push, "1.2", "again0.geiger", url, code=0))

    def test_load_is_a_unit(self):
        words = ("fleet", "diff", "plain", "reserve", "--per", "load")
        diff = self.json(*words)
        self.assertEqual([row["name"] for row in diff["rows"]], ["fill_table"])
        self.assertNotIn("load_deviation", diff)
        self.assertIn("per host of average load", self.geiger(*words))

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
        self.copy("broken.db", "DELETE FROM window_counts WHERE window_id = 2",
                  "UPDATE windows SET seed = 5 WHERE window_id < 3")
        doctor = self.json("fleet", "doctor", "--store", "broken.db", code=1)
        self.assertEqual((doctor["incomplete_windows"], doctor["shared_seeds"]), (1, 1))

    def test_other_contents_under_a_key_are_refused(self):
        self.copy("other.db", "UPDATE windows SET content = content + 1")
        why = self.refused("push", "--service", "shop", "--version", "plain", "--host", "web-0",
                           "plain0.geiger", "other.db", code=1)
        self.assertIn("its window is stored with different contents", why)

    def test_bad_requests_are_refused_in_a_line(self):
        store = ("--store", "fleet.db")
        for words, code, reason in (
                (("fleet", "top"), 2, "no store given"),
                (("fleet", "top", "--store", "nowhere.db"), 1, "nowhere.db: no such file"),
                (("fleet", "top", "--store", "plain0.geiger"), 1, "plain0.geiger: "),
                (("fleet", "top", "--store", "ftp://x/y"), 2, "not a store (a path, file://PATH or clickhouse+https://"),
                (("fleet", "top", "9.9", *store), 1, "no version '9.9' of shop in the store; it has "),
                (("fleet", "top", "--service", "inn", *store), 1, "no service 'inn' in the store; it has shop"),
                (("fleet", "top", "--from", "someday", *store), 2, "invalid date 'someday'"),
                (("fleet", "doctor", "--from", "someday", *store), 2, "invalid date 'someday'"),
                (("symbolize", "--debug-dir", "/nowhere", "plain0.geiger"), 2,
                 "--debug-dir /nowhere: no such directory"),
                (("push", "plain0.geiger", "ftp://x/y"), 2, "unknown scheme"),
                (("fleet", "top", "--to", "2001-01-01", *store), 1, "no window of that time"),
                (("fleet", "check", "plain", "--max-growth", "5%", *store), 2, "need two versions"),
                (("fleet",), 2, "fleet: incomplete (choose from init, list, top"),
                (("fleet", "top", "--from", "someday", *store), 2, "Try 'geiger fleet top --help'."),
                (("collect", "--store", "https://x/y"), 2, "https://x/y: not a file"),
                (("push", "plain0.geiger", ""), 1, "the path of the store is empty"),
                (("push", "plain0.geiger", "file://"), 1, "the path of the store is empty"),
                (("push", "plain0.geiger"), 1, "plain0.geiger: "),
                (("push", "--version", "a\tb", "plain0.geiger", "fleet.db"), 1, "control characters")):
            why = self.refused(*words, code=code)
            self.assertIn(reason, why)
            self.assertNotIn("terminate", why)


if __name__ == "__main__":
    unittest.main()
