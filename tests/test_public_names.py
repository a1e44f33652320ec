"""What `import surepick` offers, and what it does not load."""

import subprocess
import sys

import pytest

import surepick as sp
from surepick import errors
from surepick.errors import SurepickError, UnknownNameError

PROMISED = {
    "": [
        *("Problem", "Run", "Batch", "Answer", "Client", "SurepickError"),
        *("identify", "verify", "watching"),
    ],
    "algorithms": ["Algorithm", "Guarantee", "Peleg", "get", "names", "register"],
    "design": ["minimax", "complexity"],
    "simulate": ["Instance", "instances", "trials", "Table"],
    "study": ["Pull", "Study", "create_study", "load_study", "list_studies", "delete_study"],
    "simulate.instances": ["standard", "unit_sphere", "confounding"],
}
BUILTIN = {
    "InvalidInputError": ValueError,
    "InvalidTypeError": TypeError,
    "BatchError": ValueError,
    "RunStateError": RuntimeError,
    "FormatError": ValueError,
    "CertificateError": ValueError,
    "UnknownNameError": LookupError,
    "SolverError": ArithmeticError,
    "PluginError": ImportError,
    "MissingExtraError": ImportError,
    "StorageError": OSError,
    "UnknownStudyError": LookupError,
    "StudyExistsError": FileExistsError,
    "UnknownPullError": LookupError,
    "TellConflictError": ValueError,
    "StudyDamagedError": ValueError,
    "NotADatabaseError": ValueError,
    "StorageVersionError": ValueError,
    "StorageLockedError": TimeoutError,
    "StorageReadOnlyError": PermissionError,
    "StorageFullError": OSError,
    "StorageConnectionError": ConnectionError,
    "ServiceError": OSError,
    "AccessError": PermissionError,
    "TooManyRequestsError": OSError,
    "ServiceUnreachableError": ConnectionError,
}


def find(dotted):
    value = sp
    for part in filter(None, dotted.split(".")):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("place", PROMISED)
def test_promised_names_are_there(place):
    for name in PROMISED[place]:
        assert hasattr(find(place), name), f"{place}.{name}"
        assert name in dir(find(place))


def test_everything_announced_exists_and_is_listed():
    assert set(sp.__all__) <= set(dir(sp))
    assert "importlib" not in dir(sp)  # nor what the package itself imports
    for name in sp.__all__:
        assert getattr(sp, name) is not None
    assert isinstance(sp.__version__, str)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'surepick' has no attribute 'Probelm'"):
        _ = sp.Probelm
    with pytest.raises(AttributeError, match="has no attribute 'Pelge'"):
        _ = sp.algorithms.Pelge


def test_star_import_brings_what_is_announced():
    names = {}
    exec("from surepick import *", names)
    assert set(sp.__all__) <= names.keys()


def test_subpackages_and_heavy_libraries_load_when_first_used():
    code = """
import sys
import surepick as sp

def loaded(*names):
    return [n for n in names if n in sys.modules]

heavy = ("scipy", "numba", "pandas", "matplotlib", "joblib", "click", "rich", "sqlalchemy")
rooms = ("surepick.simulate", "surepick.design", "surepick.research")
assert loaded(*heavy, *rooms) == [], loaded(*heavy, *rooms)
dir(sp)
problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]])
algorithm = sp.algorithms.Peleg(delta=0.1)
assert algorithm == sp.algorithms.get("peleg", delta=0.1)
assert loaded(*heavy) == [], loaded(*heavy)
answer = sp.identify(problem, lambda arm: 1.0 - arm)
certificate = answer.certificate()
assert "surepick.simulate" not in sys.modules
assert sp.simulate.instances.standard(0.5).best == 0
assert "surepick.simulate" in sys.modules
assert loaded("pandas", "matplotlib", "rich") == [], loaded(*heavy)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- errors --------------------------------------------------------------------------------
def test_every_error_is_ours_and_a_builtin_one():
    ours = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, SurepickError)
    }
    assert ours.pop("SurepickError").__bases__ == (Exception,)
    for name, error in ours.items():
        builtin = [b for b in error.__mro__ if b.__module__ == "builtins" and b is not object]
        assert builtin[0] not in (Exception, BaseException), name
        assert issubclass(error, BUILTIN.get(name, builtin[0])), name
        assert error.__doc__, name
    assert ours.keys() >= BUILTIN.keys()
    assert sp.SurepickError is SurepickError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pelge", "unknown algorithm 'pelge'; did you mean 'peleg'? Known: "),
        ("PELEG", "unknown algorithm 'PELEG'; did you mean 'peleg'? Known: "),
        ("Peleg_Paper", "unknown algorithm 'Peleg_Paper'; did you mean 'peleg-paper'? Known: "),
        ("zzz", "unknown algorithm 'zzz'. Known: "),
        ("", "unknown algorithm ''. Known: "),
    ],
)
def test_unknown_names_suggest_the_nearest(name, message):
    with pytest.raises(UnknownNameError) as caught:
        sp.algorithms.get(name, delta=0.1)
    text = str(caught.value)
    assert text.startswith(message)
    known = text.removeprefix(message).split(", ")
    assert known == sorted(sp.algorithms.names())
    assert isinstance(caught.value, LookupError)


def test_names_that_are_no_texts_are_unknown_too():
    with pytest.raises(UnknownNameError, match="unknown algorithm 3"):
        sp.algorithms.get(3, delta=0.1)
    assert str(UnknownNameError.among("thing", "a", [])) == "unknown thing 'a'. Known: none"


def test_far_names_get_no_suggestion():
    known = ["alpha", "beta", "Gamma"]
    for name, near in (("alhpa", "alpha"), ("bet", "beta"), ("gamm", "Gamma"), ("omega", None)):
        text = str(UnknownNameError.among("letter", name, known))
        assert ("did you mean" in text) == (near is not None)
        assert text.endswith("Known: Gamma, alpha, beta")
        if near:
            assert f"; did you mean {near!r}? Known" in text


def test_settings_an_algorithm_does_not_have_are_named():
    with pytest.raises(errors.InvalidInputError, match=r"peleg: .*'speed'"):
        sp.algorithms.get("peleg", delta=0.1, speed=3)
    with pytest.raises(errors.InvalidInputError, match=r"peleg: .*'delta'"):
        sp.algorithms.get("peleg")
    with pytest.raises(errors.InvalidInputError, match=r"^pairs: .* no setting 'growth'; it has"):
        sp.algorithms.get("pairs", delta=0.1, growth=2)


def test_algorithms_can_be_registered():
    name = "my-own-peleg"
    sp.algorithms.register(name, lambda delta: sp.algorithms.Peleg(delta, growth=2.0))
    try:
        assert name in sp.algorithms.names()
        assert sp.algorithms.get(name, delta=0.1).growth == 2.0
        for taken in (name, "peleg"):
            with pytest.raises(errors.InvalidInputError, match="already exists"):
                sp.algorithms.register(taken, sp.algorithms.Peleg)
    finally:
        from surepick.algorithms import registry

        registry._REGISTERED.pop(name)
