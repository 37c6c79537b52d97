"""push and fleet with a ClickHouse server (Debian's): answers equal those of the traces, whatever fails.

usage: fleet_clickhouse_test.py GEIGER CHANGES TESTS STORE_TEST [TEST...]
"""
import json
import os
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

from clickhouse_server import PATIENCE, PROGRAM, ClickHouse  # noqa: E402
from fleet_clickhouse_verbs import ClickHouseVerbs  # noqa: E402
from fleet_store import CHANGES, HOSTS, FleetStore, geiger  # noqa: E402
from harness import free_ports  # noqa: E402


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


class DebiansServer(ClickHouseVerbs):
    start_server = ClickHouse

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


class TwoShards(unittest.TestCase):
    """Tables over two servers, as docs/guide/clickhouse.md says: with one down nothing is answered in part."""
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


del ClickHouseVerbs  # It has no server of its own.

if __name__ == "__main__":
    unittest.main()
