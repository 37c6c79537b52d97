"""What is asked of a file, asked of a ClickHouse: Debian's server, or npm's library."""
import json
import os
import re
import subprocess
import sys

from fleet_store import HOSTS, geiger
from fleet_verbs_test import FleetVerbs

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3)
RECIPES, TOOLS = (os.path.join(ROOT, name) for name in ("recipes", "tools"))


class ClickHouseVerbs(FleetVerbs):
    """Requires an attribute `start_server`: it returns a server with the interface of clickhouse_server.py."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.start_server()
        cls.addClassCleanup(cls.server.remove)
        cls.store = cls.database("shop")
        super().setUpClass()

    @classmethod
    def database(cls, name):
        """Makes one; its URL."""
        url = cls.server.url(name)
        done = geiger("fleet", "init", "--store", url, cwd=cls.here if hasattr(cls, "here") else ".")
        assert done.returncode == 0, done
        return url

    def push(self, url, run="plain0.geiger", host="web-0", code=0, **environment):
        done = geiger("push", "--service", "shop", "--version", "plain", "--host", host, run, url,
                      cwd=self.here, **environment)
        self.assertEqual(done.returncode, code, done)
        return done.stderr.decode()

    def total(self, url):
        return self.json("fleet", "top", "--store", url, "--top", "0")

    def test_what_is_missing_is_found(self):
        url = self.database("broken")
        self.push(url)
        self.server.ask("ALTER TABLE windows DROP COLUMN trials", "broken")  # Changes no sums.
        self.assertEqual(self.geiger("fleet", "doctor", "--store", url).splitlines()[0],
                         "The store is healthy.")
        day = self.server.ask("SELECT DISTINCT partition FROM system.parts WHERE database = 'broken' "
                              "AND table = 'counts' AND active")[0][0]
        self.server.ask(f"ALTER TABLE counts DROP PARTITION '{day}'", "broken")
        doctor = self.json("fleet", "doctor", "--store", url, code=1)
        self.assertEqual(doctor["incomplete_windows"], 1)

    def test_other_contents_under_a_key_are_refused(self):
        url = self.database("other")
        self.push(url)
        self.server.ask("CREATE TABLE altered AS windows", "other")
        self.server.ask("INSERT INTO altered SELECT * FROM windows", "other")
        columns = ", ".join(name for name, *_ in self.server.ask("DESCRIBE TABLE windows", "other"))
        self.server.ask(f"INSERT INTO windows ({columns}) SELECT "
                        f"{columns.replace('content', 'content + 1')} FROM altered", "other")
        self.server.ask("OPTIMIZE TABLE windows FINAL", "other")
        self.assertIn("its window is stored with different contents", self.push(url, code=1))

    def test_doubled_and_uncommitted_rows_do_not_count(self):
        url = self.database("doubled")
        self.push(url)
        before = self.total(url)
        columns = ", ".join(name for name, *_ in self.server.ask("DESCRIBE TABLE counts", "doubled"))
        self.server.ask(f"INSERT INTO counts ({columns}) SELECT {columns} FROM counts", "doubled")
        self.server.ask(f"INSERT INTO counts ({columns}) SELECT "
                        f"{columns.replace('process', 'process + 1 AS other')} FROM counts", "doubled")
        rows = int(self.server.ask("SELECT COUNT(*) FROM counts", "doubled")[0][0])
        self.assertGreater(rows, 0)
        self.assert_alike(self.total(url), before)
        self.assertEqual(self.json("fleet", "doctor", "--store", url)["incomplete_windows"], 0)

    def test_grafana(self):
        """Queries run, and their figures are those of fleet top from 30 samples on (docs/guide/sql.md)."""
        self.assertGreater(self.json("fleet", "symbolize")["sites"], 0)
        self.assertEqual(self.json("fleet", "symbolize")["named"], 0)
        with open(os.path.join(RECIPES, "grafana-dashboard.json")) as file:
            text = file.read()
        written = subprocess.run([sys.executable, os.path.join(TOOLS, "grafana_dashboard.py")],
                                 capture_output=True, text=True, check=True).stdout
        self.assertEqual(text, written, "run tools/grafana_dashboard.py")
        panels = {panel["title"]: panel for panel in json.loads(text)["panels"]}
        answers = {title: self.panel(panel) for title, panel in panels.items()}
        self.assertTrue(all(answers.values()), answers)
        for title, kind in (("Allocated, by function", "allocated"), ("Live on average, by function", "live")):
            rows = {row["name"]: row["self"] for row in
                    self.json("fleet", "top", "leak", "--kind", kind, "--top", "0")["rows"]}
            compared = 0
            for name, value, low, high, samples in answers[title]:
                bytes_ = rows[name]["bytes"]
                self.assertAlmostEqual(float(value), bytes_["value"], delta=1e-9 * bytes_["value"])
                if int(samples) < 30:
                    continue
                for one, other in ((low, bytes_["lo"]), (high, bytes_["hi"])):
                    self.assertAlmostEqual(float(one), other, delta=1e-3 * bytes_["value"], msg=(name, kind))
                compared += 1
            self.assertGreater(compared, 0, title)
        changed = self.panel(panels["Changed, per hour of a host"], version="reserve")
        self.assertIn("fill_table", [row[0] for row in changed[:5]])
        self.assertEqual(max(int(row[2]) for row in answers["Hosts"]), HOSTS)

    def panel(self, panel, version="leak"):
        """What a panel shows of a version, compared with plain."""
        query = panel["targets"][0]["rawSql"]
        for name, value in (("service", "shop"), ("version", version), ("before", "plain")):
            query = query.replace("${" + name + "}", value)
        return self.server.ask(re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= 1 AND \1 < 4000000000", query), "shop")

    def test_bad_requests_are_refused_in_a_line(self):
        missing = self.server.url("nowhere")
        for words, code, reason in (
                (("fleet", "top", "--store", missing), 1, "'geiger fleet init --store URL' makes them"),
                (("push", "plain0.geiger", missing), 1, "lacks tables of geiger"),
                (("fleet", "top", "--store", "clickhouse+http://127.0.0.1:1/shop"), 1, "onnect"),
                (("fleet", "top", "--store", "clickhouse+http://db.example/shop"), 1, "use https://"),
                (("fleet", "top", "--store", "clickhouse+https://a:b@db.example/shop"), 1, "secrets"),
                (("fleet", "top", "--store", "clickhouse+http://127.0.0.1/"), 1, "names no database"),
                (("fleet", "top", "--store", "postgres://x/y"), 2, "clickhouse+https://"),
                (("push", "plain0.geiger", "ftp://x/y"), 2, "clickhouse+https://"),
                (("fleet", "top", "9.9", "--store", self.store), 1, "no version '9.9' of shop"),
                (("fleet", "top", "--service", "it's \\ a\tname", "--store", self.store), 1,
                 "no service")):
            why = self.refused(*words, code=code)
            self.assertIn(reason, why)
            self.assertNotIn("terminate", why)

    def test_documents_that_are_too_old_are_refused_before_the_server(self):
        url = self.database("old")
        faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
        if not os.path.exists(faketime):
            self.skipTest("faketime is not installed")
        why = self.push(url, code=1, LD_PRELOAD=faketime, FAKETIME="+9d")
        self.assertIn("older than the store keeps documents", why)
        self.assertEqual(self.server.ask("SELECT COUNT(*) FROM counts", "old"), [("0",)])

    def test_late_and_doubled_rows_after_a_roll_up_count_once(self):
        url, faketime = self.database("late"), "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
        if not os.path.exists(faketime):
            self.skipTest("faketime is not installed")
        tomorrow = {"LD_PRELOAD": faketime, "FAKETIME": "+1d"}

        def rolled():
            done = geiger("fleet", "maintain", "--store", url, "--json", cwd=self.here, **tomorrow)
            self.assertEqual(done.returncode, 0, done)
            return json.loads(done.stdout)["rolled"]

        self.push(url)
        self.assertEqual((rolled(), rolled()), (1, 0))
        self.push(url, "plain1.geiger", "web-1")
        for table in ("counts", "windows"):
            columns = ", ".join(name for name, *_ in self.server.ask(f"DESCRIBE TABLE {table}", "late"))
            self.server.ask(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}", "late")
        local = json.loads(self.geiger("table", "plain0.geiger", "plain1.geiger", "--top", "0", "--json"))
        self.assert_alike(self.total(url)["rows"], local["rows"])
        self.assertEqual((rolled(), rolled()), (1, 0))
        self.assert_alike(self.total(url)["rows"], local["rows"])
        self.server.ask("TRUNCATE TABLE counts", "late")  # Read from what was added up.
        self.assert_alike(self.total(url)["rows"], local["rows"])

    def test_maintenance(self):
        url = self.database("kept")
        self.push(url)
        before = self.total(url)
        self.assertEqual(self.json("fleet", "maintain", "--store", url)["rolled"], 0)
        self.assert_alike(self.total(url), before)
