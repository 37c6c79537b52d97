"""Debian's clickhouse-server on loopback, for tests: own data folder, own ports, ended by its pid."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import free_ports

PATIENCE = 60  # seconds; only what hangs takes that long
PROGRAM = shutil.which("clickhouse-server") or shutil.which("clickhouse-server", path="/usr/sbin")

CONFIG = """<yandex>
<logger><level>warning</level><log>{data}/log</log><errorlog>{data}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{data}/</path><tmp_path>{data}/tmp/</tmp_path><mark_cache_size>67108864</mark_cache_size>
<users_config>{data}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
{more}</yandex>"""
USERS = """<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage>{settings}</default></profiles>
<quotas><default/></quotas><users>{users}</users></yandex>"""
USER = """<{name}><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></{name}>"""


class ClickHouse:
    """A server; `users` are more users with their passwords, `more` and `settings` XML of its configuration and
    of its users' profile."""

    def __init__(self, users=(), more="", ports=None, settings=""):
        self.data = tempfile.mkdtemp(prefix="geiger-clickhouse-")
        self.http, self.tcp = ports or free_ports(2)
        with open(os.path.join(self.data, "config.xml"), "w") as config:
            config.write(CONFIG.format(data=self.data, http=self.http, tcp=self.tcp, more=more))
        with open(os.path.join(self.data, "users.xml"), "w") as config:
            config.write(USERS.format(settings=settings, users="".join(
                USER.format(name=name, password=password) for name, password in [("default", ""), *users])))
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM, f"--config-file={self.data}/config.xml"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return self.ask("SELECT 1")
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"clickhouse-server does not start: {self.data}/errors")

    def kill(self):
        """As a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self):
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)

    def ask(self, query, database="default"):
        """The rows of an answer, as texts."""
        url = f"http://127.0.0.1:{self.http}/?wait_end_of_query=1&database={database}"
        try:
            with urllib.request.urlopen(url, query.encode(), timeout=PATIENCE) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()) from None
        return [tuple(line.split("\t")) for line in text.splitlines()]

    def url(self, database, user=""):
        return f"clickhouse+http://{user}{'@' if user else ''}127.0.0.1:{self.http}/{database}"
