import numpy as np
import pytest

from surepick.bench import build_instance, instance_named
from surepick.bench.named import register_family, unregister_family
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.simulate import Instance, instances
from surepick.text import parse, split_list


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("standard:gap=0.3", instances.standard(0.3)),
        ("standard: gap=0.3, d=3", instances.standard(0.3, 3)),
        ("confounding:d=6,omega=0.1,scale=2", instances.confounding(6, 0.1, scale=2.0)),
        ("unit_sphere:d=4,k=9,rng=5", instances.unit_sphere(4, 9, rng=5)),
        ("confounding:d=3,noise=0.5", instances.confounding(3, noise=0.5)),
    ],
)
def test_text_names_the_instance(text, expected):
    built = instance_named(text).build()
    assert built.problem == expected.problem
    assert np.array_equal(built.theta, expected.theta)


def test_equal_instances_have_equal_keys_and_tidy_texts():
    one, two = instance_named("confounding:d=6"), instance_named("confounding: omega=0.10, d=6")
    assert one.key == two.key
    assert two.text == "confounding:d=6,omega=0.1"
    assert instance_named("standard:gap=0.5").key != instance_named("standard:gap=0.25").key


def test_arms_of_each_trial():
    found = instance_named("unit_sphere:d=3,k=5,rng=trial")
    assert found.each_trial
    one, two = found.build(np.random.SeedSequence(1)), found.build(np.random.SeedSequence(2))
    again = found.build(np.random.SeedSequence(1))
    assert one.problem != two.problem
    assert one.problem == again.problem
    assert not instance_named("unit_sphere:d=3").each_trial


def test_build_instance_takes_another_rng_where_the_family_draws():
    assert (
        build_instance("unit_sphere:d=3", rng=7).problem == instances.unit_sphere(3, rng=7).problem
    )
    assert build_instance("unit_sphere:d=3").problem == instances.unit_sphere(3).problem
    assert build_instance("standard:gap=0.5", rng=7).problem == instances.standard(0.5).problem


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("stanard:gap=0.3", UnknownNameError, "did you mean 'standard'"),
        ("standard:gpa=0.3", UnknownNameError, "did you mean 'gap'"),
        ("standard", InvalidInputError, "lacks gap"),
        ("standard:gap", InvalidInputError, "parameter=value"),
        ("standard:gap=0.1,gap=0.2", InvalidInputError, "twice"),
        ("standard:gap=-1", InvalidInputError, "gap must be above 0"),
        ("standard:gap=wide", InvalidInputError, "standard:gap=wide"),
        ("confounding:d=2.5", InvalidInputError, "whole number"),
        ("unit_sphere:d=3,rng=often", InvalidInputError, "rng=often"),
        (":gap=1", InvalidInputError, "no name"),
    ],
)
def test_bad_texts_are_refused_with_advice(text, error, says):
    with pytest.raises(error, match=says):
        instance_named(text)


def test_lists_keep_parameters_together():
    text = "standard:gap=0.3,d=5,confounding:d=6 ; unit_sphere:d=10,rng=trial"
    assert split_list(text) == [
        "standard:gap=0.3,d=5",
        "confounding:d=6",
        "unit_sphere:d=10,rng=trial",
    ]
    assert split_list("peleg, rage,,lingape:constants=printed,norm_bound=2;") == [
        "peleg",
        "rage",
        "lingape:constants=printed,norm_bound=2",
    ]


def test_values_get_the_type_they_look_like():
    _, found = parse("x:a=1,b=1e-3,c=true,d=None,e=word", "thing")
    assert found == {"a": 1, "b": 1e-3, "c": True, "d": None, "e": "word"}


def test_a_family_of_ones_own():
    register_family("two", lambda gap: instances.standard(gap, d=2))
    assert isinstance(instance_named("two:gap=0.4").build(), Instance)
    with pytest.raises(InvalidInputError, match="already exists"):
        register_family("two", instances.standard)
    register_family("odd", lambda: 7)
    with pytest.raises(InvalidInputError, match="did not build an Instance"):
        instance_named("odd")
    for name in ("two", "odd"):
        unregister_family(name)
    with pytest.raises(UnknownNameError, match="unknown instance 'two'"):
        instance_named("two:gap=0.4")
