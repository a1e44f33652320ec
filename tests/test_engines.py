"""Engines give the same results wherever they run, and survive workers that die."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from surepick.engines import Dask, Processes, Serial, WorkerDiedError, engine
from surepick.errors import SurepickError


def square(n):
    return n * n


def die_once(task):
    """Kill the worker the first time a marked task is run."""
    n, marker = task
    if n == 3 and not os.path.exists(marker):
        with open(marker, "w") as f:
            f.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


def always_die(task):
    os.kill(os.getpid(), signal.SIGKILL)


def test_serial_and_processes_agree():
    tasks = list(range(20))
    assert dict(Serial().run(square, tasks)) == dict(Processes(2).run(square, tasks))


def test_a_pool_that_loses_a_worker_is_replaced(tmp_path):
    tasks = [(n, str(tmp_path / "died")) for n in range(8)]
    assert sorted(r for _, r in Processes(2).run(die_once, tasks)) == [n * n for n in range(8)]
    assert (tmp_path / "died").exists()


def test_workers_that_keep_dying_are_reported():
    with pytest.raises(WorkerDiedError, match="fewer --jobs"):
        list(Processes(2, attempts=2).run(always_die, [1, 2]))


def test_bad_engines_are_named():
    with pytest.raises(SurepickError, match="did you mean 'dask'"):
        engine("dusk")
    with pytest.raises(SurepickError, match="--scheduler"):
        engine("dask")
    with pytest.raises(SurepickError, match="jobs"):
        engine("processes", jobs=0)


def test_no_scheduler_there():
    with pytest.raises(SurepickError, match="no Dask scheduler answers"):
        list(Dask("tcp://127.0.0.1:9", timeout="1s").run(square, [1]))


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, each a process of its own."""
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    processes = [
        subprocess.Popen(
            [*dask, "scheduler", "--port", "0", "--scheduler-file", str(file), *here], **quiet
        )
    ]
    while not file.exists():
        assert processes[0].poll() is None
        time.sleep(0.05)
    for _ in range(2):
        processes.append(
            subprocess.Popen(
                [*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny"]
                + here,
                **quiet,
            )
        )
    yield json.loads(file.read_text())["address"], processes[1:]
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.validation
def test_the_paper_on_a_dask_cluster(cluster, tmp_path):
    """Same rows from one process, two processes, and a cluster that loses one of two workers."""
    from surepick.bench.reproduce.reproduction import Reproduction, collect, run_tasks
    from surepick.bench.store import ResultsFolder

    address, workers = cluster
    plan = Reproduction(figures=("a",), algorithms=("peleg", "lucb"), trials=20, delta=0.2)
    killed = []

    def kill_one(progress):
        if progress.done > 40 and not killed:
            workers[0].kill()
            killed.append(True)

    found = {}
    for name, where in (("1", Serial()), ("2", Processes(2)), ("dask", Dask(address))):
        folder = ResultsFolder(tmp_path / name, plan.describe("test"))
        watch = kill_one if name == "dask" else lambda progress: None
        run_tasks(plan.tasks(), folder, where, watch)
        found[name] = list(collect(plan, folder).trials.rows())
    assert killed
    assert found["1"] == found["2"] == found["dask"]
    assert len(found["1"]) == 5 * 2 * 20
