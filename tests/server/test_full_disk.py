"""A disk that is full, and has room again: remote workers wait for it."""

import contextlib
import shutil
import subprocess
import threading
import time

import pytest
from tests.postgres import Server, fast_folder
from tests.server.served import Served
from tests.server.test_routes import at


@pytest.fixture
def small_disk():
    """A file system with room for two megabytes."""
    place = fast_folder("sp-disk-")
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        place.rmdir()
        pytest.skip("only root can make a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
    place.rmdir()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, small_disk):
    """A database on that disk; of PostgreSQL the tables, as it would not start without room."""
    if request.param == "sqlite":
        yield f"sqlite:///{small_disk}/s.db"
        return
    small_disk.chmod(0o755)
    server, space = Server(), small_disk / "space"
    space.mkdir()
    if server.user is not None:
        shutil.chown(space, server.user)
    server.sql(f"CREATE TABLESPACE small LOCATION '{space}'")
    yield server.url() + "%20-cdefault_tablespace%3Dsmall"
    server.close()


@pytest.mark.validation
def test_workers_wait_until_there_is_room_again(url, small_disk, tmp_path):
    with Served(url, tmp_path) as served, served.http() as http:
        body = {"name": "s", "problem": {"arms": [[1, 0], [0, 1]], "noise": 1.0}}
        http.post("/api/v1/studies", json=body).raise_for_status()
        (pull,) = http.post(at("s", "/ask"), json={"worker": "w"}).json()["pulls"]
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 512)
        tell = {"rewards": [{"pull": pull["id"], "reward": 1.0}], "worker": "w"}
        full = http.post(at("s", "/tell"), json=tell)
        assert (full.status_code, full.json()["error"]["kind"]) == (503, "StorageFullError")
        assert int(full.headers["Retry-After"]) >= 1
        told = []

        def work():
            with served.client() as client:
                told.append(client.load_study("s").tell(pull["id"], 1.0, "w").status)

        worker = threading.Thread(target=work)
        worker.start()
        time.sleep(1.0)
        assert not told
        filler.unlink()
        worker.join(60)
        assert told == ["accepted"]
