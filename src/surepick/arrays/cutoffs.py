"""What counts as large: every cut-off between two ways of doing the same thing, in one place.

They decide about time and memory; what is promised holds on both sides of each. Read them as
``cutoffs.NAME``, so that a test that changes one changes it for everybody.
"""

from __future__ import annotations

# -- tables of features --------------------------------------------------------------------
# Entries up to which a table is copied, checked as a whole and whitened by one SVD: a quarter of
# a megabyte. Beyond, all work goes block by block and nothing is done that needs a copy.
LARGE_TABLE = 1 << 15
# Entries beyond which scanning a table at every Newton step takes too long: first-order steps,
# which scan it rarely, come first, and are all that an algorithm waits for.
HUGE_TABLE = 1 << 18
# Entries of a table that certificates and saved runs contain: five megabytes of text. Files of
# larger problems hold digests instead.
EMBEDDED_TABLE = 1 << 18
# Row numbers written out as labels; more are made when they are looked at.
WRITTEN_LABELS = 10_000
# Letters of a label; a label may be a whole prompt, but no book.
LONGEST_LABEL = 10_000

# -- compiled kernels ----------------------------------------------------------------------
# Multiplications of a product from which on BLAS is much faster; below, plain loops add up in a
# fixed order, the same on every processor. Compiled in: numba's cache notices a change in
# kernels.py only, so touch that too.
FIXED_WORK = 1 << 22
# Steps of plain Python, a tenth of a microsecond to a whole one each, after which a kernel is
# compiled: they have taken about as long as compiling does, so at most twice the least possible
# time is spent. Not above FIXED_WORK, beyond which products are made by other libraries.
COMPILED_STEPS = 1 << 21
# Steps after which it is worth to load numba, and what it has compiled before.
LOADED_STEPS = 1 << 20
# So many kernels that were compiled before are loaded in the time that numba takes itself.
KERNELS_TO_LOAD = 32

# -- how much at a time --------------------------------------------------------------------
# Bytes of one block of rows: what a core's cache holds; on a GPU, enough to keep its processors
# busy (measured on an H200: larger blocks gain little).
BLOCK_BYTES = {"cpu": 1 << 19, "gpu": 1 << 28}
# Entries of a block of a scan on the host: it stays inside the processor's cache.
SCAN_ENTRIES = 1 << 18
# Entries of a table from which on the longest rows are looked for in a copy of single precision,
# and up to which there is one: a gigabyte.
SCREENED_ENTRIES = (1 << 22, 1 << 28)
# Rows of a matrix of comparisons held at a time: 32 megabytes, with EVERY_PAIR columns.
COMPARED_ROWS = 1024
# Rows of a file read at a time.
FILE_ROWS = 1 << 16
# Single rewards drawn at a time: eight megabytes.
DRAWS = 1_000_000

# -- comparisons ---------------------------------------------------------------------------
# Points up to which each is compared with all others: 16 million pairs. Of more points, each is
# compared with leaders only,
EVERY_PAIR = 4096
# so many more of them in each round, until so few others are left.
LEADERS = (1, 64, 64, 128)

# -- designs -------------------------------------------------------------------------------
# Arms and directions up to which all of them are at work from the start: a Newton step on so few
# takes no longer than choosing among them.
ALL_ARMS = 150
ALL_DIRECTIONS = 300
# Entries of a table of arms and directions that is never exceeded: 32 megabytes.
WORKING_TABLE = 1 << 22
# A design is not pruned where more arms than this would be left: it takes too long, the time
# growing with the cube of their number.
PRUNED_ARMS = 512
# Gap down to which first-order steps are the faster way, and looks at everything after which an
# algorithm makes do with what they have reached.
ROUGH_GAP = 0.03
ROUGH_LOOKS = 12
# Multiplications after which the search for the longest pair makes do with a bound (it is made at
# every look), and up to which all pairs are looked at for one bound (once per design).
SEARCH_WORK = {"cpu": 4e10, "gpu": 4e12}
BOUND_WORK = {"cpu": 4e11, "gpu": 4e13}

# -- algorithms ----------------------------------------------------------------------------
# Arms up to which designs are solved to a tenth of a per cent; beyond, that share of the pulls is
# not worth the time it takes, and one per cent has to do.
EXACT_ARMS = 2000
# Arms of a large problem beyond which first-order steps have to do.
NEWTON_ARMS = 4096
# Pulls per dimension beyond which a cycle is not tried: it would be too long to be repeated.
CYCLE_PULLS = 64
# Arms or directions of a block of PooledPeleg beyond which the certified solver designs it:
# compiled steps on all of them take longer.
COMPILED_DESIGN = 512
# Gap at which the design of such a block is good enough: bounds lag behind the design.
BLOCK_GAP = 0.1
# Directions by which ways to round a design for very many arms are compared.
ROUNDING_DIRECTIONS = 512
# Pulls per dimension up to which choosing them one after the other pays, and arms per dimension,
# the heaviest, to choose among.
GREEDY_PULLS = 16
GREEDY_ARMS = 16
# Entries of a matrix game for which nobody asks whether there is memory: 32 megabytes.
GAME_ENTRIES = 1 << 22
# Weights that LinGame-C keeps at most, one for every candidate and arm: each pull changes them all.
MOST_EXPERTS = 20_000_000
# Pairs all of which are looked at for the complexity in LinGapE's bound: each is a design.
COMPLEXITY_PAIRS = 200

# -- runs ----------------------------------------------------------------------------------
# Pulls per dimension that are a reason to ask what is wrong with a run that has no budget:
# differences of a thirtieth of the noise have been seen by then.
LONG_RUN = 10_000

#: options, where limits have to be kept: each is compared with every other one
LIMITED_OPTIONS = 200
