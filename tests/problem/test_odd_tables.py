"""A hundred odd tables: read as their owners mean it, or refused in words that name the place."""

import gzip
import io
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from surepick.errors import InvalidInputError
from surepick.problem.tables import from_table

GOOD = "label,price\na,1\nb,2\nc,4\n"


def parquet(**columns):
    file = io.BytesIO()
    pd.DataFrame({"label": ["a", "b"]} | columns).to_parquet(file)
    return file.getvalue()


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("xl/sheet1.xml", "<x/>")
    return file.getvalue()


def cells(*values):
    """A column ``price`` with these cells."""
    return "label,price\n" + "".join(f"o{i},{cell}\n" for i, cell in enumerate(values))


# -- read as it is meant --------------------------------------------------------------------
# what is in the file; the labels, and the column of prices up to its level and unit
READ = {
    "with a byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), "abc", [1, 2, 4]),
    "with two of them": (b"\xef\xbb\xbf" * 2 + GOOD.encode(), "abc", [1, 2, 4]),
    "lines of Windows": (GOOD.replace("\n", "\r\n"), "abc", [1, 2, 4]),
    "lines of old Macs": (GOOD.replace("\n", "\r"), "abc", [1, 2, 4]),
    "lines of everybody": ("label,price\r\na,1\nb,2\rc,4\r\n", "abc", [1, 2, 4]),
    "lines that were converted twice": (GOOD.replace("\n", "\r\r\n"), "abc", [1, 2, 4]),
    "no end of the last line": (GOOD.rstrip(), "abc", [1, 2, 4]),
    "empty lines": ("\n\nlabel,price\na,1\n\n,\nb,2\nc,4\n\n", "abc", [1, 2, 4]),
    "a page break": ("label,price\n\x0c\na,1\nb,2\nc,4\n", "abc", [1, 2, 4]),
    "blanks around cells": (" label , price\n a , 1 \n b,2\nc , 4\n", "abc", [1, 2, 4]),
    "tabs": (GOOD.replace(",", "\t"), "abc", [1, 2, 4]),
    "semicolons": (GOOD.replace(",", ";"), "abc", [1, 2, 4]),
    "Excel's line before the names": ("sep=;\n" + GOOD.replace(",", ";"), "abc", [1, 2, 4]),
    "Excel's line, another sign": ("sep=|\n" + GOOD.replace(",", "|"), "abc", [1, 2, 4]),
    "a column without a name": ("label,price,\na,1,\nb,2,\nc,4,\n", "abc", [1, 2, 4]),
    "quotes in a cell": ('label,price\n"a""x",1\nb"y,2\nc,4\n', ['a"x', 'b"y', "c"], [1, 2, 4]),
    "a line break in a cell": ('label,price\n"a\nx",1\nb,2\nc,4\n', ["a\nx", "b", "c"], [1, 2, 4]),
    "a separator of lines that is none": (
        "label,price\na\u2028x,1\nb,2\nc,4\n",
        ["a\u2028x", "b", "c"],
        [1, 2, 4],
    ),
    "a delimiter in a cell": ('label,price\n"a,x",1\nb,2\nc,4\n', ["a,x", "b", "c"], [1, 2, 4]),
    "signs and points": (cells("+1", ".5", "-2."), ["o0", "o1", "o2"], [1, 0.5, -2]),
    "exponents": (cells("1e3", "2E+3", "5e2"), ["o0", "o1", "o2"], [1000, 2000, 500]),
    "too small to be seen": (cells("1", "1e-400", "2"), ["o0", "o1", "o2"], [1, 0, 2]),
    "very large": (cells("1e300", "2e300", "4e300"), ["o0", "o1", "o2"], [1, 2, 4]),
    "digits of other scripts": (cells("١", "２", "4"), ["o0", "o1", "o2"], [1, 2, 4]),
    "a very long label": (f"label,price\n{'a' * 10_000},1\nb,2\n", ["a" * 10_000, "b"], [1, 2]),
    "labels that are numbers": ("label,price\n1,1\n2,2\n3,4\n", "123", [1, 2, 4]),
    "a family as a label": ("label,price\n👩‍👧,1\nb,2\nc,4\n", ["👩‍👧", "b", "c"], [1, 2, 4]),
    "Parquet with decimals": (parquet(price=[Decimal("1.5"), Decimal("2.5")]), "ab", [1.5, 2.5]),
    "Parquet with large counts": (parquet(n=np.array([1, 2**64 - 1], "u8")), "ab", [0, 1]),
}


@pytest.mark.parametrize("what", READ)
def test_read_as_it_is_meant(tmp_path, what):
    content, labels, prices = READ[what]
    found = from_table(written(tmp_path, content)).problem
    assert list(found.labels) == list(labels)
    level, price = found.arms.T
    assert (level == 1).all()
    meant = (np.array(prices, float) - np.mean(prices)) / np.std(prices)
    np.testing.assert_allclose(price, meant, atol=1e-12)


def written(folder, content):
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


CATEGORIES = {
    "days": cells("2026-01-02", "2026-01-03", "2026-01-02"),
    "truth": cells("true", "false", "true"),
    "truth in Parquet": parquet(price=[True, False]),
    "moments in Parquet": parquet(price=pd.to_datetime(["2026-01-01", "2026-01-02"])),
    "categories in Parquet": parquet(price=pd.Categorical(["x", "y"])),
    "words": cells("red", "blue", "red"),
}


@pytest.mark.parametrize("what", CATEGORIES)
def test_two_levels_of_a_category(tmp_path, what):
    found = from_table(written(tmp_path, CATEGORIES[what]))
    assert set(found.problem.arms[:, 1].tolist()) == {0.0, 1.0}


# -- refused --------------------------------------------------------------------------------
REFUSED = {
    "UTF-16": (GOOD.encode("utf-16"), "UTF-8: line 1 has a byte"),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), "not a text file.*UTF-8"),
    "UTF-32": (GOOD.encode("utf-32"), "UTF-8: line 1 has a byte"),
    "Latin-1": ("label,price\nb,2\nä,1\n".encode("latin-1"), "UTF-8: line 3 has a byte"),
    "Windows-1252": ("label,price\n€,1\n".encode("cp1252"), "UTF-8: line 2 has a byte"),
    "a zero byte": (b"label,price\na\0,1\nb,2\n", "not a text file"),
    "a zero byte at the end": (GOOD.encode() + b"\0", "not a text file"),
    "the end of a DOS file": (GOOD.encode() + b"\x1a", "line 5 has 1 cell"),
    "nothing": (b"", "is empty"),
    "empty lines alone": (b"\n\n\n", "is empty"),
    "names alone": (b"label,price\n", "no rows"),
    "one option": (b"label,price\na,1\n", "no feature is left"),
    "all alike": (b"label,price\na,1\nb,1\n", "no feature is left"),
    "alike as far as a computer sees": (
        cells("9007199254740993", "9007199254740992"),
        "no feature is left",
    ),
    "a quote that never ends": (b'label,price\n"a,1\nb,2\n', "line 3: unexpected end"),
    "text after a quote": (b'label,price\n"a"b,1\nb,2\n', "line 2: ',' expected after"),
    "quotes that are none": (b"label,price\n'a,x',1\nb,2\n", "line 2 has 3 cells.*2 columns"),
    "a row too short": (b"label,price,c\na,1,2\nb,2\n", "line 3 has 2 cells.*3 columns"),
    "a row too long": (b"label,price\na,1\nb,2,3\n", "line 3 has 3 cells.*2 columns"),
    "a remark before the names": (b"# x\nlabel,price\na,1\n", "line 2 has 2 cells.*is 1 column"),
    "names there twice": (b"label,price,price\na,1,2\n", "two columns are called 'price'"),
    "names there twice but for blanks": (b"label,price, price\na,1,2\n", "called 'price'"),
    "no names at all": (b",\na,1\n", "no rows"),
    "bars between columns": (GOOD.replace(",", "|"), r"separated by '\|'.*by ','"),
    "decimal commas": ("label;price\na;3\nb;1,5\n", "'price', line 3: '1,5' is not a number"),
    "decimal commas throughout": (cells('"1,5"', '"2,5"'), "'price', line 2: '1,5' looks like"),
    "thousands": (cells('"1,000"', '"2,500,000"'), "'price', line 2: '1,000' looks like"),
    "thousands by points": (cells("1.000", "2.500.000"), "line 3: '2.500.000' is not a number"),
    "thousands by blanks": (cells("1\u00a0000", "2"), "line 2: .* is not a number"),
    "thousands by lines": (cells("1_000", "2"), "line 2: '1_000' is not a number"),
    "percent": (cells("10%", "20%"), "'10%' looks like a number"),
    "money": (cells("$10", "$20"), "looks like a number"),
    "losses": (cells("(10)", "20"), r"'\(10\)' is not a number"),
    "a typographer's minus": (cells("−1", "2"), "'−1' is not a number"),
    "hexadecimal": (cells("0x10", "0xFF"), "'0x10' looks like a number"),
    "hexadecimal fractions": (cells("0x1p3", "0x1.8p-4"), "looks like a number"),
    "binary": (cells("0b1", "0b10"), "looks like a number"),
    "octal": (cells("0o7", "0o10"), "looks like a number"),
    "400 digits": (cells("1", "9" * 400), "'price', line 3 is inf; it must be finite"),
    "5,000 digits": (cells("1", "9" * 5000), "line 3 is inf"),
    "an exponent too large": (cells("1", "1e400"), "line 3 is inf"),
    "infinity": (cells("1", "inf"), "line 3 is inf"),
    "less than everything": (cells("-Infinity", "1"), "line 2 is -inf"),
    "not a number": (cells("nan", "2"), "line 2 holds 'nan'"),
    "not available": (cells("1", "NA"), "line 3 holds 'NA'"),
    "null": (cells("null", "2"), "line 2 holds 'null'"),
    "an empty cell": (cells("1", ""), "'price', line 3 is empty"),
    "an error of Excel": (cells("#DIV/0!", "2"), "line 2: '#DIV/0!' is not a number"),
    "a formula": (cells("=1+1", "2"), "line 2: '=1\\+1' is not a number"),
    "the same label twice": (b"label,price\na,1\na,2\n", "line 3: the label 'a' is that of line 2"),
    "the same but for blanks": (b"label,price\na,1\na ,2\n", "'a' is that of line 2"),
    "the same to the eye, spelled otherwise": (
        "label,price\n\u00e9,1\ne\u0301,2\n",
        "line 3: the label .* looks the same as that of line 2",
    ),
    "the same but for what nobody sees": (
        "label,price\na,1\na\u200b,2\n",
        "looks the same as that of",
    ),
    "no label": (b"label,price\n,1\nb,2\n", "'label', line 2 is empty"),
    "a sheet": (archive(), "spreadsheet or an archive"),
    "an old sheet": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 20, "old format"),
    "a compressed file": (gzip.compress(GOOD.encode()), "unpack it"),
    "a PDF": (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "PDF"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0", "UTF-8: line 1 has a byte"),
    "a web page": (b"<html><table><tr><td>a</td></tr></table></html>", "web page"),
    "JSON": (b'[{"label": "a", "price": 1}]', "JSON"),
    "a database": (b"SQLite format 3\0" + b"\0" * 50, "database"),
    "Parquet cut off": (parquet(price=[1, 2])[:60], "damaged Parquet"),
    "nothing but Parquet's mark": (b"PAR1PAR1", "damaged Parquet"),
    "a Parquet file that lies about its size": (
        b"PAR1" + b"\xff" * 40 + b"\xff\xff\xff\x7fPAR1",
        "damaged Parquet",
    ),
    "Parquet with lists": (parquet(x=[[1, 2], [3]]), "column 'x', row 0 holds several values"),
    "Parquet with records": (parquet(x=[{"k": 1}, {"k": 2}]), "'x', row 0 holds several values"),
    "Parquet with bytes": (parquet(x=[b"\xff", b"\0"]), "'x', row 0 holds bytes"),
    "Parquet with gaps": (parquet(price=[1.0, None]), "'price', row 1 is empty"),
    "Parquet with infinity": (parquet(price=[1.0, np.inf]), "'price', row 1 is inf"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_place(tmp_path, what):
    content, words = REFUSED[what]
    with pytest.raises(InvalidInputError, match=words):
        from_table(written(tmp_path, content))
