"""Three workers share a study in a database. One of them crashes; nothing is lost."""

import random
import tempfile
import threading
from pathlib import Path

import surepick as sp

OPTIONS = {"small": [1.0, 0.0], "large": [1.0, 1.0], "huge": [1.0, 1.5]}
MEANS = {"small": 0.0, "large": 0.6, "huge": 0.9}


def work(name: str, storage: str, crashes: bool) -> None:
    """Measure until the study is finished; a worker that crashes keeps its first pulls for ever."""
    draw = random.Random(name)
    with sp.load_study("sizes", storage) as study:
        while not study.finished:
            pulls = study.ask(4, worker=name, lease=2.0, wait=1.0)
            if crashes and pulls:
                return
            for pull in pulls:
                study.tell(pull.id, draw.gauss(MEANS[pull.label], 0.3))


with tempfile.TemporaryDirectory() as folder:
    storage = f"sqlite:///{Path(folder) / 'studies.db'}"
    problem = sp.Problem(list(OPTIONS.values()), noise=0.3, labels=list(OPTIONS))
    sp.create_study("sizes", problem, storage=storage, delta=0.05).close()
    work("worker 0", storage, crashes=True)
    workers = [threading.Thread(target=work, args=(f"worker {i}", storage, False)) for i in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with sp.load_study("sizes", storage) as study:
        answer = study.answer
        lost = [event.pull for event in study.events("expired")]
print(f"{answer.label}, after {answer.samples} measurements; it is {answer.guarantee}")
print(f"pulls that the crashed worker kept, done by others: {len(lost)}")
