"""A modern ClickHouse on loopback, for tests: the library in npm's package chdb behind an HTTP server.

`npm install chdb` in a folder (546 MB), whose path is GEIGER_CHDB. What the server of ClickHouse adds to the
library is not tested: async_insert, users and rights, replication.
"""
import ctypes
import glob
import http.server
import os
import shutil
import tempfile
import threading
import urllib.parse

from clickhouse_server import PATIENCE, ClickHouse


def library():
    """Its path; None where it is not installed."""
    found = glob.glob(os.path.join(os.environ.get("GEIGER_CHDB", "/nowhere"), "node_modules", "@chdb",
                                   "lib-linux-*", "libchdb.so"))
    return found[0] if found else None


class Engine:
    """A database in a folder. It answers one query at a time."""

    def __init__(self, folder):
        self.lock = threading.Lock()
        self.calls = ctypes.CDLL(library())
        for name, result in (("connect", ctypes.c_void_p), ("query_n", ctypes.c_void_p),
                             ("result_buffer", ctypes.c_void_p), ("result_length", ctypes.c_size_t),
                             ("result_error", ctypes.c_char_p)):
            getattr(self.calls, "chdb_" + name).restype = result
        words = (ctypes.c_char_p * 2)(b"clickhouse", f"--path={folder}".encode())
        self.handle = self.calls.chdb_connect(2, words)
        if not self.handle:
            raise RuntimeError("the library does not open its folder")
        self.connection = ctypes.c_void_p.from_address(self.handle).value

    def close(self):
        self.calls.chdb_close_conn(ctypes.c_void_p(self.handle))

    def ask(self, query, database):
        """The answer as tab separated text; fails with ValueError."""
        with self.lock:
            self.run(f"USE {database}".encode())
            return self.run(query)

    def run(self, query):
        form = b"TabSeparated"
        result = ctypes.c_void_p(self.calls.chdb_query_n(
            ctypes.c_void_p(self.connection), query, ctypes.c_size_t(len(query)), form,
            ctypes.c_size_t(len(form))))
        try:
            error = self.calls.chdb_result_error(result)
            if error:
                raise ValueError(error.decode(errors="replace"))
            length = self.calls.chdb_result_length(result)
            return ctypes.string_at(self.calls.chdb_result_buffer(result), length) if length else b""
        finally:
            self.calls.chdb_destroy_query_result(result)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        query = asked["query"].encode() + b"\n" + body if "query" in asked else body
        try:
            self.answer(200, self.server.engine.ask(query, asked.get("database", "default")))
        except ValueError as error:
            unknown = any(name in str(error) for name in ("UNKNOWN_TABLE", "UNKNOWN_DATABASE"))
            self.answer(404 if unknown else 500, str(error).encode())

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class ClickHouseLibrary:
    """As ClickHouse of clickhouse_server.py."""

    ask, url = ClickHouse.ask, ClickHouse.url

    def __init__(self):
        self.data = tempfile.mkdtemp(prefix="geiger-chdb-")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.engine = Engine(self.data)
        self.http = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def remove(self):
        self.server.shutdown()
        self.thread.join(PATIENCE)
        self.server.server_close()
        self.server.engine.close()
        shutil.rmtree(self.data, ignore_errors=True)
