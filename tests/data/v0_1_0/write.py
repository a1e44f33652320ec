"""Writes the samples beside this file: what version 0.1.0 saved, and what it did next.

It was run once, with the package of version 0.1.0 and the tests of that checkout on the path:

    PYTHONPATH=surepick-0.1.0/src:surepick-0.1.0 python tests/data/v0_1_0/write.py

``certificates.json.gz``
    One certificate of each algorithm, and of each thing that a certificate can say.
``runs.json.gz``
    For the same cases: a run saved half-way, the batches that came after it with their rewards,
    and the answer.
``studies.db.gz``, ``studies.sql.gz``
    The same studies in SQLite (the file) and in PostgreSQL (a dump, in the schema v0_1_0).
``studies.json.gz``
    Where those studies stood, the pulls that were handed out next with their rewards, the answers.
"""

import gzip
import json
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import surepick as sp

HERE = Path(__file__).parent
SCHEMA = "v0_1_0"  # of the PostgreSQL dump
NOISE = 0.1  # of the studies
YEARS = 3e9  # a lease, in seconds, that is still out whenever the tests run
ARMS = np.array([[1.0, 0.1, 0.0], [0.2, 0.9, 0.3], [-0.4, 0.3, 1.0], [0.6, 0.7, -0.5], [0.1, 0, 1]])
THETA = np.array([1.0, 0.35, -0.2])
LABELS = ["plain", "bold", "tall", "wide", "dark"]


def many_arms() -> np.ndarray:
    """A larger table than files contain, from whole numbers: the same on every machine."""
    rows = np.arange(1, 4201, dtype=np.int64)[:, None]
    four = rows * np.array([7919, 104_729, 1_299_709, 15_485_863]) % 100_003 / 100_003
    return np.tile(four, 16)


def rewards_of(draw: random.Random, means, noise: float) -> list[float]:
    """Short numbers, which take little room."""
    return [round(float(mean) + draw.gauss(0.0, noise), 3) for mean in means]


# -- certificates and runs -----------------------------------------------------------------
def cases():
    """Name, algorithm, problem and truth of each sample; past measurements where there are any."""
    problem = sp.Problem(ARMS, noise=0.25, labels=LABELS)
    quiet = sp.Problem(ARMS, noise=0.02, labels=LABELS)  # for those that measure a lot
    get = sp.algorithms.get
    for name in sp.algorithms.names():
        theta = {"theta": THETA} if name == "xy-oracle" else {}
        yield name, get(name, delta=0.1, **theta), quiet if name == "peleg-paper" else problem, None
    for name in ("checked-fit", "estimated-noise"):
        yield name, get(name, delta=0.1), problem, None
        yield f"{name}, peleg", get(name, delta=0.1, inner="peleg"), problem, None
    for name in ("pooled-peleg", "peleg", "peleg-paper", "rage", "lingape", "lingame", "glucb"):
        close = sp.Problem(np.vstack([ARMS, ARMS[0] + [0.0, 0.001, 0.0]]), noise=0.05)
        yield f"{name}, epsilon", get(name, delta=0.1, epsilon=0.3), close, None
    for name in ("pooled-peleg", "peleg", "rage", "xy-static", "fws"):
        other = sp.Problem(
            ARMS, ARMS[:3] * 1.5, 0.25, labels=LABELS, candidate_labels=["x", "y", "z"]
        )
        yield f"{name}, candidates", get(name, delta=0.1), other, None
    twins = sp.Problem(ARMS[[0, 1, 0, 2, 1]], noise=0.25)
    yield "pooled-peleg, twins", get("pooled-peleg", delta=0.1), twins, None
    yield "pooled-peleg, budget", get("pooled-peleg", delta=1e-6, max_samples=12), problem, None
    for name in ("pooled-peleg", "checked-fit", "estimated-noise"):
        for chosen in (True, False):
            how = "in advance" if chosen else "by results"
            yield f"{name}, past {how}", get(name, delta=0.01), problem, chosen
    yield "many arms", get("pooled-peleg", delta=0.1), sp.Problem(many_arms(), noise=0.05), None


def started(name: str, algorithm, problem: sp.Problem, past: bool | None):
    """A run, what it asks to be measured, and the means of that."""
    run = algorithm.start(problem, rng=7)
    theta = np.zeros(problem.n_features)
    theta[:3] = THETA
    means = problem.arms @ theta
    draw = random.Random(name)
    if past is not None:
        arms = [0, 1, 2, 3, 4] * 2
        run.tell_past(arms, rewards_of(draw, means[arms], problem.noise), chosen_in_advance=past)
    return run, means, draw


def go_on(run, means, draw, batches: int | None = None) -> list[dict]:
    """Measure so many batches, or all that are left; what was asked and told."""
    told = []
    while not run.stopped and (batches is None or len(told) < batches):
        batch = run.ask()
        rewards = rewards_of(draw, means[batch.arms], run.problem.noise)
        arms, counts = batch.pulls
        told.append({"arms": arms.tolist(), "counts": counts.tolist(), "rewards": rewards})
        run.tell(batch, rewards)
    return told


def write_runs() -> None:
    certificates, runs = {}, {}
    for number, (name, *case) in enumerate(cases()):
        begin = time.perf_counter()
        run, means, draw = started(name, *case)
        whole = len(go_on(run, means, draw))
        certificates[name] = run.answer.certificate()
        run, means, draw = started(name, *case)
        go_on(run, means, draw, whole // 2)
        if number % 2:
            run.ask()  # saved with a batch open
        saved = run.to_json()
        told = go_on(run, means, draw)
        assert len(told) == whole - whole // 2
        assert run.answer.certificate() == certificates[name]
        runs[name] = {"saved": saved, "next": told, "answer": run.answer.to_dict()}
        problem = case[1]
        sp.verify(certificates[name], problem if problem.by_reference else None)
        took = time.perf_counter() - begin
        print(f"{name}: {whole} batches, {run.samples} pulls, {len(saved)} bytes, {took:.1f} s")
    write("certificates.json.gz", json.dumps(certificates))
    write("runs.json.gz", json.dumps(runs))


# -- studies -------------------------------------------------------------------------------
TABLE = "label,size,colour\n" + "".join(
    f"{size}-{colour},{size},{colour}\n" for size in (1, 2, 4) for colour in ("red", "blue", "grey")
)


def write_studies(url: str, folder: Path) -> dict[str, str]:
    """Fill a storage; returns the secrets of its tokens."""
    from surepick.study.table import create_from_table

    from surepick.server.tokens import Tokens
    from surepick.storage import open_storage

    problem = sp.Problem(ARMS, noise=NOISE, labels=LABELS)
    storage = open_storage(url, create=True)

    def create(name, algorithm="pooled-peleg", **more):
        return sp.create_study(name, problem, algorithm, storage, delta=0.05, **more)

    fresh = create("fresh", "rage", meta={"owner": "ops", "tags": [1, 2]})
    assert not fresh.finished

    running = create("running")
    measure(running, pulls=20)  # into the second batch
    running.ask(2, worker="away", lease=YEARS)
    running.ask(1, worker="gone", lease=0.001)
    (failed, again) = running.ask(2, worker="ann", lease=YEARS)
    running.fail(failed.id, "out of paper", worker="ann")
    running.tell(again.id, reward_of(again), worker="ann")
    running.tell_many([(again.id, reward_of(again))], worker="ann")  # a duplicate
    running.tell_many([(again.id, 9.75)], worker="bob")  # late
    running.tell_many([(again.id, 9.5)], worker="ann")  # a conflict

    measure(create("finished", "peleg"))
    measure(create("one by one", "lingape", max_samples=40), pulls=20)

    past = folder / "past.csv"
    draw = random.Random("past")
    rows = [
        f"{a},{r}" for a, r in zip(LABELS * 3, rewards_of(draw, np.tile(ARMS @ THETA, 3), NOISE))
    ]
    past.write_text("\n".join(["label,reward", *rows]) + "\n")
    measure(create("with past", past=past, past_chosen="in advance"), pulls=5)
    measure(create("guided by past", past=past, past_chosen="by results"), pulls=5)
    measure(create("checked", check_fit=1.0), pulls=12)
    measure(create("noise unknown", noise="estimate"), pulls=12)

    table = folder / "options.csv"
    table.write_text(TABLE)
    pooled = sp.algorithms.get("pooled-peleg", delta=0.05, max_batch=16)
    formula, _ = create_from_table(
        "from a formula", table, pooled, storage,
        noise=NOISE, formula="size*C(colour)", label="label", called="options.csv",
    )  # fmt: skip
    measure(formula, pulls=20)

    tokens = Tokens(storage)
    secrets = {
        "admin": tokens.make("admin", note="made for the samples")[1],
        "worker": tokens.make("worker", ("running", "checked"))[1],
        "viewer": tokens.make("viewer", expires_in=YEARS)[1],
        "expired": tokens.make("viewer", expires_in=0.001)[1],
    }
    tokens.log_in(tokens.find(secrets["admin"]), YEARS)
    storage.close()
    return secrets


MEANS = dict(zip(LABELS, ARMS @ THETA)) | {
    f"{size}-{colour}": 0.3 * size + effect
    for size in (1, 2, 4)
    for colour, effect in (("red", 0.0), ("blue", 0.5), ("grey", 0.2))
}


def reward_of(pull) -> float:
    """The reward of a pull: its number and its option decide."""
    return rewards_of(random.Random(f"{pull.id}/{pull.label}"), [MEANS[pull.label]], NOISE)[0]


def measure(study, pulls: int | None = None) -> list:
    """Measure so many pulls, or until the end, as two workers; [worker, pull, arm, reward] each."""
    done = []
    while not study.finished:
        for worker in ("ann", "away"):
            left = 8 if pulls is None else min(8, pulls - len(done))
            if left <= 0:
                return done
            asked = study.ask(left, worker=worker, lease=600.0)
            study.tell_many([(pull.id, reward_of(pull)) for pull in asked], worker=worker)
            done += [[worker, pull.id, pull.arm, reward_of(pull)] for pull in asked]
    return done


def look(study) -> dict:
    """Where a study stands, and all that was exported of it but the times."""
    from surepick.report import export

    status = {k: v for k, v in study.status().items() if k != "checks"}
    rows = {what: export.rows(study, what) for what in ("measurements", "options", "events")}
    for row in (row for table in rows.values() for row in table):
        row.pop("time", None)
    return {"status": status, "meta": study.meta, **rows}


def what_came_next(url: str) -> dict:
    """Look at each study, then take it to its end."""
    found = {}
    for name in sp.list_studies(url):
        study = sp.load_study(name, url)
        found[name] = look(study)
        found[name]["next"] = measure(study)
        found[name]["answer"] = study.answer.to_dict()
        print(name, found[name]["status"]["samples"], "->", study.answer.samples, study.answer)
        study.close()
    return json.loads(json.dumps(found))


def write_databases() -> None:
    from tests.postgres import Server

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/studies.db"
        secrets = {"sqlite": write_studies(url, folder)}
        assert not list(folder.glob("studies.db-*"))
        write("studies.db.gz", (folder / "studies.db").read_bytes())
        studies = what_came_next(url)

        server = Server()
        try:
            server.sql(f"CREATE SCHEMA {SCHEMA}")
            where = f"host={server.folder}&options=-csearch_path%3D{SCHEMA}"
            url = f"postgresql+psycopg://tester@/postgres?{where}"
            secrets["postgresql"] = write_studies(url, folder)
            dump = ["pg_dump", "-h", server.folder, "-U", "tester", "-n", SCHEMA, "--no-owner"]
            dumped = subprocess.run(
                [*dump, "--inserts", "postgres"], check=True, capture_output=True, text=True
            )
            write("studies.sql.gz", plain_sql(dumped.stdout))
            assert what_came_next(url) == studies
        finally:
            server.close()
    write("studies.json.gz", json.dumps({"secrets": secrets, "studies": studies}))


def plain_sql(dump: str) -> str:
    """A dump without psql's own commands, comments, and settings that only some servers know."""
    return re.sub(r"^(--.*|\\.*|SET .*;|SELECT pg_catalog\.set_config.*)?\n", "", dump, flags=re.M)


def write(name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    (HERE / name).write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    write_runs()
    write_databases()
