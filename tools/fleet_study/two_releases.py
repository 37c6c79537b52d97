#!/usr/bin/env python3
"""Two releases of a service on 40 hosts, one with a planted leak: what `geiger fleet diff` says, and what
it says of two halves of the same release.

usage: two_releases.py GEIGER [DIRECTORY]

The service is an HTTP server of Python's standard library. Hosts get different loads; in release 1.1
the handler also remembers every tenth request. DIRECTORY keeps the store.
"""
import os
import random
import subprocess
import sys
import tempfile

GEIGER = os.path.abspath(sys.argv[1])
HOSTS = 40
SERVICE = '''
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


def main(directory):
    store = os.path.join(directory, "fleet.db")
    service = os.path.join(directory, "service.py")
    with open(service, "w", encoding="utf-8") as file:
        file.write(SERVICE)
    chance = random.Random(1)
    for host in range(HOSTS):
        version = "1.1" if host % 2 else "1.0"
        trace = os.path.join(directory, "run.geiger")
        geiger("run", "-q", "--interval", "16KiB", "--seed", str(host + 1), "-f", "-o", trace, "--",
               "/usr/bin/python3", service, version, str(chance.randrange(100, 300)))
        geiger("push", "--service", "web", "--version", version, "--host", f"web-{host:02}",
               "--label", f"half={host // 2 % 2}", trace, store)
        if version == "1.0":  # The halves of one release, as if they were two.
            geiger("push", "--service", "halves", "--version", f"half-{host // 2 % 2}", "--host",
                   f"web-{host:02}", trace, store)
    for words in (("fleet", "diff", "1.0", "1.1", "--service", "web", "--per", "total"),
                  ("fleet", "diff", "1.0", "1.1", "--service", "web", "--per", "total", "--kind", "live"),
                  ("fleet", "diff", "half-0", "half-1", "--service", "halves", "--per", "total")):
        print("$ geiger", *words)
        print(geiger(*words, "--store", store))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
