"""Serves the files of a folder, and says at which port: python file_server.py FOLDER"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Files(BaseHTTPRequestHandler):
    """Serves whole files and ranges of them, as a web server or S3 would."""

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None

    def do_HEAD(self):
        path = self.folder / self.path.split("?")[0].lstrip("/")
        if not path.is_file():
            return self.send_error(404)
        data = path.read_bytes()
        first, last, asked = 0, len(data) - 1, self.headers.get("Range")
        if asked:
            begin, end = asked.removeprefix("bytes=").split("-")
            first, last = int(begin), int(end or last)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Accept-Ranges", "bytes")
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Last-Modified", "Sun, 15 Nov 2026 10:00:00 GMT")
        self.send_header("ETag", '"1"')
        self.end_headers()
        return data[first : last + 1]

    def do_GET(self):
        self.wfile.write(self.do_HEAD() or b"")

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
