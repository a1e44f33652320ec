"""An act: a remark that is kept with a study, in its chain."""

from surepick.study.acts import ActKind, Field, register


class Note(ActKind):
    """Somebody remarks something."""

    kind = link = "note"
    about = "Keep a remark with the study."
    fields = (
        Field("text", str, "What to remember.", example="the lamp was replaced"),
        Field("page", int, "Page of the laboratory's book.", None),
    )

    def words(self, details):
        """The remark."""
        page = "" if details["page"] is None else f" (page {details['page']})"
        return f"Note: {details['text']}{page}."


register(Note())
