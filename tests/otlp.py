#!/usr/bin/env python3
"""OTLP profiles: what `geiger export otlp` writes and `geiger push`, `run --otlp` and `agent` send, by
the classes that protobuf makes of OTLP's messages, and by the rules of the stores that read them.

usage: GEIGER_BUILD_DIR=BUILD [GEIGER_OTLP_PROTO=FOLDER] otlp.py [TEST...]

FOLDER: a checkout of opentelemetry-proto, whose files are then read instead of tests/otlp_messages.py,
their description here, which one test compares with them.
"""
import contextlib
import email.utils
import gzip
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import google.protobuf.json_format as json_format
except ImportError:  # Debian's python3-protobuf is Debian's Python's.
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

import harness
import otlp_messages as messages

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 60  # seconds; only what hangs takes that long
PROGRAM = ["perl", "-e", 'my %h; $h{$_} = "x" x ($_ % 300) for 1..20000; delete $h{$_} for 1..9000; print 1']
TYPES = [("alloc_space", "bytes"), ("alloc_objects", "count"), ("inuse_space", "bytes"), ("inuse_objects", "count")]
VARIANCES = [(f"{name}_variance", {"bytes": "By2", "count": "count2"}[unit]) for name, unit in TYPES]
TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")
TEXTS = re.compile(r"(\w+)_strindex$")


def plain(value):
    """A Python value of an AnyValue."""
    kind = value.WhichOneof("value")
    return [plain(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def attributes(data, indices):
    table = data.dictionary.attribute_table
    keys = [data.dictionary.string_table[table[i].key_strindex] for i in indices]
    assert len(set(keys)) == len(keys), keys
    return {key: plain(table[i].value) for key, i in zip(keys, indices)}


def profiles(data):
    return [profile for resource in data.resource_profiles for scope in resource.scope_profiles for profile in scope.profiles]


def type_of(data, profile):
    texts = data.dictionary.string_table
    return texts[profile.sample_type.type_strindex], texts[profile.sample_type.unit_strindex]


def sums(data):
    return {type_of(data, profile): sum(value for sample in profile.samples for value in sample.values)
            for profile in profiles(data)}


def resource(data):
    return {each.key: plain(each.value) for each in data.resource_profiles[0].resource.attributes}


def check(data):
    """The rules of the published files, and of the stores that are stricter: Pyroscope, Parca."""
    d = data.dictionary
    tables = {name: getattr(d, f"{name}_table") for name in TABLES}
    for name, table in tables.items():
        first = table[0] if table else None
        assert first is not None, f"{name}: empty"
        assert first == (type(first)() if name != "string" else ""), f"{name}: the first is not the zero"
        items = list(table) if name == "string" else [each.SerializeToString(deterministic=True) for each in table]
        assert len(set(items)) == len(items), f"{name}: duplicates"
    used = {name: {0} for name in TABLES}

    def use(name, *indices):
        for index in indices:
            assert 0 <= index < len(tables[name]), (name, index)
            used[name].add(index)

    def walk(message):
        """Every reference in it, by the names of the fields."""
        for field, value in message.ListFields():
            if field.name.endswith("_strindex"):
                use("string", value)
            elif field.name == "attribute_indices":
                use("attribute", *value)
                attributes(data, value)
            elif match := re.fullmatch(r"(stack|link|mapping|function)_index", field.name):
                use(match.group(1), value)
            elif field.name == "location_indices":
                use("location", *value)
            elif field.message_type and field.message_type.full_name.startswith(messages.ROOT + "profiles"):
                for each in value if field.label == 3 else [value]:
                    walk(each)
    walk(data)
    for name in TABLES:
        assert used[name] == set(range(len(tables[name]))), f"{name}: orphans"
    for each in data.resource_profiles:
        assert each.HasField("resource")
        keys = [one.key for one in each.resource.attributes]
        assert all(keys) and len(set(keys)) == len(keys) and len(keys) <= 30, keys
        assert not any(one.key_strindex or one.value.string_value_strindex for one in each.resource.attributes)
        assert all(scope.HasField("scope") for scope in each.scope_profiles)
    ids = set()
    for profile in profiles(data):
        assert profile.samples, "no samples"
        assert profile.HasField("period_type") and profile.period > 0
        assert d.string_table[profile.period_type.type_strindex] == "space"
        assert all(len(sample.values) == 1 and sample.values[0] > 0 for sample in profile.samples)
        assert len(profile.profile_id) == 16 and any(profile.profile_id)
        assert not profile.original_payload
        ids.add(profile.profile_id)
        same = [(sample.stack_index, tuple(sample.attribute_indices)) for sample in profile.samples]
        assert len(set(same)) == len(same), "samples alike"
    assert len(ids) == len(profiles(data))
    for mapping in tables["mapping"][1:]:
        assert attributes(data, mapping.attribute_indices).get("process.executable.build_id.gnu")


class Receiver(http.server.ThreadingHTTPServer):
    """Answers each request by the next of `answers`, then with 200; `requests` has all of them."""

    daemon_threads = True

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def taken(self):
        """What requests with 200 contained."""
        return [request["data"] for request in self.requests if request["status"] == 200]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        status, headers, answer = self.server.answers.pop(0) if self.server.answers else (200, {}, b"")
        self.server.requests.append({"path": self.path, "headers": dict(self.headers), "status": status, "size": len(body),
                                     "data": messages.Data.FromString(body), "time": time.monotonic()})
        if status is None:  # No answer at all.
            return self.connection.close()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # It reads no more than it needs.
            self.wfile.write(answer)

    def log_message(self, *_):
        pass


def status(message):
    """google.rpc.Status with this message."""
    return bytes([8, 3, 0x12, len(message)]) + message


def partial(rejected, message):
    answer = messages.Response()
    answer.partial_success.rejected_profiles = rejected
    answer.partial_success.error_message = message
    return answer.SerializeToString()


class Otlp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="otlp-")
        cls.run_ = cls.record("run.geiger", *PROGRAM)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    @classmethod
    def record(cls, name, *program, interval="1KiB"):
        run = os.path.join(cls.directory, name)
        subprocess.run([GEIGER, "run", "-q", "--interval", interval, "--seed", "7", "-o", run, "--", *program],
                       check=True, env=harness.environment([]), timeout=PATIENCE, stdout=subprocess.DEVNULL)
        return run

    def geiger(self, *words, code=0, **environment):
        done = subprocess.run([GEIGER, *words], capture_output=True, timeout=PATIENCE, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def export(self, *words, run=None):
        return messages.Data.FromString(self.geiger("export", "otlp", run or self.run_, *words).stdout)

    def receiver(self, *answers):
        server = Receiver(*answers)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def push(self, receiver, *words, run=None, code=0, url=None, **environment):
        done = self.geiger("push", *words, run or self.run_, url or f"otlp+{receiver.url}", code=code, **environment)
        for data in receiver.taken:
            check(data)
        return done.stderr.decode()

    def total(self, *words, run=None):
        return json.loads(self.geiger("table", "--json", run or self.run_, *words).stdout)["total"]


class Layout(unittest.TestCase):
    @unittest.skipUnless(messages.PUBLISHED, "the published files are in no package that is reached: GEIGER_OTLP_PROTO names them")
    def test_the_description_is_that_of_the_published_files(self):
        self.assertEqual(messages.layout(messages.described()), messages.layout(messages.published()))


class Exports(Otlp):
    def test_totals_are_those_of_table(self):
        data = self.export()
        check(data)
        self.assertEqual([type_of(data, profile) for profile in profiles(data)], TYPES)
        for kind, name in (("allocated", "alloc"), ("live", "inuse")):
            total = self.total("--kind", kind)
            self.assertEqual(sums(data)[f"{name}_space", "bytes"], round(total["bytes"]["value"]))
            self.assertEqual(sums(data)[f"{name}_objects", "count"], round(total["objects"]["value"]))
            for what, unit in (("space", "bytes"), ("objects", "count")):
                (profile,) = (one for one in profiles(data) if type_of(data, one) == (f"{name}_{what}", unit))
                facts = attributes(data, profile.attribute_indices)
                estimate = total["bytes" if what == "space" else "objects"]
                self.assertEqual((facts["geiger.total.lo"], facts["geiger.total.hi"]), (estimate["lo"], estimate["hi"]))
                self.assertEqual(facts["geiger.total.level"], 0.95)
                self.assertEqual(facts["geiger.samples"], total["samples"])

    def test_json_is_the_same(self):
        data = self.export()
        for profile in profiles(data):
            profile.ClearField("profile_id")
        text = self.geiger("export", "otlp", self.run_, "--json").stdout
        self.assertEqual(json_format.Parse(text, messages.Data()), data)
        self.assertIn(b'"resourceProfiles":', text)

    def test_kind(self):
        data = self.export("--kind", "peak")
        check(data)
        self.assertEqual([type_of(data, profile) for profile in profiles(data)], TYPES[2:] + TYPES[:2])

    def test_errors_and_sizes(self):
        data = self.export("--errors", "--sizes")
        check(data)
        self.assertEqual([type_of(data, profile) for profile in profiles(data)], TYPES + VARIANCES)
        self.assertEqual(sums(data)["alloc_space_variance", "By2"], round(self.total()["bytes"]["variance"]))
        sizes = {attributes(data, sample.attribute_indices)["allocation_size"] for sample in profiles(data)[1].samples}
        self.assertGreater(len(sizes), 10)
        plain_data = self.export()
        self.assertEqual(sums(plain_data), {each: sums(data)[each] for each in TYPES})
        self.assertLess(len(plain_data.SerializeToString()), len(data.SerializeToString()))

    def test_frames_threads_and_what_is_compressed(self):
        data = self.export()
        texts = data.dictionary.string_table
        stack = data.dictionary.stack_table[profiles(data)[0].samples[0].stack_index]
        names = {texts[data.dictionary.function_table[line.function_index].name_strindex]
                 for index in stack.location_indices for line in data.dictionary.location_table[index].lines}
        self.assertTrue(names & {"main", "perl_run", "perl_parse"}, names)
        kinds = {attributes(data, location.attribute_indices).get("profile.frame.type")
                 for location in data.dictionary.location_table[1:]}
        self.assertIn("native", kinds)
        self.assertIn("thread.name", attributes(data, profiles(data)[0].samples[0].attribute_indices))
        path = os.path.join(self.directory, "a.otlp.gz")
        self.geiger("export", "otlp", self.run_, "-f", "-o", path)
        with gzip.open(path) as file:
            self.assertEqual(messages.Data.FromString(file.read()), data)

    def test_file_ids(self):
        data = self.export()
        by_file = {data.dictionary.string_table[mapping.filename_strindex]: attributes(data, mapping.attribute_indices)
                   for mapping in data.dictionary.mapping_table[1:]}
        path = os.path.realpath("/usr/bin/perl")
        content = pathlib.Path(path).read_bytes()
        hashed = hashlib.sha256(content[:4096] + content[-4096:] + len(content).to_bytes(8, "big")).hexdigest()[:32]
        self.assertEqual(by_file[path]["process.executable.build_id.htlhash"], hashed)

    def test_any_trace(self):
        """Also such as are damaged or have names that are no text."""
        checked = 0
        for trace in (harness.ROOT / "fuzz/corpus/trace").iterdir():
            done = subprocess.run([GEIGER, "export", "otlp", "--errors", trace], capture_output=True, timeout=PATIENCE)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if done.stdout:
                check(messages.Data.FromString(done.stdout))
                checked += 1
        self.assertGreater(checked, 2)

    def test_python(self):
        run = self.record("python.geiger", "/usr/bin/python3", "-c",
                          "def grow():\n    return [bytes(3000) for _ in range(500)]\nkept = grow()")
        data = self.export(run=run)
        check(data)
        location = next(one for one in data.dictionary.location_table[1:]
                        if attributes(data, one.attribute_indices).get("profile.frame.type") == "cpython")
        self.assertEqual((location.mapping_index, location.address), (0, 0))
        function = data.dictionary.function_table[location.lines[0].function_index]
        self.assertTrue(data.dictionary.string_table[function.name_strindex])

    def test_resource(self):
        data = self.export("--service", "shop", "--attribute", "zone=b", "--host", "web-1")
        said = resource(data)
        self.assertEqual((said["service.name"], said["zone"], said["host.name"]), ("shop", "b", "web-1"))
        self.assertEqual(said["process.executable.path"], os.path.realpath("/usr/bin/perl"))
        self.assertIsInstance(said["process.pid"], int)
        self.assertRegex(said["service.instance.id"], r"^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(resource(self.export("--host", "web-1"))["service.instance.id"], said["service.instance.id"])
        done = self.geiger("export", "otlp", self.run_, OTEL_SERVICE_NAME="cart",
                           OTEL_RESOURCE_ATTRIBUTES="service.name=no,service.version=2%2E1,deployment.environment=a%2Cb")
        said = resource(messages.Data.FromString(done.stdout))
        self.assertEqual((said["service.name"], said["service.version"], said["deployment.environment"]),
                         ("cart", "2.1", "a,b"))


class Pushes(Otlp):
    def test_a_run(self):
        receiver = self.receiver()
        told = self.push(receiver, "--service", "shop", "--label", "zone=b")
        self.assertIn("sent to otlp+http://", told)
        total = {}
        for request in receiver.requests:  # One a window of the grid.
            self.assertEqual(request["path"], "/v1development/profiles")
            self.assertEqual(request["headers"]["Content-Type"], "application/x-protobuf")
            self.assertEqual(request["headers"]["Content-Encoding"], "gzip")
            self.assertEqual(request["headers"]["OTLP-Profiles-Development-Version"], "1")
            said = resource(request["data"])
            self.assertEqual((said["service.name"], said["zone"]), ("shop", "b"))
            for each, value in sums(request["data"]).items():
                total[each] = total.get(each, 0) + value if each[0].startswith("alloc") else value
            self.assertFalse(any(sample.attribute_indices for profile in profiles(request["data"]) for sample in profile.samples))
        self.assertEqual(total["alloc_space", "bytes"], round(self.total()["bytes"]["value"]))
        self.assertEqual(total["inuse_space", "bytes"], round(self.total("--kind", "live")["bytes"]["value"]))

    def test_what_is_sent_again_and_what_is_not(self):
        later = email.utils.formatdate(time.time() + 2, usegmt=True)
        receiver = self.receiver((503, {"Retry-After": "1"}, b""), (429, {"Retry-After": later}, status(b"slowly")),
                                 (502, {}, b""), (None, {}, b""))
        told = self.push(receiver)
        self.assertEqual([each["status"] for each in receiver.requests][:5], [503, 429, 502, None, 200])
        self.assertGreaterEqual(receiver.requests[1]["time"] - receiver.requests[0]["time"], 1)
        self.assertIn("429 slowly; next attempt in", told)
        for code in (400, 401, 403, 404, 408, 500, 501):
            receiver = self.receiver((code, {}, status(b"the\x1breason")))
            told = self.push(receiver, code=1)
            self.assertEqual(len(receiver.requests), 1, told)
            self.assertRegex(told, f"the next one was not accepted: {code} the.*reason")
            self.assertNotIn("\x1b", told)
        receiver = self.receiver(*[(503, {"Retry-After": "3600"}, b"")] * 9)
        self.assertIn("it asks for 3600 s", self.push(receiver, code=1))
        self.assertEqual(len(receiver.requests), 1)

    def test_partial_success(self):
        receiver = self.receiver((200, {}, partial(3, "no room")))
        told = self.push(receiver, code=1)
        self.assertIn("the receiver dropped 3 of its profiles: no room", told)
        self.assertEqual([each["status"] for each in receiver.requests if each["status"] != 200], [])
        receiver = self.receiver((200, {}, partial(0, "old layout")))
        self.assertIn("the receiver warns: old layout", self.push(receiver))
        for odd in (b"\xff" * 99, b"{}", b"x" * (5 << 20)):
            self.push(self.receiver((200, {}, odd)))

    def test_too_large_is_halved_once(self):
        run = self.record("large.geiger", "/usr/bin/python3", "-c", """
def go(path, depth):
    return [bytes(5000)] if depth == 0 else (right if path & 1 else left)(path, depth)
def left(path, depth):
    return go(path >> 1, depth - 1)
def right(path, depth):
    return go(path >> 1, depth - 1)
kept = [go(i, 16) for i in range(30000)]
""", interval="64")
        receiver = self.receiver((413, {}, b""))
        self.push(receiver, run=run)
        sizes = [each["size"] for each in receiver.requests]
        self.assertEqual(receiver.requests[1]["status"], 200)
        self.assertLess(sizes[1], sizes[0])
        self.assertLessEqual(max(sizes), 4 << 20)
        self.assertIn("[stacks not distinguished]", receiver.taken[0].dictionary.string_table)
        total = sum(sums(data)["alloc_space", "bytes"] for data in receiver.taken)
        self.assertEqual(total, round(self.total(run=run)["bytes"]["value"]))
        receiver = self.receiver(*[(413, {}, b"")] * 9)
        self.assertIn("413", self.push(receiver, run=run, code=1))
        self.assertEqual(len(receiver.requests), 2)

    def test_environment(self):
        receiver = self.receiver()
        secret = "Bearer a-secret-of-some-length"
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url + "/otlp/", "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
                     "OTEL_EXPORTER_OTLP_HEADERS": "api-key=no", "OTEL_EXPORTER_OTLP_TIMEOUT": "5000",
                     "OTEL_EXPORTER_OTLP_PROFILES_HEADERS": f"Authorization={secret.replace(' ', '%20')}, tenant = acme",
                     "OTEL_SERVICE_NAME": "cart"}
        told = self.push(receiver, url="otlp://", **variables)
        request = receiver.requests[0]
        self.assertEqual(request["path"], "/otlp/v1development/profiles")
        self.assertEqual((request["headers"]["Authorization"], request["headers"]["tenant"]), (secret, "acme"))
        self.assertNotIn("Content-Encoding", request["headers"])
        self.assertNotIn("api-key", request["headers"])
        self.assertEqual(resource(request["data"])["service.name"], "cart")
        self.push(receiver, url="otlp://", **variables, OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=receiver.url + "/own")
        self.assertEqual(receiver.requests[-1]["path"], "/own")
        self.push(receiver, **variables)  # To a named one: not its secrets.
        self.assertNotIn("Authorization", receiver.requests[-1]["headers"])
        for name, value, why in (("PROTOCOL", "grpc", "port 4318"), ("TIMEOUT", "soon", "milliseconds"),
                                 ("COMPRESSION", "zstd", "neither gzip nor none"), ("ENDPOINT", "", "is not set"),
                                 ("ENDPOINT", "http://192.0.2.1:4318", "for this host only")):
            told = self.push(receiver, url="otlp://", code=1, **{**variables, f"OTEL_EXPORTER_OTLP_{name}": value})
            self.assertIn(why, told)
            self.assertNotIn("a-secret", told)
        slow = self.receiver()
        slow.answers = [(200, {}, b"")] * 9
        self.assertIn("otlp:// takes no host", self.push(receiver, url="otlp://a.example", code=1))

    def test_tls(self):
        def made(name, *words):
            paths = [os.path.join(self.directory, f"{name}.{end}") for end in ("key", "crt")]
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                            "-keyout", paths[0], "-out", paths[1], *words], check=True, capture_output=True, timeout=PATIENCE)
            return paths
        server = made("server", "-addext", "subjectAltName=DNS:localhost")
        client = made("client")
        receiver = self.receiver()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server[1], server[0])
        context.load_verify_locations(client[1])
        context.verify_mode = ssl.CERT_REQUIRED
        receiver.socket = context.wrap_socket(receiver.socket, server_side=True)
        url = f"otlp+https://localhost:{receiver.server_port}"
        variables = {"OTEL_EXPORTER_OTLP_CERTIFICATE": server[1], "OTEL_EXPORTER_OTLP_CLIENT_KEY": client[0],
                     "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": client[1]}
        self.push(receiver, url=url, **variables)
        self.assertEqual(len(receiver.taken), len(receiver.requests))
        self.assertTrue(receiver.taken)

    def test_run(self):
        for program, code in (("print 1", 0), ("exit 3", 3)):
            receiver = self.receiver()
            done = subprocess.run(
                [GEIGER, "run", "--interval", "1KiB", "-f", "-o", os.path.join(self.directory, "own.geiger"), "--otlp",
                 f"otlp+{receiver.url}", "--", "perl", "-e", f'my %h; $h{{$_}} = "x" x 300 for 1..20000; {program}'],
                capture_output=True, timeout=PATIENCE, env=harness.environment([]))
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertGreater(sums(receiver.taken[0])["alloc_space", "bytes"], 300 * 20000)
            self.assertEqual(resource(receiver.taken[0])["service.name"], "perl")
        gone = self.receiver()
        gone.server_close()
        done = subprocess.run([GEIGER, "run", "-q", "-f", "-o", os.path.join(self.directory, "own.geiger"), "--otlp",
                               f"otlp+{gone.url}", "--", *PROGRAM[:2], "exit 4"], capture_output=True, timeout=PATIENCE,
                              env=harness.environment([]))
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"not accepted", done.stderr)

    def agent(self, receiver, *words, code=0):
        done = self.geiger("agent", "--once", "--watch", self.directory, "--spool", os.path.join(self.directory, "spool"),
                           "--to", f"otlp+{receiver.url}", *words, code=code)
        return done.stderr.decode()

    def test_agent(self):
        spool = os.path.join(self.directory, "spool")
        self.addCleanup(shutil.rmtree, spool, ignore_errors=True)
        receiver = self.receiver((503, {}, b""))
        self.agent(receiver, code=1)
        self.assertEqual(len(receiver.requests), 1)
        self.agent(receiver)  # What waits in the spool goes now, once.
        for data in receiver.taken:
            check(data)
            self.assertTrue(resource(data)["service.instance.id"])
        count = len(receiver.requests)
        self.agent(receiver)
        self.assertEqual(len(receiver.requests), count)
        total = sum(sums(data)["alloc_space", "bytes"] for data in receiver.taken
                    if resource(data)["service.name"] == os.path.basename(os.path.realpath("/usr/bin/perl")))
        self.assertGreaterEqual(total, round(self.total()["bytes"]["value"]))


class Contexts(Otlp):
    PUBLISHES = """
import ctypes, mmap, os, sys, time
sys.path.insert(0, sys.argv[1])
import otlp_messages
context = otlp_messages.ProcessContext()
for key, value in (("service.name", "from-the-sdk"), ("service.instance.id", "the-sdks-own"), ("zone", "sdk")):
    one = context.resource.attributes.add()
    one.key, one.value.string_value = key, value
payload = context.SerializeToString()
libc = ctypes.CDLL(None, use_errno=True)
memfd = os.memfd_create("OTEL_CTX")
os.ftruncate(memfd, 4096)
memory = mmap.mmap(memfd, 4096, flags=mmap.MAP_PRIVATE)
text = ctypes.create_string_buffer(payload, len(payload))
header = (b"OTEL_CTX" + (2).to_bytes(4, "little") + len(payload).to_bytes(4, "little") + (1).to_bytes(8, "little")
          + ctypes.addressof(text).to_bytes(8, "little"))
memory[:32] = header
kept = [bytes(5000) for _ in range(2000)]
print("ready", flush=True)
sys.stdin.read()
"""

    def test_what_the_sdk_publishes_wins(self):
        directory = tempfile.mkdtemp(dir=self.directory)
        environment = {**harness.environment([]), "OTEL_SERVICE_NAME": "from-the-environment", "OTEL_RESOURCE_ATTRIBUTES": "team=red"}
        program = subprocess.Popen(
            [GEIGER, "run", "-q", "--interval", "1KiB", "--", "/usr/bin/python3", "-c", self.PUBLISHES,
             os.path.dirname(os.path.abspath(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
            cwd=directory)
        try:
            self.assertEqual(program.stdout.readline(), b"ready\n")
            receiver = self.receiver()
            done = self.geiger("agent", "--once", "--watch", directory, "--spool", os.path.join(directory, "spool"), "--label",
                               "zone=given", "--to", f"otlp+{receiver.url}")
            self.assertTrue(receiver.taken, done.stderr)
            said = resource(receiver.taken[0])
            self.assertEqual((said["service.name"], said["service.instance.id"], said["zone"], said["team"]),
                             ("from-the-sdk", "the-sdks-own", "given", "red"))
            (run,) = (each.path for each in os.scandir(directory) if each.name.startswith("geiger-"))
            pushed = self.receiver()
            self.push(pushed, run=run)  # Of a program that still runs.
            self.assertEqual(resource(pushed.taken[-1])["service.instance.id"], "the-sdks-own")
        finally:
            program.communicate(b"", timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main()
