"""Each extra works with none of the others; without it, an error says which one to install."""

import json
import subprocess
import sys
import textwrap

import pytest

# What an extra brings, and what its packages need of other extras.
BRINGS = {
    "pandas": {"pandas", "pyarrow"},
    "plot": {"matplotlib"},
    "postgres": {"psycopg"},
    "dask": {"dask", "distributed"},
    "server": {"fastapi", "starlette", "pydantic", "uvicorn", "prometheus_client"},
    "client": {"httpx2", "httpcore2"},
    "timestamp": {"rfc3161_client", "httpx2", "httpcore2"},
    "mcp": {"mcp", "mcp_types", "httpx2", "httpcore2", "starlette", "pydantic", "uvicorn"},
    "gpu": {"torch", "array_api_compat"},
    "optuna": {"optuna", "colorlog", "tqdm"},
    "pytest": {"pytest", "_pytest"},
    "sklearn": {"sklearn"},
    "mlflow": {"mlflow", "matplotlib", "fastapi", "starlette", "pydantic", "uvicorn"},
}
USES = {
    "pandas": """
        import pandas as pd
        problem = sp.Problem(pd.DataFrame({"size": [1.0, 2.0]}, index=["a", "b"]))
        assert problem.labels == ("a", "b")
        sp.simulate.Table({"samples": [1, 2]}).to_pandas()
        """,
    "plot": """
        from surepick.report.plots import pyplot, save
        figure, _ = pyplot().subplots()
        assert save(figure, "png").startswith(b"\\x89PNG")
        """,
    "postgres": """
        try:
            sp.list_studies("postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=1")
        except sp.errors.StorageConnectionError:
            pass
        """,
    "dask": """
        from surepick.engines import Dask
        try:
            list(Dask("tcp://127.0.0.1:1", timeout="100ms").run(abs, [1]))
        except sp.errors.InvalidInputError:
            pass
        """,
    "server": """
        from surepick.server.app import make_app
        from surepick.server.settings import Settings
        assert make_app(Settings(storage="sqlite:///studies.db"))
        """,
    "client": """
        assert sp.Client("http://127.0.0.1:1", "sp_token").url == "http://127.0.0.1:1"
        """,
    "timestamp": """
        from surepick.run.time_stamp import request_for
        assert request_for(b"what is to be stamped").nonce
        """,
    "mcp": """
        from surepick.agents import mcp_server
        from surepick.client import Here
        assert mcp_server(Here("sqlite:///studies.db")).name == "surepick"
        """,
    "gpu": """
        from surepick.arrays.backend import backend_named
        assert backend_named("torch:cpu").name == "torch"
        """,
    "optuna": """
        from surepick.integrations.optuna import final_decision
        import optuna
        search = optuna.create_study()
        search.optimize(lambda trial: trial.suggest_int("x", 0, 9), n_trials=5)
        values = iter(range(1000))
        assert final_decision(search, lambda trial: next(values), max_samples=20).trial
        """,
    "pytest": """
        from surepick.integrations.pytest_plugin import sure
        assert sure
        """,
    "sklearn": """
        from surepick.integrations.sklearn import SureSearchCV
        from sklearn.linear_model import Ridge
        x, y = [[float(i)] for i in range(20)], [i % 7.0 for i in range(20)]
        search = SureSearchCV(Ridge(), {"alpha": [0.1, 1e6]}, cv=4)
        assert search.fit(x, y).predict([[3.0]]).shape == (1,)
        """,
    # In plain files, as making a database takes MLflow seconds.
    "mlflow": """
        import os
        os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
        from surepick.integrations.mlflow import log_study
        import mlflow
        mlflow.set_tracking_uri("file:./runs")
        problem = sp.Problem([[1.0], [2.0]], noise=0.1)
        study = sp.create_study("sizes", problem, storage="memory://")
        study.run(lambda one: float(one.arm))
        assert log_study(study).data.tags["surepick/answer"] == "1"
        assert log_study(study).data.metrics["surepick/options_still_in"] == 1
        """,
}
# Where using it begins with importing it: what a user would call without knowing.
CALLED_WITHOUT = USES | {
    "pandas": 'sp.simulate.Table({"samples": [1, 2]}).to_pandas()',
    "server": "from surepick.cli import cli; cli(['serve'], standalone_mode=False)",
}
# What surepick needs without any extra takes a second to load: a process does it once, and each
# piece of code runs in a copy of that process, in which neither surepick nor an extra was loaded.
LOADED_ONCE = """
import json, os, signal, sys, traceback
import click, numba, scipy.optimize, scipy.special, sqlalchemy.orm

class Blocked:
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def run(code, blocked, folder):
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert not loaded & {"surepick", *blocked}, loaded
    sys.meta_path.insert(0, Blocked(blocked))
    signal.alarm(120)
    os.chdir(folder)
    import surepick as sp
    exec(code, {"sp": sp})

for line in sys.stdin:
    given = json.loads(line)
    copy = os.fork()
    if not copy:
        files = (os.open(given[name], os.O_WRONLY | os.O_CREAT) for name in ("out", "err"))
        for number, file in enumerate(files, 1):
            os.dup2(file, number)
        ended = 1
        try:
            run(given["code"], given["blocked"], given["folder"])
            ended = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(ended)
    ended = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    print(ended, flush=True)
"""


@pytest.fixture(scope="module")
def run():
    """Runs code without some packages: its exit code, and what it wrote about errors."""
    with subprocess.Popen(
        [sys.executable, "-c", LOADED_ONCE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def run(code, blocked, folder):
            given = {"code": textwrap.dedent(code), "blocked": sorted(blocked)}
            given |= {name: str(folder / name) for name in ("out", "err")}
            process.stdin.write(json.dumps(given | {"folder": str(folder)}) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline()), (folder / "err").read_text()

        yield run


@pytest.mark.some(3)
@pytest.mark.parametrize("extra", BRINGS)
def test_extra_works_alone(run, extra, tmp_path):
    code, err = run(USES[extra], set().union(*BRINGS.values()) - BRINGS[extra], tmp_path)
    assert code == 0, err


@pytest.mark.parametrize("extra", BRINGS)
def test_error_names_the_missing_extra(run, extra, tmp_path):
    code, err = run(CALLED_WITHOUT[extra], BRINGS[extra], tmp_path)
    assert code == 1
    assert "MissingExtraError" in err
    assert f"surepick[{extra}]" in err


def test_core_works_without_any(run, tmp_path):
    code = """
        answer = sp.identify(sp.Problem([[1.0], [2.0]], noise=0.1), lambda arm: float(arm))
        assert answer.arm == 1 and sp.verify(answer.certificate())
        open("options.csv", "w").write("label,size\\na,1\\nb,2\\n")
        from surepick.cli import cli
        cli(["new", "sizes", "options.csv"], standalone_mode=False)
        cli(["ask", "sizes"], standalone_mode=False)
        cli(["new", "squares", "options.csv", "--formula", "I(size**2)"], standalone_mode=False)
        """
    code, err = run(code, set().union(*BRINGS.values()), tmp_path)
    assert code == 0, err
