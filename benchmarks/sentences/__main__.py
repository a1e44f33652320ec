"""Is there a sentence that is false while the promise stands?

Ways of going on times doors: what people do around a measurement, at every place where surepick
says something. Each cell is a world whose truth is known, made so that mistakes are easy (options
that are equal but for a hair, differences that lie exactly at a margin), and each of its runs is
one person's work to the end. What was claimed is compared with the truth, as data; and every
sentence that was shown is read for the condition that this way of going on breaks.

A cell passes if false claims are no more frequent than δ and four standard errors, or if each of
their sentences names the broken condition. The exit code is 1 if a cell fails.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.sentences --runs 200
    --only WORDS   cells whose names have these words (may be given several times)
    --anew         measure these again, whatever the record has
"""

from __future__ import annotations

import sys

from benchmarks.sentences.measured import main

if __name__ == "__main__":
    sys.exit(main())
