"""A server that takes what Pyroscope and Parca take, within their default limits."""
import email.parser
import email.policy
import gzip
import http.server
import threading
import time
import urllib.parse

# Pyroscope's defaults: max_profile_size_bytes, max_profile_stacktrace_samples,
# reject_older_than.
MOST_BYTES, MOST_SAMPLES, OLDEST = 4 << 20, 16_000, 3600
WRITE_RAW = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(field, value) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def samples_in(pprof):
    """How many, and the sum of each value; and the string table."""
    count, sums, texts = 0, [], []
    for field, value in fields(pprof):
        if field == 2:
            count += 1
            packed = dict(fields(value)).get(2, b"")
            values, at = [], 0
            while at < len(packed):
                number, at = varint(packed, at)
                values.append(number)
            sums = [a + b for a, b in zip(sums or [0] * len(values), values)]
        elif field == 6:
            texts.append(value.decode())
    return count, sums, texts


class Server(http.server.ThreadingHTTPServer):
    """Takes what Pyroscope and Parca take; keeps it in `taken`."""

    daemon_threads = True

    def __init__(self):
        self.taken, self.refuses = [], None
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/ingest":
            self.answer(*self.ingest(urllib.parse.parse_qs(url.query), body))
        elif url.path == WRITE_RAW and self.headers["Content-Type"] == "application/grpc-web+proto":
            self.write_raw(body)
        else:
            self.answer(404, b"not found")

    def ingest(self, query, body):
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        parts = {part.get_param("name", header="content-disposition"):
                 part.get_payload(decode=True) for part in form.iter_parts()}
        pprof = gzip.decompress(parts["profile"])
        if len(pprof) > MOST_BYTES:
            return 413, b"the profile is too large"
        if samples_in(pprof)[0] > MOST_SAMPLES:
            return 422, b"the profile has too many samples"
        if int(query["until"][0]) < time.time() - OLDEST:
            return 422, b"profile with timestamp out of ingestion window"
        self.server.taken.append((query, parts, self.headers["Authorization"]))
        return 200, b""

    def write_raw(self, body):
        if self.server.refuses:
            trailers = f"grpc-status: 3\r\ngrpc-message: {self.server.refuses}\r\n".encode()
        else:
            assert body[0] == 0 and int.from_bytes(body[1:5], "big") == len(body) - 5
            self.server.taken.append(body[5:])
            trailers = b"grpc-status: 0\r\ngrpc-message: \r\n"
        frames = b"" if self.server.refuses else b"\0\0\0\0\0"
        self.answer(200, frames + b"\x80" + len(trailers).to_bytes(4, "big") + trailers)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
