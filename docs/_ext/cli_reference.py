"""The ``cli-reference`` directive: every verb's own help text, asked of the program itself."""

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from surepick.cli import cli

_WIDTH = 88


def contexts() -> list[click.Context]:
    """The program's and each verb's."""
    width = {"terminal_width": _WIDTH, "max_content_width": _WIDTH, "resilient_parsing": True}
    program = cli.make_context("surepick", [], **width)
    program.meta["surepick.all"] = True  # every verb is explained
    found = [program]
    for name in cli.list_commands(program):
        command = cli.get_command(program, name)
        found.append(command.make_context(name, [], parent=program, **width))
    return found


class CliReference(SphinxDirective):
    """One section for the program and one for each verb."""

    def run(self) -> list[nodes.Node]:
        """The sections, with the help texts as they are printed."""
        self.env.note_reread()  # the texts are not in the page, whose date tells nothing
        return [self._section(c.command_path, c.get_help()) for c in contexts()]

    def _section(self, title: str, text: str) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(title)], names=[title])
        block = nodes.literal_block(text, text, language="text")
        section += [nodes.title(text=title), block]
        self.state.document.note_implicit_target(section, section)
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("cli-reference", CliReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
