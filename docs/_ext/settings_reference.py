"""The ``settings-reference`` directive: a table of the settings of studies, made from them."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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


class SettingsReference(SphinxDirective):
    """One table."""

    def run(self) -> list[nodes.Node]:
        """The table, as it is when the page is built."""
        self.env.note_reread()  # the settings are not in the page, whose date tells nothing
        head = ["| setting | of `surepick new` | default | meaning |", "|---|---|---|---|"]
        lines = head + [f"| {' | '.join(row)} |" for row in rows()]
        place = nodes.container()
        self.state.nested_parse(StringList(lines, "settings"), self.content_offset, place)
        return place.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("settings-reference", SettingsReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
