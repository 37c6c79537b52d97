"""push and fleet with a ClickHouse server (Debian's): answers equal those of the traces, whatever fails.

usage: fleet_clickhouse_test.py GEIGER CHANGES TESTS STORE_TEST [TEST...]
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TESTS, STORE_TEST = (os.path.abspath(word) for word in sys.argv[3:5])
del sys.argv[3:5]
sys.path.insert(0, TESTS)
RECIPES, TOOLS = (os.path.join(TESTS, os.pardir, name) for name in ("recipes", "tools"))

from clickhouse_server import PATIENCE, PROGRAM, ClickHouse, free_ports  # noqa: E402
from fleet_store import CHANGES, HOSTS, FleetStore, geiger  # noqa: E402
from fleet_verbs_test import FleetVerbs  # noqa: E402


NGINX = """daemon off; master_process off; pid {data}/nginx.pid; error_log {data}/nginx.log; events {{ }}
http {{ access_log off; client_body_temp_path {data}/bodies; proxy_temp_path {data}/answers;
fastcgi_temp_path {data}/f; uwsgi_temp_path {data}/u; scgi_temp_path {data}/s;
server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {data}/cert.pem; ssl_certificate_key {data}/key.pem;
client_max_body_size 64m;
location / {{ if ($arg_query !~ "^INSERT") {{ return 403; }} proxy_pass http://127.0.0.1:{http}; }} }} }}
"""


def wait_for(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the proxy does not start")


def setUpModule():
    if PROGRAM is None:
        raise unittest.SkipTest("clickhouse-server is not installed")


class ClickHouseVerbs(FleetVerbs):
    """All that is asked of a file, asked of a server."""

    @classmethod
    def setUpClass(cls):
        cls.server = ClickHouse()
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
        self.server.ask("ALTER TABLE windows DROP COLUMN skew_ms", "broken")  # Changes no sums.
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

    def test_a_crash_in_the_middle_of_a_push_loses_nothing_and_doubles_nothing(self):
        server = ClickHouse()
        self.addCleanup(server.remove)
        url = server.url("crash")
        self.assertEqual(geiger("fleet", "init", "--store", url, cwd=self.here).returncode, 0)
        for number, table in enumerate(("locations", "stacks", "counts", "windows")):
            host = f"crash-{number}"
            pushing = threading.Thread(target=geiger, kwargs={"cwd": self.here}, args=(
                "push", "--service", "shop", "--version", "plain", "--host", host,
                f"plain{number}.geiger", url))
            pushing.start()
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end and pushing.is_alive():
                if table == "locations" or server.ask(f"SELECT 1 FROM crash.{table} LIMIT 1"):
                    break
            server.kill()
            pushing.join()
            server.start()
            for _ in range(2):
                self.push(url, f"plain{number}.geiger", host)
        fleet = self.total(url)
        local = json.loads(self.geiger("table", *self.runs("plain"), "--top", "0", "--json"))
        self.assert_alike(fleet["rows"], local["rows"])

    def test_grafana(self):
        """Queries run, and their figures are those of fleet top from 30 samples on (docs/sql.md)."""
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

    def test_a_user_who_may_only_insert_over_tls(self):
        """A proxy stands for the rights: Debian's server has none that fine."""
        if not shutil.which("nginx") or not shutil.which("openssl"):
            self.skipTest("nginx or openssl is not installed")
        secret = "a-password-of-the-writers"
        server = ClickHouse(users=[("writer", secret)])
        self.addCleanup(server.remove)
        self.assertEqual(geiger("fleet", "init", "--store", server.url("tls"), cwd=self.here).returncode, 0)
        (port,), data = free_ports(1), server.data
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                        f"{data}/key.pem", "-out", f"{data}/cert.pem"], check=True, capture_output=True)
        with open(f"{data}/nginx.conf", "w") as config:
            config.write(NGINX.format(data=data, port=port, http=server.http))
        with open(f"{data}/token", "w") as token:
            os.fchmod(token.fileno(), 0o600)
            token.write(secret + "\n")
        proxy = subprocess.Popen(["nginx", "-c", f"{data}/nginx.conf"], stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (proxy.terminate(), proxy.wait(PATIENCE)))
        wait_for(port)
        url = f"clickhouse+https://writer@localhost:{port}/tls"
        with_token = {"GEIGER_TOKEN_FILE": f"{data}/token"}
        self.assertIn("certificate", self.push(url, code=1, **with_token))
        with_token["SSL_CERT_FILE"] = f"{data}/cert.pem"
        for _ in range(3):
            self.push(url, **with_token)
        self.assertIn("not accepted", self.push(url, code=1, SSL_CERT_FILE=with_token["SSL_CERT_FILE"]))
        self.assertIn("403", self.refused("fleet", "top", "--store", url, code=1, **with_token))
        local = json.loads(self.geiger("table", "plain0.geiger", "--top", "0", "--json"))
        self.assert_alike(self.total(server.url("tls"))["rows"], local["rows"])

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
                (("push", "plain0.geiger", "ftp://x/y"), 1, "clickhouse+https://"),
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


class TwoShards(unittest.TestCase):
    """Tables over two servers, as docs/clickhouse.md says: with one down nothing is answered in part."""
    SETTINGS = ("<insert_distributed_sync>1</insert_distributed_sync>"
                "<distributed_product_mode>local</distributed_product_mode>")
    assert_alike = FleetStore.assert_alike

    def setUp(self):
        self.here = tempfile.mkdtemp(prefix="geiger-shards-")
        self.addCleanup(shutil.rmtree, self.here)
        ports = [free_ports(2), free_ports(2)]
        shards = "".join(f"<shard><replica><host>127.0.0.1</host><port>{tcp}</port></replica></shard>"
                         for _, tcp in ports)
        more = f"<remote_servers incl='none'><two>{shards}</two></remote_servers>"
        self.servers = [ClickHouse(more=more, ports=each, settings=self.SETTINGS) for each in ports]
        for server in self.servers:
            self.addCleanup(server.remove)
            self.geiger("fleet", "init", "--store", server.url("parts"))
        first = self.servers[0]
        first.ask("CREATE DATABASE fleet")
        for (table,) in first.ask("SHOW TABLES", "parts"):
            key = {"stacks": "stack_id", "sites": "stack_id", "locations": "location_id",
                   "frames": "location_id", "schema_versions": "version", "refusals": "reason",
                   "rolled_up": "service"}.get(table, "host")
            hashed = "version" if key == "version" else f"cityHash64({key})"
            first.ask(f"CREATE TABLE fleet.{table} AS parts.{table} ENGINE = "
                      f"Distributed(two, parts, {table}, {hashed})")
        self.store = first.url("fleet")

    def geiger(self, *words, code=0):
        done = geiger(*words, cwd=self.here)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr.decode()

    def push(self, host, code=0):
        return self.geiger("push", "--service", "shop", "--version", "1.0", "--host", f"web-{host}",
                           f"{host}.geiger", self.store, code=code)

    def rows(self):
        return json.loads(self.geiger("fleet", "top", "--store", self.store, "--top", "0", "--json"))["rows"]

    def test_one_down(self):
        for host in range(HOSTS):
            self.geiger("run", "-q", "--interval", "4KiB", "--seed", str(host + 1), "-o", f"{host}.geiger",
                        "--", CHANGES, "plain")
            self.push(host)
        there = [int(server.ask("SELECT count() FROM parts.windows")[0][0]) for server in self.servers]
        self.assertTrue(all(there), there)
        self.assertEqual(sum(there), HOSTS)
        local = json.loads(self.geiger("table", *(f"{host}.geiger" for host in range(HOSTS)), "--top", "0",
                                       "--json"))["rows"]
        self.assert_alike(self.rows(), local)
        self.servers[1].kill()
        self.geiger("fleet", "top", "--store", self.store, code=1)
        for host in range(HOSTS):  # Again, as hosts do that got no answer.
            self.push(host, code=1)
        self.servers[1].start()
        for host in range(HOSTS):
            self.push(host)
        self.assert_alike(self.rows(), local)


class ClickHouseStores(unittest.TestCase):
    def test_all_that_holds_for_files(self):
        server = ClickHouse()
        self.addCleanup(server.remove)
        done = subprocess.run([STORE_TEST, "--gtest_brief=1"], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "GEIGER_CLICKHOUSE": server.url("")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


del FleetVerbs  # Its own test runs it.

if __name__ == "__main__":
    unittest.main()
