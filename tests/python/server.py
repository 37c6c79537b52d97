"""A web server whose requests allocate: a page of JSON by number. Prints its port."""
import http.server
import json
import sys


def document(number):
    return {"number": number, "items": [{"id": i, "name": f"item {i}"} for i in range(number % 50)]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        body = json.dumps(document(int(self.path.lstrip("/")))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 100


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
