"""Tables and formulas that would cost too much are refused before anything is built."""

import io
import time

import pytest

from surepick.errors import InvalidInputError
from surepick.problem.tables import from_table
from surepick.problem.tables.read import read_csv, read_parquet_content

FIVE = "label,a,b,c,d,e\n" + "".join(f"o{i},{i},{i % 3},{i % 5},{i * i},{-i}\n" for i in range(40))


def made(csv, **how):
    return from_table(read_csv(csv, "options.csv"), **how)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("(a+b+c+d)**50", "the power 50 of 4 terms is too high; at most 5"),
        ("(a+b+c+d)^50", "too high"),
        ("*".join("abcde") + "*" + "*".join(f"I(a+{i})" for i in range(9)), "terms"),
        ("(" * 50 + "a" + ")*b**9999999" * 50, "whole number"),
        ("(" * 51 + "a" + ")" * 51, "nested more than 50 deep"),
        ("I(" + "-" * 60 + "a)", "more than 50"),
        ("I(" + "+".join("a" * 1500) + ")", "1,000 operations"),
        ("(" + "+".join(f"I(a+{i})" for i in range(900)) + ")" + ":a" * 500, "terms"),
        (":".join(f"I(a+{i})" for i in range(30)), "at most 20 columns"),
        ("(a+b)**c", "whole number"),
        ("a" * 30_000, "letters"),
    ],
)
def test_formulas_that_stand_for_too_many_terms(formula, said):
    with pytest.raises(InvalidInputError, match=said):
        made(FIVE, formula=formula)


def test_categories_that_are_all_crossed():
    """58 kB would have become gigabytes."""
    lines = [",".join(["label", *(f"c{j}" for j in range(6))])]
    lines += [",".join([f"o{i}", *(f"v{(i * (j + 3)) % 13}" for j in range(6))]) for i in range(99)]
    formula = "*".join(f"C(c{j})" for j in range(6))
    with pytest.raises(InvalidInputError, match=r"4,826,808 coefficients, and at most 5,000"):
        made("\n".join(lines), formula=formula)


def test_a_term_of_many_categories_is_not_enumerated():
    """Categories of one or two levels make few columns in many ways."""
    names = [f"c{j}" for j in range(18)]
    lines = [",".join(["label", *names])]
    lines += [",".join([f"o{i}", *(f"v{i >> j & 1}" for j in range(18))]) for i in range(40)]
    started = time.process_time()
    for formula, said in {
        ":".join(names): "262,144 coefficients",
        ":".join(names[:11]) + "".join(f"+{':'.join(names[j : j + 11])}" for j in range(1, 8)): "",
    }.items():
        with pytest.raises(InvalidInputError, match=said or "crossed; use fewer|coefficients"):
            made("\n".join(lines), formula=formula)
    assert time.process_time() - started < 5


def test_a_list_of_features_with_too_many_levels():
    names = [f"c{j}" for j in range(60)]
    lines = [",".join(["label", *names])]
    lines += [",".join([f"o{i}", *([f"v{i}"] * 60)]) for i in range(99)]
    with pytest.raises(InvalidInputError, match="coefficients, and at most 5,000"):
        made("\n".join(lines))


def test_a_million_columns():
    n = 1_000_000
    csv = ",".join(f"c{j}" for j in range(n)) + "\n" + ",".join("1" * n) + "\n"
    with pytest.raises(InvalidInputError, match="1,000,000 columns, and at most 10,000"):
        made(csv)


def test_a_parquet_file_that_unpacks_to_very_much():
    """A hundred kilobytes, and a table of a hundred million cells."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"a": pa.repeat(1.0, 60_000_000)}), file, compression="zstd")
    assert len(file.getvalue()) < 2**21
    with pytest.raises(InvalidInputError, match="60,000,000 rows"):
        read_parquet_content(file.getvalue(), "bomb.parquet")


def parquet(table):
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd", store_schema=False)
    assert len(file.getvalue()) < 2**21
    return file.getvalue()


def test_texts_that_are_repeated_in_a_parquet_file():
    """A text stands in the file once; a million times in memory it would take gigabytes."""
    import pyarrow as pa

    zeros = pa.array([0] * 1_000_000, pa.int32())
    long = pa.table({"a": pa.DictionaryArray.from_arrays(zeros, ["x" * 3_000])})
    with pytest.raises(InvalidInputError, match="2,861 MB or more once it is unpacked"):
        read_parquet_content(parquet(long), "bomb.parquet")
    many = pa.table({c: pa.repeat(1.0, 1_000_000) for c in "abcdefgh"})
    with pytest.raises(InvalidInputError, match="8,000,000 values; at most 5,000,000"):
        read_parquet_content(parquet(many), "bomb.parquet")
    ones = pa.repeat(1, 6_000_000)
    nested = pa.table({"a": pa.ListArray.from_arrays([0, len(ones)], ones)})
    with pytest.raises(InvalidInputError, match="6,000,000 values"):
        read_parquet_content(parquet(nested), "bomb.parquet")
    fine = pa.table({"a": ["x", "y", None], "b": [1.0, 2.0, 3.0], "c": [b"z"] * 3})
    with pytest.raises(InvalidInputError, match="holds bytes"):
        read_parquet_content(parquet(fine), "fine.parquet")
    plain = read_parquet_content(parquet(fine.select(["a", "b"])), "fine.parquet")
    assert plain.cells == {"a": ["x", "y", None], "b": [1.0, 2.0, 3.0]}
