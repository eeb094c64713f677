"""A real nginx in front of several servers, set up as docs/sharing.md says, for a test or a benchmark."""

import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.app.server import PATIENCE, free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
# A visitor's session lives in one server, so that whoever comes from one address always goes to the same.
CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream shortlong {{
        hash $remote_addr consistent;
        {servers}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://shortlong;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
            proxy_set_header Host $host:$server_port;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_read_timeout 3600s;
        }}
    }}
}}
"""


@contextmanager
def balanced(ports: Sequence[int], folder: Path) -> Iterator[int]:
    """The port of the one address behind which several servers stand."""
    assert NGINX, "nginx is not installed"
    port = free_port()
    servers = "\n        ".join(f"server 127.0.0.1:{number};" for number in ports)
    file = folder / "nginx.conf"
    file.write_text(CONFIGURATION.format(folder=folder, servers=servers, port=port))
    process = subprocess.Popen([NGINX, "-c", str(file), "-p", str(folder)], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, (folder / "nginx.log").read_text()
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).read()
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait(20)
