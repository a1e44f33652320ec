"""What every proof is made of, each thing once: pure functions and small objects on arrays.

**A purse** is the log capital of bets against one statement, one number for each account (a stake,
or a rule for stakes, with a fixed share of what the purse begins with). While the statement is
true, every bet has a mean of 1 at most, so the capital is a nonnegative supermartingale that begins
with 1: it ever reaches 1/α with probability α at most (Ville), whenever it is looked at.

**Five operations** keep that (:mod:`.purses`): a mixture with weights that were fixed beforehand; a
product over rounds of what each pays; the least of several, where one of the statements is true;
the average, where all are; and handing capital down, where another statement takes the place of one
before: nobody then begins with more than there is.

What is made of them:

=====================  =================================================================
:mod:`.purses`         the five operations, on log capital ``(…, J)``, accounts last
:mod:`.several`        "x is one of the m best": m purses, the least of which counts
:mod:`.closeness`      "x is not far above a", for every a that ever led
:mod:`.accepting`      which share of the capital is for that
:mod:`.claims`         claims against a baseline, all right together, or a share wrong (e-BH)
:mod:`.payoffs`        what a round pays: a kind of number, or of table, in each file
:mod:`.bets`           all of it on series of numbers: ``surepick.bets``
=====================  =================================================================

Nothing here knows a problem, a run or a plan. Where candidates are very many, purses live where the
arrays do: one per candidate, never one per pair.
"""
