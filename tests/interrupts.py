"""For processes that tests start and interrupt."""

import signal


def hear_interrupts():
    """Started in the background, tests (and so their children) have Ctrl-C switched off."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
