"""Does an accident ever cost what was paid for?

Doors times accidents: each place where surepick measures, and what goes wrong in the world around
it (a call that raises, gives nothing or hangs, an item on which every option fails, a service that
is away, a model that is updated, a number ten times too large, an hour without reports, a day of
bots, Ctrl-C, kill -9, …). Each cell is a world whose truth is known, made so that mistakes are
easy, and each of its runs is one study that meets the accident and is then gone on with by the same
command, or call, for as long as that helps.

A cell passes if no score that was paid for was lost, no study was blocked, no more calls were
repeated than were under way, work went on within five seconds, and false claims, where the promise
stands, are no more frequent than δ and four standard errors. The exit code is 1 if a cell fails.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.accidents --runs 20
    --only WORDS   cells whose names have these words (may be given several times)
    --anew         measure these again, whatever the record has
"""

from __future__ import annotations

import sys

from benchmarks.accidents.measured import main

if __name__ == "__main__":
    sys.exit(main())
