"""Tables that are made from what they are about: settings; what can be asked of which data."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from surepick.algorithms import combinations
from surepick.study.settings import Setting, known


def rows() -> list[tuple[str, str, str, str]]:
    """Name, option of the command line, default and meaning of every setting, in Markdown."""
    return [
        (f"`{one.name}`", f"`{one.flags}`" if one.flag else "", _default(one), _meaning(one))
        for one in known().values()
    ]


def _default(setting: Setting) -> str:
    if setting.required:
        return "must be said"
    return setting.empty or ("" if setting.default in (None, {}) else f"`{setting.default}`")


def _meaning(setting: Setting) -> str:
    return setting.helped(lambda name: f"`{name}`").replace("|", "\\|")


class _Table(SphinxDirective):
    """One table, as it is when the page is built."""

    def lines(self) -> list[str]:
        """Of Markdown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """The table, which is not in the page, whose date tells nothing."""
        self.env.note_reread()
        place = nodes.container()
        self.state.nested_parse(StringList(self.lines(), "made"), self.content_offset, place)
        return place.children


class SettingsReference(_Table):
    """All settings."""

    def lines(self) -> list[str]:
        """A row for each."""
        head = ["| setting | of `surepick new` | default | meaning |", "|---|---|---|---|"]
        return head + [f"| {' | '.join(row)} |" for row in rows()]


class CombinationsReference(_Table):
    """All questions and shapes, with the reasons."""

    def lines(self) -> list[str]:
        """Questions in rows, shapes in columns; notes beneath."""
        notes = list[str]()
        found = [f"| | {' | '.join(combinations.SHAPES)} |", f"|---{'|---' * 7}|"]
        for question in combinations.QUESTIONS:
            row = [f"**{question}**"]
            for shape in combinations.SHAPES:
                one = combinations.refused(question, shape)
                if one is None:
                    row.append("yes")
                    continue
                if one.said not in notes:
                    notes.append(one.said)
                row.append(f"{notes.index(one.said) + 1}")
            found.append(f"| {' | '.join(row)} |")
        return [*found, "", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("settings-reference", SettingsReference)
    app.add_directive("combinations-reference", CombinationsReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
