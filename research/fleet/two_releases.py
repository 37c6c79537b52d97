#!/usr/bin/env python3
"""Two releases of a service on 40 hosts, one with a planted leak: what `geiger fleet diff` says, and what
it says of two halves of the same release.

usage: two_releases.py GEIGER python|redis [DIRECTORY]

python is an HTTP server of Python's standard library, redis is redis-server with a module (sessions.c).
Hosts get different loads; in release 1.1 the service also remembers every tenth request. DIRECTORY keeps
the store.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

GEIGER = os.path.abspath(sys.argv[1])
HERE = pathlib.Path(__file__).resolve().parent
HOSTS = 40
PATIENCE = 60  # seconds; only what hangs takes that long
PYTHON = '''
import http.server, json, sys, threading, urllib.request

REMEMBERED = []

def parse(path):
    return {"path": path, "words": path.strip("/").split("/"), "text": path * 20}

def render(request):
    return json.dumps({**request, "rows": [{"n": i, "text": str(i) * 9} for i in range(60)]}).encode()

def remember(request):
    REMEMBERED.append(bytearray(16000))

class Handler(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        request = parse(self.path)
        Handler.count += 1
        if LEAKS and Handler.count % 10 == 0:
            remember(request)
        body = render(request)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

LEAKS, requests = sys.argv[1] == "1.1", int(sys.argv[2])
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for i in range(requests):
    urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/item/{i}").read()
'''


def geiger(*words, code=0):
    done = subprocess.run([GEIGER, *words], check=False, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "COLUMNS": "110"})
    if done.returncode != code:
        sys.exit(f"{words}: {done.returncode}")
    return done.stdout


class Python:
    interval = "16KiB"

    def __init__(self, directory):
        self.service = directory / "service.py"
        self.service.write_text(PYTHON, encoding="utf-8")

    def record(self, run, version, requests):
        geiger(*run, "/usr/bin/python3", str(self.service), version, str(requests))


class Redis:
    interval = "64KiB"

    def __init__(self, directory):
        self.directory = directory
        self.module = directory / "sessions.so"
        subprocess.run(["cc", "-O0", "-g", "-shared", "-fPIC", "-o", self.module, HERE / "sessions.c"],
                       check=True)

    def record(self, run, version, requests):
        """Redis answers commands in order: SHUTDOWN comes last."""
        socket = str(self.directory / "socket")
        server = subprocess.Popen([GEIGER, *run, "redis-server", "--port", "0", "--unixsocket", socket,
                                   "--save", "", "--daemonize", "no", "--logfile", os.devnull,
                                   "--loadmodule", str(self.module), version])
        end = time.monotonic() + PATIENCE
        while not os.path.exists(socket) and time.monotonic() < end:
            time.sleep(0.02)
        chance = random.Random(requests)
        commands = []
        for i in range(100 * requests):
            commands += [f"SET item:{i % 4000} {'x' * chance.randrange(16, 2000)}",
                         f"HSET user:{i % 700} field{i % 150} {i}", f"SESSION.TOUCH session-{i}"]
        subprocess.run(["redis-cli", "-s", socket, "--pipe"], check=True, stdout=subprocess.DEVNULL,
                       input="\r\n".join([*commands, ""]).encode())
        subprocess.run(["redis-cli", "-s", socket, "SHUTDOWN", "NOSAVE"], check=False,
                       capture_output=True)
        server.wait(PATIENCE)


def main(service, directory):
    store = str(directory / "fleet.db")
    chance = random.Random(1)
    for host in range(HOSTS):
        version = "1.1" if host % 2 else "1.0"
        trace = str(directory / "run.geiger")
        service.record(["run", "-q", "--interval", service.interval, "--seed", str(host + 1), "-f", "-o",
                        trace, "--"], version, chance.randrange(100, 300))
        geiger("push", "--service", "web", "--version", version, "--host", f"web-{host:02}",
               "--label", f"half={host // 2 % 2}", trace, store)
        if version == "1.0":  # The halves of one release, as if they were two.
            geiger("push", "--service", "halves", "--version", f"half-{host // 2 % 2}", "--host",
                   f"web-{host:02}", trace, store)
    for words in (("fleet", "diff", "1.0", "1.1", "--service", "web", "--per", "total"),
                  ("fleet", "diff", "1.0", "1.1", "--service", "web", "--kind", "live"),
                  ("fleet", "diff", "half-0", "half-1", "--service", "halves", "--per", "total")):
        print("$ geiger", *words)
        print(geiger(*words, "--store", store))


def run(directory):
    directory = pathlib.Path(directory)
    main({"python": Python, "redis": Redis}[sys.argv[2]](directory), directory)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        run(sys.argv[3])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            run(temporary)
