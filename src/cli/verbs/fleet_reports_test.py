"""fleet series, cost, report and symbolize, hosts that were not recorded, strata, long questions."""
import contextlib
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import unittest

from fleet_store import CHANGES, CLOSE, GEIGER, HOSTS, FleetStore, geiger

# Host web-N in the Nth hour of a day.
DAY = 1767225600
IN_TURN = (f"UPDATE windows SET started = {DAY} + 3600 * CAST(substr(host, 5) AS INTEGER) + started - "
           "(SELECT MIN(started) FROM windows)")
GIB = 1 << 30


def not_recorded(hosts):
    """The hosts ran, and that is all that is known."""
    where = f"host IN ({', '.join(repr(host) for host in hosts)})"
    return (f"DELETE FROM window_counts WHERE window_id IN (SELECT window_id FROM windows WHERE {where})",
            "UPDATE windows SET recorded_ms = 0, exact_bytes = NULL, unsettled_bytes = 0, row_count = 0, "
            f"samples = 0 WHERE {where}")


class FleetReports(FleetStore):
    def assert_close(self, one, other):
        self.assertAlmostEqual(one, other, delta=CLOSE * max(1, abs(one)))

    def bytes_of(self, *words):
        return self.json("fleet", "top", *words, "--top", "0")["total"]["bytes"]

    # ---------------------------------------------------------------- series ---

    def test_each_step_of_a_series_is_the_total_of_its_time(self):
        store = ("--store", self.copy("hours.db", IN_TURN))
        series = self.json("fleet", "series", "leak", *store)
        self.assertEqual([point["from"][11:16] for point in series["points"]],
                         ["00:00", "01:00", "02:00", "03:00"])
        for host, point in enumerate(series["points"]):
            part = ("leak", "--host", f"web-{host}", *store)
            self.assert_alike(point["allocated"], self.bytes_of(*part))
            self.assert_alike(point["live"], self.bytes_of(*part, "--kind", "live"))
            self.assertEqual((point["hosts"], point["recorded_hosts"]), (1, 1))
        whole = self.json("fleet", "series", "leak", "--step", "24h", *store)["points"]
        self.assertEqual(len(whole), 1)
        self.assert_alike(whole[0]["allocated"], self.bytes_of("leak", *store))

    def test_functions_over_time(self):
        store = ("--store", self.copy("hours2.db", IN_TURN))
        for kind in ("allocated", "live"):
            series = self.json("fleet", "series", "leak", "--by", "function", "--kind", kind,
                               "--top", "3", *store)
            top = self.json("fleet", "top", "leak", "--kind", kind, "--top", "3", *store)
            self.assertEqual([row["name"] for row in series["rows"]],
                             [row["name"] for row in top["rows"]])
            for host in range(HOSTS):
                rows = self.json("fleet", "top", "leak", "--kind", kind, "--top", "0", "--host",
                                 f"web-{host}", *store)["rows"]
                alone = {(row["name"], row["detail"]): row["self"]["bytes"] for row in rows}
                for row in series["rows"]:
                    own = alone.get((row["name"], row["detail"]), {"value": 0})
                    point = row["points"][host]
                    self.assert_close(point["value"], own["value"])
                    self.assertTrue(point["lo"] <= point["value"] <= point["hi"])

    def test_series_are_drawn(self):
        store = ("--store", self.copy("hours3.db", IN_TURN))
        for words in (("fleet", "series", "leak"), ("fleet", "series", "--by", "function")):
            text = self.geiger(*words, *store)
            self.assertRegex(text, "[\u2800-\u28ff]" if len(words) == 3 else "[\u2581-\u2588]")
            done = geiger(*words, *store, cwd=self.here, COLUMNS="80")
            longest = max(done.stdout.decode().splitlines(), key=len)
            self.assertLessEqual(len(longest), 80, longest)

    # ------------------------------------------------------------------ cost ---

    def test_the_bill_is_what_was_counted(self):
        store = ("--store", self.copy("cost.db", IN_TURN,
                                      f"UPDATE windows SET rss_byte_seconds = {3600 * GIB}"))
        windows = next(facts["windows"] for facts in self.json("fleet", "list", *store)["versions"]
                       if facts["version"] == "leak")
        cost = self.json("fleet", "cost", "leak", "--price", "2", *store)
        self.assertEqual(cost["bill"], {"byte_hours": windows * GIB, "money": 2 * windows})
        live = self.bytes_of("leak", "--kind", "live", *store)
        hours = cost["live"]["byte_hours"]["value"] / live["value"]
        for end in ("lo", "hi"):
            self.assert_close(cost["live"]["byte_hours"][end], hours * live[end])
        self.assert_close(cost["not_live"]["byte_hours"]["value"],
                          windows * GIB - cost["live"]["byte_hours"]["value"])
        self.assert_close(cost["not_live"]["byte_hours"]["lo"],
                          windows * GIB - cost["live"]["byte_hours"]["hi"])
        parts = [row["byte_hours"]["value"] for row in cost["rows"] + [cost["others"]]]
        self.assert_close(sum(parts), cost["live"]["byte_hours"]["value"])
        self.assertNotIn("money", json.dumps(self.json("fleet", "cost", "leak", *store)))

    def test_what_runs_resident_memory_is_known_without_a_word(self):
        # Runs that geiger observed bring readings; those of a step are held until the next.
        with sqlite3.connect(os.path.join(self.here, "fleet.db")) as store:
            seconds, bytes_ = store.execute("SELECT SUM(recorded_ms) / 1000.0, SUM(rss_byte_seconds) "
                                            "FROM windows").fetchone()
        self.assertGreater(bytes_ / seconds, 1 << 20)
        self.assertLess(bytes_ / seconds, 1 << 30)
        text = self.geiger("fleet", "cost", "leak")
        self.assertIn("the bill", text)
        self.assertIn("--price", text)

    def test_a_bill_needs_resident_memory(self):
        self.copy("unknown.db", "UPDATE windows SET rss_byte_seconds = 0")
        self.assertIn("resident memory", self.refused("fleet", "cost", "--store", "unknown.db", code=1))
        self.assertIn("invalid price 'x'", self.refused("fleet", "cost", "--price", "x", code=2))

    # ------------------------------------------------- hosts not recorded ---

    def test_hosts_that_were_not_recorded_are_counted_in(self):
        store = ("--store", self.copy("some.db", *not_recorded(("web-2", "web-3"))))
        top = self.json("fleet", "top", "plain", *store)
        (part,) = top["fleet"]
        self.assertEqual((part["hosts"], part["recorded_hosts"], part["gaps"]), (HOSTS, 2, 0))
        self.assert_close(part["missing_hours"], part["expected_hours"] - part["recorded_hours"])
        self.assertTrue(part["is_of_few_hosts"])
        total, everything = top["total"]["bytes"], part["all_hosts"]
        factor = part["expected_hours"] / part["recorded_hours"]
        self.assert_close(everything["value"], factor * total["value"])
        self.assertGreater((everything["hi"] - everything["lo"]) / everything["value"],
                           (total["hi"] - total["lo"]) / total["value"])
        # The same where the rows of each host are kept apart, and of live memory.
        for kind in ("allocated", "live"):
            parts = [self.json("fleet", "top", "plain", "--kind", kind, *by, *store)["fleet"][0]["all_hosts"]
                     for by in ((), ("--by", "host"))]
            for end in ("lo", "value", "hi"):
                self.assert_close(parts[0][end], parts[1][end])
        text = self.geiger("fleet", "top", "plain", *store)
        self.assertIn("Recorded: 2 of 4 hosts", text)
        self.assertIn("Few hosts", text)
        # They are no runs without bytes.
        diff = self.json("fleet", "diff", "plain", "again", *store)
        self.assertEqual((diff["before"]["run_count"], diff["changes"]), (2, 0))
        self.assertEqual([part["recorded_hosts"] for part in diff["fleet"]], [2, 2])
        check = self.json("fleet", "check", "plain", "--max-bytes", "1TiB", *store)
        self.assertEqual(check["fleet"][0]["hosts"], HOSTS)

    def test_one_host_says_nothing_of_the_others(self):
        store = ("--store", self.copy("one.db", *not_recorded(("web-1", "web-2", "web-3"))))
        self.assertNotIn("all_hosts", self.json("fleet", "top", "plain", *store)["fleet"][0])
        self.assertIn("One host is not enough", self.geiger("fleet", "top", "plain", *store)
                      .replace("\n", " "))
        self.assertIn("but was not recorded there",
                      self.refused("fleet", "top", "plain", "--host", "web-1", *store, code=1))

    def test_gaps_are_missing_hours(self):
        store = ("--store", self.copy(
            "gaps.db", "INSERT INTO gaps SELECT host, process, started, started + 7200, 'spool full' "
            "FROM windows WHERE version = 'plain' AND host = 'web-0' LIMIT 1",
            "INSERT INTO gaps SELECT host, process, started + 3600, started + 10800, 'refused' "
            "FROM windows WHERE version = 'plain' AND host = 'web-0' LIMIT 1"))
        (part,) = self.json("fleet", "top", "plain", *store)["fleet"]
        self.assertEqual((part["gaps"], part["gap_hours"]), (2, 3))
        self.assert_close(part["missing_hours"], 3)
        self.assertEqual(self.json("fleet", "top", "leak", *store)["fleet"][0]["gaps"], 0)
        self.assertRegex(self.geiger("fleet", "top", "plain", *store), r"in\s+2\s+gaps")

    def test_only_hours_of_the_day_that_both_have_are_compared(self):
        gone = "DELETE FROM windows WHERE version = 'again' AND host IN ('web-0', 'web-1')"
        # The remark is for services, not for jobs.
        whole = "UPDATE windows SET recorded_ms = 3600000"
        store = ("--store", self.copy("hours.db", IN_TURN, whole, gone))
        self.assertIn("--same-hours", self.geiger("fleet", "diff", "plain", "again", *store))
        diff = self.json("fleet", "diff", "plain", "again", "--same-hours", *store)
        self.assertEqual([part["recorded_hosts"] for part in diff["fleet"]], [2, 2])
        late = self.json("fleet", "top", "plain", "--store", self.copy(
            "late.db", "DELETE FROM windows WHERE host IN ('web-0', 'web-1')"))
        self.assertEqual((diff["before"]["run_count"], diff["changes"]), (2, 0))
        self.assert_close(2 * diff["total"]["before"]["value"], late["total"]["bytes"]["value"])
        other = ("--store", self.copy("other.db", IN_TURN, "UPDATE windows SET started = started + "
                                      "43200 WHERE version = 'again'"))
        self.assertIn("not recorded in the same hours of a day", self.refused(
            "fleet", "diff", "plain", "again", "--same-hours", *other, code=1))

    # ---------------------------------------------------------------- strata ---

    def test_strata_are_compared_each_with_its_like(self):
        whole = self.json("fleet", "diff", "plain", "reserve", "--match", "zone", "--all", "--top", "0")
        self.assertEqual((whole["strata"], whole["matched"]), (2, 1))
        zones = [self.json("fleet", "diff", "plain", "reserve", "--label", f"zone={zone}", "--all",
                           "--top", "0") for zone in range(2)]
        mean = sum(zone["total"]["change"]["value"] for zone in zones) / 2
        self.assert_close(whole["total"]["change"]["value"], mean)
        self.assertEqual([row["name"] for row in whole["rows"] if row["verdict"] in ("grew", "shrank")],
                         ["fill_table"])
        for row in whole["rows"]:
            change = row["change"]
            self.assertTrue(change["lo"] <= change["value"] <= change["hi"], row)
            self.assert_close(row["after"]["value"] - row["before"]["value"], change["value"])
        self.assertEqual(self.json("fleet", "diff", "plain", "again", "--match", "zone")["changes"], 0)
        self.assertIn("same zone", self.geiger("fleet", "diff", "plain", "reserve", "--match", "zone"))

    def test_the_new_version_on_large_hosts_first_is_no_growth(self):
        # Each host of a zone counts ten times in both versions, and one zone has more of the new one.
        large = "host IN ('web-1', 'web-3')"
        store = ("--store", self.copy(
            "large.db", "UPDATE window_counts SET allocated = 10 * allocated WHERE window_id IN "
            f"(SELECT window_id FROM windows WHERE {large})",
            "DELETE FROM windows WHERE version = 'again' AND host = 'web-0'",
            "DELETE FROM windows WHERE version = 'plain' AND host = 'web-1'"))
        together = self.json("fleet", "diff", "plain", "again", *store)["total"]["change"]["value"]
        within = self.json("fleet", "diff", "plain", "again", "--match", "zone", *store)["total"]
        self.assertLess(abs(within["change"]["value"]), abs(together) / 10)

    def test_strata_of_one_version_are_told(self):
        store = ("--store", self.copy(
            "zones.db", "DELETE FROM windows WHERE version = 'reserve' AND host IN ('web-1', 'web-3')"))
        diff = self.json("fleet", "diff", "plain", "reserve", "--match", "zone", *store)
        self.assertEqual(diff["strata"], 1)
        self.assert_close(diff["matched"], 4 / 6)
        self.assertIn("has this label", self.refused(
            "fleet", "diff", "plain", "reserve", "--match", "rack", "--store", "fleet.db", code=1))

    # ---------------------------------------------------------------- report ---

    def test_the_page_has_the_totals_and_the_comparison_of_the_traces(self):
        page = self.json("fleet", "report", "plain", "reserve")
        local = json.loads(self.geiger(
            "report", *self.runs("reserve"), "--json",
            *[word for run in self.runs("plain") for word in ("--diff", run)]))
        self.assert_alike(page["diff"]["total"], local["diff"]["total"])
        self.assert_alike(page["diff"]["tables"], local["diff"]["tables"])
        (profile,) = page["profiles"]
        self.assertEqual(profile["kind"], "allocated")
        self.assert_alike(profile["bytes"], local["profiles"][0]["bytes"])
        self.assertEqual(self.json("fleet", "report", "plain").get("diff"), None)
        self.assertIn("shop", page["title"])
        self.assertLessEqual({f"web-{host}" for host in range(HOSTS)}, set(page["names"]))

    # ------------------------------------------------------------- symbolize ---

    def test_names_stay_when_the_binary_is_gone(self):
        folder = os.path.join(self.here, "build")
        os.mkdir(folder)
        program = shutil.copy(CHANGES, folder)
        done = geiger("run", "-q", "--no-symbolize", "--interval", "4KiB", "--seed", "9", "-o",
                      "bare.geiger", "--", program, "leak", cwd=self.here)
        self.assertEqual(done.returncode, 0, done)
        self.geiger("push", "--service", "bare", "--version", "1", "bare.geiger", "bare.db")
        store = ("--store", "bare.db")
        with sqlite3.connect(os.path.join(self.here, "bare.db")) as database:
            (build_id,) = database.execute("SELECT DISTINCT build_id FROM locations WHERE module = ?",
                                           (program,)).fetchone()
        kept = os.path.join(self.here, "kept")
        os.makedirs(os.path.join(kept, ".build-id", build_id[:2]))
        os.rename(program, os.path.join(kept, ".build-id", build_id[:2], build_id[2:] + ".debug"))
        first = self.json("fleet", "symbolize", *store)
        self.assertGreater(first["not_found"], 0)
        self.assertNotIn("remember", self.geiger("fleet", "top", *store))
        second = self.json("fleet", "symbolize", *store, "--debug-dir", kept)
        self.assertGreater(second["named"], 0)
        shutil.rmtree(kept)
        self.assertIn("remember", self.geiger("fleet", "top", *store))
        with sqlite3.connect(os.path.join(self.here, "bare.db")) as database:
            frames = database.execute("SELECT * FROM frames ORDER BY 1, 2").fetchall()
        third = self.json("fleet", "symbolize", *store)
        self.assertEqual(third["named"], 0)
        with sqlite3.connect(os.path.join(self.here, "bare.db")) as database:
            self.assertEqual(database.execute("SELECT * FROM frames ORDER BY 1, 2").fetchall(), frames)

    def test_what_was_found_is_said(self):
        self.assertRegex(self.geiger("fleet", "symbolize", "--store", "fleet.db"),
                         "Every program point has a name|without a name are named now")

    # -------------------------------------------------------- long questions ---

    def test_a_long_question_shows_that_it_goes_on_and_can_be_ended(self):
        # A large store on a disk that takes 10 ms for each page: more than 10 s.
        number = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) "
        self.copy("large.db",
                  number + "INSERT INTO cells SELECT 1000000 + i, (SELECT min(stack_id) FROM stacks), "
                           "1000000 + i, 1, 0, 0 FROM n",
                  number + "INSERT INTO window_counts SELECT (SELECT min(window_id) FROM windows WHERE "
                           "version = 'plain'), 1000000 + i, 1, 0 FROM n")
        if not shutil.which("strace"):
            self.skipTest("not installed: strace")
        control, terminal = pty.openpty()
        asked = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-e", "trace=pread64",
                                  "-e", "inject=pread64:delay_enter=10000",
                                  GEIGER, "fleet", "top", "plain", "--store", "large.db"],
                                 cwd=self.here, stdin=terminal, stdout=subprocess.DEVNULL,
                                 stderr=terminal, start_new_session=True,
                                 preexec_fn=lambda: __import__("fcntl").ioctl(0, 0x540E, 0),
                                 env={**os.environ, "TERM": "xterm"})
        os.close(terminal)
        seen = b""
        while b"asking the store, " not in seen:
            seen += os.read(control, 1000)
        os.write(control, b"\x03")
        self.assertEqual(asked.wait(timeout=60), -signal.SIGINT)
        os.close(control)
        self.assertNotRegex(seen, rb"terminate")

    def test_stores_that_somebody_else_made_up_are_refused_in_a_line(self):
        for statements in (["CREATE TRIGGER t AFTER INSERT ON gaps BEGIN DELETE FROM windows; END"],
                           ["ALTER TABLE windows RENAME TO w",
                            "CREATE VIEW windows AS SELECT * FROM w"]):
            self.copy("theirs.db", *statements)
            for words in (("fleet", "top", "--store", "theirs.db"),
                          ("push", "plain0.geiger", "theirs.db")):
                why = self.refused(*words, code=1)
                self.assertRegex(why, r"\Ageiger: theirs.db: .* was not made by geiger\n\Z")

    def test_old_refusals_are_left_out(self):
        self.copy("refused.db", "INSERT INTO refusals VALUES ('malformed', 3, unixepoch() - 7200)")
        doctor = ("fleet", "doctor", "--store", "refused.db")
        self.assertIn("3 documents refused: malformed", self.geiger(*doctor, code=1))
        self.assertEqual(self.json(*doctor, "--from", "3h", code=1)["refusals"],
                         [{"reason": "malformed", "documents": 3}])
        self.assertIn("The store is healthy.", self.geiger(*doctor, "--from", "1h"))

    def test_readers_need_no_permission_to_write(self):
        folder = os.path.join(self.here, "of # others?")
        os.mkdir(folder)
        store = shutil.copy(os.path.join(self.here, self.store), folder)
        # Not even root's.
        without = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []

        def top():
            command = [*without, GEIGER, "fleet", "top", "leak", "--json", "--store", store]
            done = subprocess.run(command, capture_output=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            return json.loads(done.stdout)

        try:
            os.chmod(store, 0o444)
            os.chmod(folder, 0o555)
            self.assertEqual(top(), self.json("fleet", "top", "leak"))
            self.assertEqual(os.listdir(folder), ["fleet.db"])
            push = subprocess.run([*without, GEIGER, "push", "plain0.geiger", store], cwd=self.here,
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(push.returncode, 1)
            self.assertIn("readonly database", push.stderr)
            # A change that another process has not copied into the file yet is in its log.
            os.chmod(folder, 0o755)
            os.chmod(store, 0o644)
            with contextlib.closing(sqlite3.connect(store)) as other:
                other.execute("PRAGMA wal_autocheckpoint = 0")
                other.execute("DELETE FROM windows WHERE host = 'web-0'")
                other.commit()
                for file in os.listdir(folder):
                    os.chmod(os.path.join(folder, file), 0o444)
                os.chmod(folder, 0o555)
                self.assertEqual(top()["fleet"][0]["hosts"], HOSTS - 1)
        finally:
            os.chmod(folder, 0o755)


if __name__ == "__main__":
    unittest.main()
