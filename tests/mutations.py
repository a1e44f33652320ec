"""Bugs put in on purpose: do the tests notice them?

``python -m tests.mutations`` puts one bug after the other into a copy of the package, runs the
tests that belong to it, and names the bugs that these tests did not notice. With names, only
those bugs (``python -m tests.mutations early-drop rivals-of-choice``). ``--list`` lists them, and
``--apply-only`` says at once which of them the code has outgrown.

Each bug is a text that occurs exactly once in a file, and what stands there instead. Where the
text is not there any more, the bug "does not apply": it has to be written anew, which is a
failure of this list, not of the tests. No part of the test suite: it takes the better part of an
hour.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "surepick"
_PATIENCE = 900  # seconds for the tests of one bug: some bugs never end
_PASSED, _FAILED = 0, 1  # exit codes of pytest; others say that it could not even begin
_FORGERIES = "verifier/test_forgeries.py"
_HINDSIGHT = "verifier/test_hindsight.py"


class Mutation(NamedTuple):
    """A bug: in ``file`` of the package ``old`` becomes ``new``, and ``tests`` should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str  #: arguments of pytest, below ``tests/``, separated by spaces

    def changed(self) -> str | None:
        """The content of the file with the bug; None where it does not apply."""
        path = PACKAGE / self.file
        text = path.read_text() if path.exists() else ""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


MUTATIONS = (
    # -- bugs that once went unnoticed
    Mutation(
        "early-drop",
        "verifier/rules/phases.py",
        "gap > width * (1 - 1e-9), lambda",
        "gap > -width, lambda",
        _FORGERIES,
    ),
    Mutation(
        "rivals-of-choice",
        "verifier/rules/pooled.py",
        "trail.max() <= others * (1 + 1e-6) + 1e-9,",
        "trail.max() >= 0.0,",
        _FORGERIES,
    ),
    Mutation(
        "more-pulls-than-rounds",
        "verifier/rules/intervals.py",
        "(counts[arms] >= 1) & (counts[arms] <= t),",
        "counts[arms] >= 1,",
        _FORGERIES,
    ),
    Mutation(
        "bound-of-arms-at-work",
        "design/_workingset.py",
        "total / float(self._scores.max())",
        "total / float(self._scores[self.arms].max())",
        "design/test_bounds.py",
    ),
    Mutation(
        "complexity-from-above",
        "design/complexity.py",
        "D_star=1.0 / result.lower_bound",
        "D_star=1.0 / result.value",
        "design/test_bounds.py",
    ),
    Mutation(
        "seeds-repeat",
        "bench/reproduce/tasks.py",
        "for number in range(task.first, task.first + task.count):\n        row =",
        "for number in range(task.count):\n        row =",
        "bench/reproduce/test_tasks.py",
    ),
    Mutation(
        "plan-for-everyone",
        "server/routes/tables.py",
        '"/plan", **spec(ADMINS,',
        '"/plan", **spec(("admin", "worker", "viewer"),',
        "server/test_roles.py",
    ),
    Mutation(
        "drift-keeps-promise",
        "study/checks/checks.py",
        "found + ([DRIFTED] if self.drift else [])",
        "found",
        "study/checks/test_drift.py",
    ),
    Mutation(
        "stream-outlives-token",
        "server/routes/stream.py",
        "if opened.watch.closed or not await still_good(service, caller):",
        "if opened.watch.closed:",
        "server/test_stream.py",
    ),
    Mutation(
        "sums-not-saved",
        "algorithms/phases/elimination.py",
        '        "total_sums",\n',
        "",
        "algorithms/phases/test_saved_phases.py",
    ),
    Mutation(
        "paper-level",
        "algorithms/phases/peleg.py",
        "self.config.delta / m**2 / compared**2",
        "self.config.delta / m**2 / compared",
        "algorithms/phases/test_saved_phases.py",
    ),
    Mutation(
        "prior-of-measured-arms",
        "run/diagnostics/fit.py",
        "log_mean(alone[j]) + math.log(len(n) / total)",
        "log_mean(alone[j])",
        "run/test_misfit_prior.py",
    ),
    Mutation(
        "any-rate-varies-like-one-half",
        "bench/forecast/question.py",
        "variance = best * (1 - best) + self.base_rate * (1 - self.base_rate)",
        "variance = 0.5",
        "bench/test_forecast_kinds.py",
    ),
    Mutation(
        "one-sided-interval",
        "bench/forecast/run.py",
        "stdtrit(n - 1, 0.975)",
        "stdtrit(n - 1, 0.95)",
        "bench/test_forecast_interval.py",
    ),
    Mutation(
        "formula-in-header",
        "study/export.py",
        "out.writerow([safe(name) for name in row])",
        "out.writerow(list(row))",
        "study/test_export.py",
    ),
    Mutation(
        "option-called-reward",
        "study/export.py",
        "        while key in row:\n",
        "        while key in row and key not in features:\n",
        "study/test_export.py",
    ),
    Mutation(
        "nobody-asked",
        "study/desk/leases.py",
        "who_told = worker or lease.worker or lease.last",
        "who_told = worker",
        "study/test_who_told.py",
    ),
    Mutation(
        "crowd-asks-twice",
        "study/desk/crowd.py",
        "return self._lease_all(tx, asks, tries > 1)",
        "return self._lease_all(tx, asks, False)",
        "study/test_crowd.py",
    ),
    Mutation(
        "return-begins-a-row",
        "study/export.py",
        "out = csv.writer(lines)",
        'out = csv.writer(lines, lineterminator="\\n")',
        "study/test_export.py",
    ),
    # -- verifier
    Mutation(
        "width-not-earned",
        "verifier/rules/phases.py",
        "width >= earned * (1 - 1e-9),",
        "width >= -earned,",
        _FORGERIES,
    ),
    Mutation(
        "capital-below-the-goal",
        "verifier/rules/pooled.py",
        "            capital >= self.goal - 1e-6,",
        "            capital >= -self.goal,",
        _FORGERIES,
    ),
    Mutation(
        "intervals-overlap",
        "verifier/rules/intervals.py",
        "apart > needed * (1 - 1e-9),",
        "apart > 0.0,",
        _FORGERIES,
    ),
    Mutation(
        "ellipsoid-not-cleared",
        "verifier/rules/ellipsoid.py",
        "gaps[named] >= widths[named] * (1 - 1e-9),",
        "gaps[named] >= 0.0,",
        _FORGERIES,
    ),
    Mutation(
        "glr-below-threshold",
        "verifier/rules/glr.py",
        ">= needed * (1 - _SLACK),",
        ">= 0.0 * needed,",
        _FORGERIES,
    ),
    Mutation(
        "static-level-ignored",
        "verifier/rules/static.py",
        "(evidence >= math.log(1 / self.level) - 1e-6)",
        "(evidence > -math.inf)",
        _FORGERIES,
    ),
    Mutation(
        "static-union-ignored",
        "verifier/rules/static.py",
        "return lead >= np.sqrt(8 * variance * log) * (1 - 1e-9)",
        "return lead >= 0.0 * variance * log",
        _FORGERIES,
    ),
    Mutation(
        "static-half-cycles",
        "verifier/rules/static.py",
        "cycles >= 1 and (counts == cycles * self.cycle).all(),",
        "cycles >= 1,",
        _FORGERIES,
    ),
    Mutation(
        "alba-unsettled",
        "verifier/rules/alba.py",
        "(surplus > 0) & (found >= math.log(1 / level) - 1e-6)",
        "(surplus > 0) | (found > 0)",
        _FORGERIES,
    ),
    Mutation(
        "noise-of-choice",
        "verifier/rules/estimated_noise.py",
        'exact.number(entry["noise"], "a noise"), noise,',
        'exact.number(entry["noise"], "a noise"), float(entry["noise"]),',
        _FORGERIES,
    ),
    Mutation(
        "levels-of-choice",
        "verifier/published.py",
        "return threshold == width and (same(level, due) or (lower and level <= due))",
        "return True",
        _HINDSIGHT,
    ),
    Mutation(
        "cycles-of-choice",
        "verifier/rules/static.py",
        '(first == self.cycle).all(), "its cycle',
        '(first >= 0).all(), "its cycle',
        _HINDSIGHT,
    ),
    Mutation(
        "first-arms-of-choice",
        "verifier/spanning.py",
        "if lengths[farthest] < (1 - _AS_FAR) * lengths.max():",
        "if lengths[farthest] < 0:",
        _HINDSIGHT,
    ),
    Mutation(
        "any-regularisation",
        "verifier/published.py",
        "value == set_to,",
        "value > 0,",
        _HINDSIGHT,
    ),
    Mutation(
        "any-sentence",
        "verifier/statement.py",
        "statement in sentences or",
        "statement.startswith(sentences[0][:30]) or",
        "verifier/test_certificate.py",
    ),
    Mutation(
        "replay-takes-anything",
        "run/replay.py",
        "if not exact and not (run.algorithm.any_pulls and _is_close(asked, told.pulls)):",
        "if not exact and told.pulls.total == 0:",
        "run/test_replay.py",
    ),
    Mutation(
        "replay-looks-at-no-evidence",
        "run/replay.py",
        "if exact and place is not None:",
        "if exact and place is False:",
        "run/test_replay.py",
    ),
    Mutation(
        "chain-without-rewards",
        "study/chain.py",
        'fine = batch is not None and content["rewards"] == rewards(batch)',
        "fine = batch is not None",
        "study/test_chain.py",
    ),
    Mutation(
        "chain-of-loose-links",
        "study/chain.py",
        "before = link.digest\n",
        "before = _FIRST\n",
        "study/test_chain.py",
    ),
    Mutation(
        "checked-fit-keeps-all",
        "verifier/rules/checked_fit.py",
        "survivors = importlib",
        'survivors = [check.claim["candidate"]] or importlib',
        _FORGERIES,
    ),
    Mutation(
        "survivors-not-compared",
        "verifier/check.py",
        'self.demand(left == self.claim["survivors"]',
        'self.demand(set(left) & set(self.claim["survivors"])',
        _FORGERIES,
    ),
    # -- arrays, statistics
    Mutation(
        "newest-plan-goes",
        "arrays/cache.py",
        "self._plans.popitem(last=False)",
        "self._plans.popitem(last=True)",
        "arrays/test_cache.py",
    ),
    Mutation(
        "minus-zero",
        "arrays/tables.py",
        "backend.host(table[rows]) + 0.0",
        "backend.host(table[rows])",
        "verifier/test_reference.py::test_a_large_certificate_refers_to_its_arms",
    ),
    Mutation(
        "narrow-widths",
        "statistics/estimate.py",
        "return np.sqrt(2.0 * variances * np.log(1.0 / level))",
        "return np.sqrt(variances * np.log(1.0 / level))",
        "statistics/test_estimate.py",
    ),
    Mutation(
        "lower-leads",
        "statistics/estimate.py",
        "xp.matmul(y, theta) + widths)",
        "xp.matmul(y, theta) - widths)",
        "statistics/test_estimate.py",
    ),
    Mutation(
        "clearer-by-the-gap",
        "statistics/estimate.py",
        "clearer = lead - own > gap[places] - width[places]",
        "clearer = lead > gap[places]",
        "statistics/test_leaders.py",
    ),
    Mutation(
        "mixture-without-a-price",
        "statistics/mixture.py",
        "np.logaddexp.reduce(bets, axis=0) - math.log(len(SCALES))",
        "np.logaddexp.reduce(bets, axis=0)",
        "statistics/test_mixture.py",
    ),
    # -- problem, game, design
    Mutation(
        "outside-the-span",
        "problem/span.py",
        "across > _OUTSIDE * np.maximum(length",
        "across > np.maximum(length",
        "problem/test_problem.py",
    ),
    Mutation(
        "rows-that-do-not-spread",
        "arrays/fixed.py",
        "left -= (left * unit).sum(axis=1)[:, None] * unit",
        "left[chosen[i]] = 0.0",
        "problem/test_spanning.py",
    ),
    Mutation(
        "a-column-too-many",
        "problem/tables/encode.py",
        "for level in levels[1:]]",
        "for level in levels]",
        "problem/test_table.py",
    ),
    Mutation(
        "a-level-that-the-intercept-has",
        "problem/tables/coding.py",
        "if j or not reduced",
        "if j >= 0 or reduced",
        "problem/test_formula.py",
    ),
    Mutation(
        "a-minus-of-a-minus",
        "problem/tables/grammar.py",
        'found = "+" if found == sign or (found is None and sign == "+") else "-"',
        "found = sign",
        "problem/test_formula.py",
    ),
    Mutation(
        "any-function-of-a-formula",
        "problem/tables/grammar.py",
        "if name.text not in NUMERIC:",
        "if name.text not in NUMERIC and not name.text.islower():",
        "problem/test_formula.py",
    ),
    Mutation(
        "game-bounded-by-the-least",
        "game/loop.py",
        "lower = played / float(total.max())",
        "lower = played / float(total.min())",
        "game/test_loop.py",
    ),
    Mutation(
        "targets-start-at-zero",
        "game/loop.py",
        "self.targets = np.ones(K)",
        "self.targets = np.zeros(K)",
        "game/test_loop.py",
    ),
    Mutation(
        "rounding-takes-from-the-wrong",
        "design/rounding.py",
        "(pulls - 1) / share, -np.inf)",
        "share / pulls, -np.inf)",
        "design/test_rounding.py",
    ),
    Mutation(
        "check-pulls-add",
        "design/misfit.py",
        "filled = np.maximum(n, least)",
        "filled = n + least",
        "design/test_misfit.py",
    ),
    Mutation(
        "first-order-bound-at-work",
        "design/large/firstorder.py",
        "self._proof.bound(1.0 / scores)",
        "self._proof.bound(max(lower, 1.0 / scores))",
        "design/test_large.py",
    ),
    # -- algorithms
    Mutation(
        "peleg-level-for-one",
        "algorithms/phases/peleg.py",
        "self.config.delta / (m * (m + 1)) / (len(self.active) - 1)",
        "self.config.delta / (m * (m + 1))",
        _FORGERIES,
    ),
    Mutation(
        "rage-level-for-one",
        "algorithms/phases/rage.py",
        "level = delta / (t * (t + 1)) / (len(self.active) - 1)",
        "level = delta / (t * (t + 1))",
        "algorithms/phases/test_rage.py",
    ),
    Mutation(
        "doubt-halved",
        "algorithms/pooled/compiled/market.py",
        "DOUBT * self.gaps[self.rivals] ** 2",
        "0.5 * DOUBT * self.gaps[self.rivals] ** 2",
        _FORGERIES,
    ),
    Mutation(
        "means-compared-to-the-last-digit",
        "algorithms/pooled/compiled/market.py",
        "alike = level(self.means)",
        "alike = self.means",
        "test_processors.py",
    ),
    Mutation(
        "replays-not-demanded-elsewhere",
        "run/made.py",
        '(made.get("pulls_rule") == PULLS_RULE and not large)',
        "False",
        "run/test_replay.py",
    ),
    Mutation(
        "stale-market",
        "algorithms/pooled/suggested.py",
        "self._estimate = self._market = self._scales = None\n",
        "self._estimate = self._scales = None\n",
        _FORGERIES,
    ),
    Mutation(
        "claims-that-forget-the-others",
        "algorithms/pooled/questions/steps.py",
        "(beside + each.sum() - each) / weights",
        "(beside + 0.0 * each) / weights",
        "algorithms/pooled/test_steps.py",
    ),
    Mutation(
        "claims-verified-without-the-others",
        "verifier/rules/steps.py",
        "                total += max(sum(row[j] for j in rest) for rest in sets)\n",
        "",
        "algorithms/pooled/test_steps.py",
    ),
    Mutation(
        "ellipsoid-shift-in-wrong-units",
        "algorithms/ellipsoid/state.py",
        "math.sqrt(lam) * config.norm_bound / problem.unit",
        "math.sqrt(lam) * config.norm_bound * problem.unit",
        _FORGERIES,
    ),
    Mutation(
        "glr-for-one-scale",
        "algorithms/glr/thresholds.py",
        "math.log(len(self.scales) / delta)",
        "math.log(1 / delta)",
        _FORGERIES,
    ),
    Mutation(
        "glr-for-one-rival",
        "algorithms/glr/thresholds.py",
        "math.log(max(rivals, 1) / delta)",
        "math.log(1 / delta)",
        _FORGERIES,
    ),
    Mutation(
        "lucb-keeps-the-beaten",
        "algorithms/lucb.py",
        "left = gap <= width",
        "left = gap <= 2 * width",
        "algorithms/test_lucb.py",
    ),
    Mutation(
        "lucb-third-power",
        "algorithms/lucb_kernels.py",
        "4.0 * np.log(memory.whole[ROUND])",
        "3.0 * np.log(memory.whole[ROUND])",
        "algorithms/test_lucb.py",
    ),
    Mutation(
        "alba-stale-lead",
        "algorithms/alba.py",
        "key = (self._best, len(self.active))",
        "key = (self._best, 0)",
        "algorithms/test_alba.py",
    ),
    Mutation(
        "static-level-for-one",
        "algorithms/static/state.py",
        "bar = math.log((M - 1) / delta)",
        "bar = math.log(1 / delta)",
        "algorithms/static/test_xy_static.py",
    ),
    Mutation(
        "extra-pulls-of-own-arms",
        "algorithms/wrappers/checked_fit.py",
        "        lacking[own.arms] = False  # its sum of rewards must be its own\n",
        "",
        "algorithms/wrappers/test_checked_fit.py",
    ),
    Mutation(
        "lower-end-of-the-noise",
        "algorithms/wrappers/estimated_noise.py",
        "chdtri(self.freedom, 1 - _LEVEL)",
        "chdtri(self.freedom, _LEVEL)",
        "algorithms/wrappers/test_estimated_noise.py",
    ),
    # -- run, storage, study
    Mutation(
        "sums-of-the-last-batch",
        "run/record.py",
        "np.add.at(self.sums, told.pulls.arms, told.sums)",
        "self.sums[told.pulls.arms] = told.sums",
        "run/test_totals.py",
    ),
    Mutation(
        "overflow-in-two-steps",
        "run/rewards.py",
        "np.abs(totals) + np.abs(so_far[arms])",
        "np.abs(totals)",
        "run/test_run.py",
    ),
    Mutation("arms-below-zero", "run/past.py", " & (numbers >= 0) & ", " & ", "run/test_totals.py"),
    Mutation(
        "waiting-in-wrong-order",
        "storage/sql/statements.py",
        "leases.c.until <= _now).order_by(leases.c.until, leases.c.pull)",
        "leases.c.until <= _now).order_by(leases.c.pull)",
        "conformance/test_storages.py::test_leases_are_found_by_pull_by_worker_and_by_time",
    ),
    Mutation(
        "past-left-behind",
        "storage/sql/statements.py",
        "(chain, events, tells, leases, past, snapshots,",
        "(chain, events, tells, leases, snapshots,",
        "storage/test_removal.py",
    ),
    Mutation(
        "told-once-more",
        "storage/records.py",
        "self.told == self.size",
        "self.told >= self.size - 1",
        "study/test_study.py",
    ),
    Mutation(
        "anyone-may-fail",
        "study/desk/leases.py",
        "lease.is_of(None, token) and worker in (None, lease.worker)",
        "lease.is_of(None, token)",
        "study/test_study.py",
    ),
    Mutation(
        "attempts-not-counted",
        "study/desk/asking.py",
        "x.attempts + 1, token, at.now)",
        "1, token, at.now)",
        "study/test_study.py",
    ),
    Mutation(
        "passed-over-counts-as-handed-out",
        "study/desk/leases.py",
        "tx.leases(study, pulls).items() if one.attempts}",
        "tx.leases(study, pulls).items()}",
        "study/desk/test_same.py",
    ),
    Mutation(
        "ahead-counts-for-the-open-batch",
        "study/desk/leases.py",
        "early = sum(one.pull >= at.first + at.size for one in tells)",
        "early = 0",
        "study/test_overlap.py -k lost",
    ),
    Mutation(
        "nameless-plan-ahead",
        "study/desk/desk.py",
        "(self.overlap is None and not worker.startswith(ANONYMOUS))",
        "self.overlap is None",
        "study/test_overlap.py -k name",
    ),
    Mutation(
        "settings-do-nothing",
        "study/spec.py",
        "made if apply is None else apply(self.values[name], made)",
        "made",
        "study/test_hedge.py -k nobody_can_take_over",
    ),
    Mutation(
        "settings-are-not-checked",
        "study/settings.py",
        "value if value is self.default else self.check(value)",
        "value",
        "study/test_settings.py -k yes_or_no",
    ),
    Mutation(
        "settings-are-forgotten",
        "study/settings.py",
        "return self.apply is not None or self.name in _REGISTERED",
        "return self.apply is not None",
        "study/test_settings.py -k kept",
    ),
    Mutation(
        "copies-for-the-nameless",
        "study/desk/asking.py",
        "helps = hedge and has_a_name(wanted.holder.worker)",
        "helps = hedge",
        "study/test_hedge.py -k no_name",
    ),
    Mutation(
        "copies-of-their-own",
        "study/desk/asking.py",
        "if (x.worker, x.token) != (worker, token))",
        "if True)",
        "study/test_hedge.py -k holds_up_much",
    ),
    Mutation(
        "copies-as-soon-as-anything-waits",
        "study/hedge.py",
        "early >= max(_OVERTAKEN * out, _BEHIND * counted)",
        "early >= _BEHIND * counted",
        "study/test_hedge.py -k holds_up_much",
    ),
    Mutation(
        "who-fails-takes-the-other-ones-pull",
        "study/desk/leases.py",
        "[back if lease.second is None else lease.given_up_by_first()]",
        "[back]",
        "study/test_hedge.py -k gives_it_back",
    ),
    Mutation(
        "certificates-hide-copies",
        "verifier/hedged.py",
        "check.demand(count > 0,",
        "check.demand(count > -9,",
        "study/test_hedge.py -k rests_on",
    ),
    Mutation(
        "drift-is-held-against-any-noise",
        "run/diagnostics/beside.py",
        "- half).max(axis=1)",
        "- half).min(axis=1)",
        "run/test_beside.py -k proof",
    ),
    Mutation(
        "failures-add-no-condition",
        "run/guarantee.py",
        "        parts.append(LOST_PROVIDED)",
        "        pass",
        "study/test_lost.py -k names_what",
    ),
    Mutation(
        "certificates-hide-overlap",
        "run/run.py",
        "self._record.keep(told, batch.after)\n        if own",
        "self._record.keep(told, None)\n        if own",
        "study/test_overlap.py -k again",
    ),
    Mutation(
        "asked-for-after-what-came-later",
        "verifier/overlap.py",
        "known <= after < number,",
        "after < 10**7,",
        "study/test_overlap.py -k forged",
    ),
    Mutation(
        "planned-beside-what-others-planned",
        "study/desk/next_batch.py",
        "if now.batch != at.batch or _moved(now, at) or now.finished:",
        "if now.batch != at.batch or now.finished:",
        "study/test_overlap.py -k at_once",
    ),
    Mutation(
        "failures-off-by-one",
        "study/checks/failures.py",
        "failed[suspects] - 1,",
        "failed[suspects],",
        "study/checks/test_uneven.py",
    ),
    # -- client, server
    Mutation(
        "client-forgets-who-asked",
        "client/replies.py",
        "holder = reward.worker or held.get(reward.pull)",
        "holder = reward.worker",
        "client/test_who_told.py",
    ),
    Mutation(
        "gone-at-the-first-try",
        "client/transport.py",
        "if gone and self._count > 1:",
        "if gone:",
        "client/test_client.py",
    ),
    Mutation(
        "expired-but-there",
        "server/tokens.py",
        "there is not None and not token.expired(time.time())",
        "there is not None",
        "server/test_stream.py",
    ),
    Mutation(
        "any-study",
        "server/routing.py",
        "if name is not None and not token.covers(name):",
        "if name is not None and not token.covers(name) and not roles:",
        "server/test_access.py",
    ),
    Mutation(
        "nested-deeper",
        "server/limits.py",
        "if levels.max() > most:",
        "if levels.max() > 2 * most:",
        "server/test_security.py",
    ),
    # -- simulate, bench, report, cli
    Mutation(
        "student-upside-down",
        "simulate/noise.py",
        "math.sqrt((self.freedom - 2) / self.freedom)",
        "math.sqrt(self.freedom / (self.freedom - 2))",
        "simulate/test_noise.py",
    ),
    Mutation(
        "sums-without-scale",
        "simulate/trials.py",
        "run.record_pulls(pulls, problem.sign * sums * scales)",
        "run.record_pulls(pulls, problem.sign * sums)",
        "simulate/test_units.py",
    ),
    Mutation(
        "arms-of-another-seed",
        "bench/compare/run.py",
        "key = (named.key, seed, trial if named.each_trial else -1)",
        "key = (named.key, trial if named.each_trial else -1)",
        "bench/compare/test_instances.py",
    ),
    Mutation(
        "clopper-pearson-off-by-one",
        "bench/summary.py",
        "beta.ppf(1 - tail, errors + 1, n - errors)",
        "beta.ppf(1 - tail, errors, n - errors + 1)",
        "bench/test_summary.py",
    ),
    Mutation(
        "sigmas-of-one",
        "bench/compare/standings.py",
        "math.hypot(self.score.error, self.rival.error)",
        "self.score.error",
        "bench/compare/test_suites.py",
    ),
    Mutation(
        "capped-not-said",
        "report/leaderboard.py",
        'at_least = "> " if place.capped else ""',
        'at_least = ""',
        "report/test_leaderboard.py",
    ),
    Mutation(
        "refused-but-zero",
        "cli/verify.py",
        "raise SystemExit(1) from None",
        "raise SystemExit(0) from None",
        "cli/test_cli.py",
    ),
    Mutation(
        "half-a-pull",
        "study/reward_sheet.py",
        "if number is None or number % 1:",
        "if number is None:",
        "cli/test_study_inputs.py",
    ),
    # -- the m best, and costs
    Mutation(
        "sure-ones-do-not-count",
        "algorithms/pooled/questions/top.py",
        "return np.minimum.reduce([all_accounts(HOST, self.by_others), *on_sure])",
        "return np.maximum.reduce([all_accounts(HOST, self.by_others), *on_sure])",
        "algorithms/pooled/test_top.py",
    ),
    Mutation(
        "no-union-over-the-best",
        "algorithms/pooled/questions/top.py",
        "self.goal = math.log(m / ground.config.delta)",
        "self.goal = -math.log(ground.config.delta)",
        "algorithms/pooled/test_top.py",
    ),
    Mutation(
        "who-comes-starts-anew",
        "algorithms/pooled/questions/top.py",
        "fresh = self._counted()[:, None] + self._start",
        "fresh = 0.0 * self._counted()[:, None] + self._start",
        "algorithms/pooled/test_top.py",
    ),
    Mutation(
        "who-stays-keeps-all",
        "algorithms/pooled/questions/top.py",
        "np.minimum(least - all_accounts(HOST, own), 0.0)",
        "0.0 * (least - all_accounts(HOST, own))",
        "algorithms/pooled/test_top.py",
    ),
    Mutation(
        "anyone-may-be-sure",
        "verifier/rules/top_m.py",
        "                ahead < m,",
        "                ahead >= 0,",
        "verifier/test_top_m.py",
    ),
    Mutation(
        "sure-ones-may-leave",
        "verifier/rules/top_m.py",
        "place in sure or near >= m,",
        "place in sure or near >= 0,",
        "verifier/test_top_m.py",
    ),
    Mutation(
        "closeness-without-handicap",
        "verifier/rules/top_m.py",
        "return math.log(2 * self.m * group * (group + 1))",
        "return 0.0 * group",
        "verifier/test_top_m.py",
    ),
    Mutation(
        "others-left-do-not-matter",
        "verifier/chosen.py",
        'check.demand(not others, "other candidates are still in the race")',
        "pass",
        "verifier/test_top_m.py",
    ),
    Mutation(
        "money-taken-for-pulls",
        "algorithms/pooled/prices.py",
        "pulls = weights / problem.costs",
        "pulls = weights * 1.0",
        "algorithms/pooled/test_costs.py",
    ),
    Mutation(
        "the-last-money-is-overdrawn",
        "run/limits.py",
        "        if money < one:\n            return 0\n",
        "",
        "run/test_budget.py",
    ),
    Mutation(
        "limits-hold-from-the-beginning",
        "run/limits.py",
        'if change["asked"] <= asked:',
        "if True:",
        "run/test_budget.py",
    ),
    Mutation(
        "a-budget-need-not-be-spent",
        "verifier/limits.py",
        "left < float(each.max()) + _ROUNDING * budget",
        'left < float("inf")',
        "run/test_budget.py",
    ),
    Mutation(
        "the-weakest-rival-decides-how-sure",
        "algorithms/pooled/state.py",
        "return float(values[rivals].max(initial=0.0))",
        "return float(values[rivals].min(initial=1.0))",
        "algorithms/pooled/test_guess.py",
    ),
    Mutation(
        "any-p-value-will-do",
        "verifier/p_value.py",
        "abs(claimed - due) <= due * (1e-6 + rounding)",
        "claimed <= 1",
        "algorithms/pooled/test_guess.py",
    ),
    # -- what intervals, lifts and p-values promise; what certificates leave out
    Mutation(
        "lift-upper-end-at-half-the-capital",
        "statistics/lift.py",
        "return low, -self._end(1, math.log(2.0 / level))",
        "return low, -self._end(1, math.log(1.0 / level))",
        "statistics/test_lift_exact.py",
    ),
    Mutation(
        "lift-stakes-see-their-own-period",
        "statistics/lift.py",
        "wanted = _SIZES[:, None] * (scale / noise)",
        "wanted = _SIZES[:, None] * (scale / noise) * (1.0 + seen.sums[both] / seen.counts[both])",
        "statistics/test_lift_exact.py",
    ),
    Mutation(
        "lift-by-the-best-stake",
        "statistics/lift.py",
        "total = top + np.log(np.exp(logs - top).mean(axis=0))",
        "total = top",
        "statistics/test_lift_exact.py",
    ),
    Mutation(
        "lift-capital-starts-at-two",
        "statistics/lift.py",
        "refuted = total >= goal",
        "refuted = total + math.log(2.0) >= goal",
        "statistics/test_lift_exact.py",
    ),
    Mutation(
        "intervals-at-half-the-capital",
        "algorithms/pooled/leads.py",
        "goal = math.log(2.0 / alpha)\n            ends",
        "goal = math.log(1.0 / alpha)\n            ends",
        "algorithms/pooled/test_exact.py",
    ),
    Mutation(
        "upper-ends-at-half-the-capital",
        "algorithms/pooled/leads.py",
        "self._end(-1.0, goal))",
        "self._end(-1.0, goal - math.log(2.0)))",
        "algorithms/pooled/test_exact.py",
    ),
    Mutation(
        "intervals-without-misfit",
        "algorithms/pooled/sums.py",
        "news.information[0], -news.shift[0]",
        "news.information[0], 0.0 * news.shift[0]",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "misfit-helps-known-scales",
        "algorithms/pooled/sums.py",
        "shift * information) - off, information",
        "shift * information) + off, information",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "misfit-helps-symmetric-noise",
        "algorithms/pooled/sums.py",
        "S = sign * (wD - shift * w) - wL",
        "S = sign * (wD - shift * w) + wL",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "misfit-helps-equal-scales",
        "algorithms/pooled/sums.py",
        "(sign * (lead - shift) - off)",
        "(sign * (lead - shift) + off)",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "intervals-by-the-best-stake",
        "algorithms/pooled/sums.py",
        "return top + np.log(np.exp(logs - top[:, None]).mean(axis=1))",
        "return top",
        "algorithms/pooled/test_exact.py",
    ),
    Mutation(
        "intervals-start-at-two",
        "algorithms/pooled/sums.py",
        "math.log(2.0 * share)",
        "math.log(4.0 * share)",
        "algorithms/pooled/test_exact.py",
    ),
    Mutation(
        "interval-stakes-see-their-block",
        "algorithms/pooled/sums.py",
        "stakes = _CLEAR / np.sqrt(",
        "stakes = _CLEAR * (1.0 + np.abs(ahead.news.lead[0]))[:, None] / np.sqrt(",
        "algorithms/pooled/test_exact.py",
    ),
    Mutation(
        "every-leader-has-a-k-th",
        "algorithms/pooled/leaders.py",
        "leads.interval(alpha / (k * (k + 1)))",
        "leads.interval(alpha / k)",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "half-a-p-value",
        "algorithms/pooled/questions/best.py",
        "return np.exp(-np.maximum(self._b.host(self.against()), 0.0))",
        "return 0.5 * np.exp(-np.maximum(self._b.host(self.against()), 0.0))",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "p-value-of-one-side",
        "algorithms/pooled/questions/baseline.py",
        "top = self.sides()[:2].max(axis=0) - math.log(2.0)",
        "top = self.sides()[:2].max(axis=0)",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "p-value-of-one-of-the-best",
        "algorithms/pooled/questions/top.py",
        "self.against() - math.log(self.m), 0.0",
        "self.against(), 0.0",
        "algorithms/pooled/test_levels.py",
    ),
    Mutation(
        "blocks-of-choice-before-a-change",
        "verifier/rules/pooled.py",
        'check.demand(ended, f"{where} was not bet on',
        'check.demand(True, f"{where} was not bet on',
        "verifier/test_options.py -k without_bets",
    ),
    Mutation(
        "discoveries-at-half-the-capital",
        "verifier/rules/compared.py",
        "math.log(2 * len(self.others) / k)",
        "math.log(len(self.others) / k)",
        "verifier/test_compared.py -k discoveries",
    ),
    Mutation(
        "any-answer-beside-the-baseline",
        "verifier/comparison.py",
        'check.same(chosen, found.baseline), "the answer',
        'chosen >= 0, "the answer',
        "verifier/test_compared.py -k nobody_is_better",
    ),
    Mutation(
        "rows-of-reports-at-will",
        "verifier/report_corrections.py",
        "found is None or found == row[:2],",
        "found is None or bucket is not None or found == row[:2],",
        "study/traffic/test_corrections.py -k bucket",
    ),
    # -- crossings, and what else could go wrong
    Mutation(
        "rounding-wins",
        "statistics/lift.py",
        "paid -= stakes * (self._rounding(up[0]) + self._rounding(down[0]))",
        "paid += stakes * (self._rounding(up[0]) + self._rounding(down[0]))",
        "statistics/test_lift_exact.py -k rounding",
    ),
    Mutation(
        "stakes-beyond-the-other-bound",
        "statistics/lift.py",
        "(self._high - down[3]) / down[0])",
        "(down[3] - self._low) / down[0])",
        "statistics/test_lift_exact.py",
    ),
    Mutation(
        "periods-weigh-by-the-option-alone",
        "statistics/lift.py",
        "weights = n * n[k] / (n + n[k])",
        "weights = 1.0 * n",
        "statistics/test_lift_exact.py -k mirror",
    ),
    Mutation(
        "shares-tested-by-their-own-counts",
        "statistics/ratio.py",
        "ratio = (own + self.counts[sent]) /",
        "ratio = (own + self.counts[sent] + n) /",
        "study/traffic/test_ratio.py",
    ),
    Mutation(
        "scales-guessed-after-the-block",
        "statistics/unequal.py",
        "self._guessed += log_ratio(each, shares, self.variances()[arms])",
        "self._guessed += log_ratio(each, shares, (_CAUTION + nu * shares) / (_CAUTION + each))",
        "statistics/test_unequal.py",
    ),
    Mutation(
        "arms-that-wait-give-up-their-share",
        "statistics/triples.py",
        "0.5 * alone / self.n_arms)",
        "0.5 * (alone - waiting * math.exp(-top)) / max(len(own), 1))",
        "statistics/test_triples.py -k later",
    ),
    Mutation(
        "what-rounding-hides-is-nothing",
        "statistics/reported.py",
        "return min(abs(apart) + self.rounding, self.most)",
        "return min(abs(apart), self.most)",
        "statistics/test_reported.py",
    ),
    Mutation(
        "one-degree-of-freedom-more",
        "algorithms/pooled/sums.py",
        "math.lgamma(0.5 * (freedom + 2)) - math.lgamma(0.5 * (freedom + 1))",
        "math.lgamma(0.5 * (freedom + 3)) - math.lgamma(0.5 * (freedom + 2))",
        "algorithms/pooled/test_exact.py -k one_unknown",
    ),
    Mutation(
        "the-retired-decide-how-sure",
        "algorithms/pooled/state.py",
        "rivals = np.ones(len(values), dtype=bool) if offered is None else offered.copy()",
        "rivals = np.ones(len(values), dtype=bool)",
        "algorithms/pooled/test_options.py -k certificate",
    ),
    Mutation(
        "doubts-by-both-accounts",
        "algorithms/pooled/questions/best.py",
        "share = np.maximum(share, np.clip(near, 0.0, 1.0))",
        "share = np.clip(share + np.clip(near, 0.0, 1.0), 0.0, 1.0)",
        "algorithms/pooled/test_levels.py -k doubts",
    ),
    Mutation(
        "lifts-from-the-other-side-of-a-number",
        "algorithms/pooled/questions/baseline.py",
        "low, high = found.low - self._number, found.high - self._number",
        "low, high = found.low + self._number, found.high + self._number",
        "algorithms/pooled/test_baseline.py",
    ),
    Mutation(
        "leads-of-each-of-the-m-best",
        "algorithms/pooled/questions/top.py",
        "return self.leaders.interval(self.best, self.ground.config.delta)",
        "return self.leaders.interval(self.best, self.m * self.ground.config.delta)",
        "algorithms/pooled/test_levels.py -k hold_at_delta",
    ),
    Mutation(
        "newcomers-bet-on-by-strata",
        "algorithms/pooled/state.py",
        "        if not self.blocks or self.opening:\n            rows",
        "        if not self.blocks:\n            rows",
        "algorithms/pooled/test_strata.py -k comes",
    ),
    Mutation(
        "levels-of-strata-in-one-unit",
        "algorithms/pooled/levels.py",
        "return levels[of] / units",
        "return levels[of]",
        "algorithms/pooled/test_strata.py -k levelled",
    ),
    Mutation(
        "levels-verified-in-one-unit",
        "verifier/strata.py",
        "cells.counts * levels / units",
        "cells.counts * levels",
        "algorithms/pooled/test_strata.py -k together",
    ),
    Mutation(
        "wide-bounds-on-items",
        "statistics/paired_kernels.py",
        "told[i, a] / items, CAP / width)",
        "told[i, a] / items, CAP)",
        "algorithms/pooled/test_exact.py -k on_items",
    ),
    Mutation(
        "costs-of-the-first-options",
        "problem/grown.py",
        "None if problem.costs is None else problem.costs[arms]",
        "None if problem.costs is None else problem.costs[: len(arms)]",
        "algorithms/pooled/test_costs.py -k retired",
    ),
    Mutation(
        "scales-of-newcomers-first",
        "problem/grown.py",
        "return np.append(kind.scales, own)",
        "return np.append(own, kind.scales)",
        "algorithms/pooled/test_costs.py -k retired",
    ),
    Mutation(
        "one-coin-for-any-option-of-several",
        "algorithms/pooled/direct.py",
        "least = np.broadcast_to(self._prices, len(counts))[out]",
        "least = np.ones(len(counts))[out]",
        "algorithms/pooled/test_costs.py -k several",
    ),
    Mutation(
        "what-is-out-costs-nothing",
        "run/run.py",
        "counts, samples = counts + out, samples + int(out.sum())",
        "samples = samples + int(out.sum())",
        "run/test_budget.py -k ahead",
    ),
    Mutation(
        "the-control-loses-its-least-share",
        "run/sharing.py",
        "least[self.control] = max(self.control_share, least[self.control])",
        "least[self.control] = self.control_share",
        "study/traffic/test_study.py -k least_share_like",
    ),
    Mutation(
        "each-of-many-intervals-at-delta",
        "study/traffic/look.py",
        "self._lifts.intervals(run.algorithm.delta / max(n - 1, 1))",
        "self._lifts.intervals(run.algorithm.delta)",
        "study/traffic/test_study.py -k hold_together",
    ),
    Mutation(
        "shares-that-forget-reports",
        "verifier/traffic.py",
        "last <= settled <= number,",
        "settled <= number,",
        "study/traffic/test_ratio.py -k forged",
    ),
    Mutation(
        "overlapping-discoveries",
        "verifier/overlap.py",
        'claims_of(check) == "all",',
        'claims_of(check) in ("all", "fdr"),',
        "study/test_overlap.py -k forged",
    ),
    Mutation(
        "close-to-the-first-of-several",
        "verifier/chosen.py",
        "for a in chosen if others else ():",
        "for a in chosen[:1] if others else ():",
        "verifier/test_top_m.py -k closeness",
    ),
    Mutation(
        "the-retired-are-verified-too",
        "verifier/rules/pooled.py",
        "self.candidates[there], self._log_capital()[there]",
        "self.candidates, self._log_capital()",
        "algorithms/pooled/test_options.py -k certificate",
    ),
    Mutation(
        "a-misfit-noticed-by-one-test",
        "design/misfit.py",
        "math.log(2 * len(PRECISIONS) / level)",
        "math.log(2 / level)",
        "design/test_misfit.py",
    ),
    Mutation(
        "spanning-whatever-it-costs",
        "algorithms/pooled/prices.py",
        "spread_rows(per_money(problem, problem.features), problem.rank)",
        "spread_rows(problem.features, problem.rank)",
        "algorithms/pooled/test_costs.py -k spans",
    ),
    Mutation(
        "newcomers-close-at-once",
        "algorithms/pooled/options.py",
        "np.vstack([held, np.tile(newcomers_start(start, held[left]), (count, 1))])",
        "np.vstack([held, np.tile(start, (count, 1))])",
        "algorithms/pooled/test_options.py -k newcomer",
    ),
    Mutation(
        "close-to-whom-nobody-left-behind",
        "algorithms/pooled/options.py",
        '"leaders": [NOBODY] * len(memory["leaders"]),',
        '"leaders": memory["leaders"],',
        "algorithms/pooled/test_options.py -k retirement",
    ),
    # -- kinds of bugs that went unnoticed: two features that meet
    Mutation(
        "newcomers-share-a-level",
        "algorithms/pooled/state.py",
        "known = self.totals.counts[told.arms] > 0 if opening else None",
        "known = None",
        "study/test_crossings.py -k strata and add",
    ),
    Mutation(
        "levels-in-units-of-the-noise",
        "algorithms/pooled/levels.py",
        "return levels[of] / units",
        "return levels[of]",
        "study/test_crossings.py -k strata and arm",
    ),
    Mutation(
        "corrections-forget-the-stratum",
        "study/desk/rebuild.py",
        "if self.rewards.strata is not None:",
        "if self.rewards.strata is None:",
        "study/test_crossings.py -k strata and correct",
    ),
    Mutation(
        "money-that-is-out-is-spent-again",
        "run/run.py",
        "self.state.funds = left.funds\n        return",
        "self.state.funds = self._left().funds\n        return",
        "study/test_crossings.py -k money",
    ),
    Mutation(
        "pulls-that-are-out-are-not-counted",
        "run/run.py",
        "ask_ahead(now, self.state, self._pulls_in(left), told, put)",
        "ask_ahead(now, self.state, self._pulls_in(self._left()), told, put)",
        "study/test_crossings.py -k few and overlap",
    ),
    Mutation(
        "the-short-way-does-not-pause",
        "storage/sql/postgres.py",
        "AND NOT finished AND NOT paused",
        "AND NOT finished",
        "study/test_crossings.py -k short_way and pause",
    ),
    Mutation(
        "newcomers-cost-one",
        "study/acts/options.py",
        '"costs": content.get("costs")}',
        '"costs": content.get("costs") and [1.0] * len(content["labels"])}',
        "study/test_crossings.py -k costs and add",
    ),
    # -- second implementations
    Mutation(
        "nobody-is-strict",
        "client/requests.py",
        'body |= {"strict": True} if strict else {}',
        "body |= {}",
        "client/test_alike.py",
    ),
    Mutation(
        "seconds-taken-for-milliseconds",
        "client/transport.py",
        'return float(response.headers["Retry-After"])',
        'return float(response.headers["Retry-After"]) / 1000',
        "client/test_alike.py",
    ),
    # -- pairs
    Mutation(
        "pairs-one-left-beats-everyone",
        "algorithms/pairs/purses.py",
        "math.log(self.K / delta))",
        "math.log(1 / delta))",
        "algorithms/pairs/test_purses.py -k rival",
    ),
    Mutation(
        "pairs-serve-the-opponent",
        "algorithms/pairs/purses.py",
        "block.result, 1.0 - block.result)\n        K, most",
        "block.result, block.result)\n        K, most",
        "algorithms/pairs/test_pairs.py -k most-limit",
    ),
    Mutation(
        "pairs-coin-of-the-plan",
        "algorithms/pairs/pairs.py",
        "self.draws.words(_ORDER, len(one))",
        "self.draws.words(_PLAN, len(one))",
        "algorithms/pairs/test_pairs.py -k everyone",
    ),
    Mutation(
        "pairs-any-order-for-the-verifier",
        "verifier/rules/pairs.py",
        "(a > b) == bool(coins[place])",
        "coins[place] in (0, 1)",
        "algorithms/pairs/test_pairs.py -k refuses",
    ),
    Mutation(
        "pairs-any-opponent-for-the-verifier",
        "verifier/rules/pairs.py",
        "check.demand(other == due,",
        "check.demand(other != who,",
        "algorithms/pairs/test_pairs.py -k refuses",
    ),
    Mutation(
        "pairs-any-cycle-for-the-verifier",
        "verifier/rules/pairs.py",
        "fine = self.pairs_most[b, a] >= enough",
        "fine = self.pairs_most[b, a] >= 0",
        "algorithms/pairs/test_pairs.py -k refuses",
    ),
    # -- smaller is better
    Mutation(
        "smaller-is-worse",
        "problem/contents.py",
        "return self.sign * sums / self.noise_kind.units(arms)",
        "return sums / self.noise_kind.units(arms)",
        "run/test_shown.py",
    ),
    Mutation(
        "a-threshold-upside-down",
        "problem/contents.py",
        "return self.sign * reward / self.unit",
        "return reward / self.unit",
        "run/test_shown.py",
    ),
    Mutation(
        "estimates-shown-as-seen",
        "run/shown.py",
        "known._replace(estimates=_turned(known.estimates))",
        "known",
        "run/test_shown.py",
    ),
    Mutation(
        "ends-of-lifts-swapped",
        "run/shown.py",
        '{"low": _turned(claims.high), "high": _turned(claims.low)}',
        '{"low": _turned(claims.low), "high": _turned(claims.high)}',
        "run/test_shown.py",
    ),
    Mutation(
        "the-verifier-maximises",
        "verifier/check.py",
        "return self.sign * np.array(sums, dtype=float) / self.kind.units(arms)",
        "return np.array(sums, dtype=float) / self.kind.units(arms)",
        "run/test_shown.py",
    ),
    Mutation(
        "any-word-for-the-direction",
        "verifier/check.py",
        'problem["minimise"] is True',
        'problem["minimise"]',
        "run/test_shown.py",
    ),
    # -- what is shown
    Mutation(
        "report-upside-down",
        "report/colleague.py",
        "key=lambda i: best(known[i]))",
        "key=lambda i: -best(known[i]))",
        "report/test_shown.py",
    ),
    Mutation(
        "captions-that-run",
        "report/html.py",
        "said = html.escape(caption)",
        "said = caption",
        "report/test_shown.py",
    ),
    Mutation(
        "titles-that-run",
        "report/html.py",
        "<title>{html.escape(self._title)}</title>",
        "<title>{self._title}</title>",
        "report/test_shown.py",
    ),
    Mutation(
        "small-p-values-are-one",
        "cli/status.py",
        "if value < 1e-4 else",
        "if value < 1e-3 else",
        "report/test_shown.py",
    ),
    Mutation(
        "retired-and-exported-as-in",
        "study/export.py",
        " in survivors and label not in retired",
        " in survivors",
        "report/test_shown.py",
    ),
    # -- time
    Mutation(
        "window-from-the-beginning",
        "study/acts/reports.py",
        "closes = running[1].at + window",
        "closes = running[0].at + window",
        "study/traffic/test_in_time.py",
    ),
    Mutation(
        "kept-for-ever-by-asking-again",
        "study/desk/asking.py",
        "min(self._until, one.since + longest)",
        "self._until",
        "study/desk/test_in_time.py",
    ),
    Mutation(
        "buckets-without-a-brim",
        "server/limits.py",
        "level = min(self._burst, level + (now - when) * self._rate)\n        if level < cost:",
        "level = level + (now - when) * self._rate\n        if level < cost:",
        "server/test_in_time.py",
    ),
    Mutation(
        "sessions-without-end",
        "server/tokens.py",
        "if token.session_of is not None:\n            raise AccessError(",
        "if token.session_of is None and token.expired(0.0):\n            raise AccessError(",
        "server/test_in_time.py",
    ),
    # -- put in to see what the tests above notice; half of them where two features meet
    Mutation(
        "the-short-way-knows-no-items",
        "study/desk/desk.py",
        "return self.strata is None and not self.on_items and not self._hedges",
        "return self.strata is None and not self._hedges",
        "study/test_crossings.py -k short_way and items",
    ),
    Mutation(
        "the-short-way-knows-no-strata",
        "study/desk/desk.py",
        "return self.strata is None and not self.on_items and not self._hedges",
        "return not self.on_items and not self._hedges",
        "study/test_crossings.py -k short_way and strata",
    ),
    Mutation(
        "another-item-at-the-second-try",
        "study/desk/asking.py",
        "return one.stratum if self._on_items else self._stratum",
        "return self._stratum",
        "study/test_crossings.py -k items and fail",
    ),
    Mutation(
        "withdrawn-ahead-and-still-early",
        "study/acts/rewards.py",
        "early = sum(one.pull >= now.first + now.size for one in again)",
        "early = 0",
        "study/test_crossings.py -k overlap and spill",
    ),
    Mutation(
        "what-was-open-at-the-end-counts",
        "study/status.py",
        "in () if at.finished else totals.items():",
        "in totals.items():",
        "study/test_crossings.py -k stop and costs",
    ),
    Mutation(
        "open-batches-are-free",
        "study/status.py",
        '"cost": None if problem.costs is None else problem.cost_of(told),',
        '"cost": None if problem.costs is None else problem.cost_of(run.pulls),',
        "study/desk/test_in_time.py",
    ),
    Mutation(
        "exports-without-items",
        "study/export.py",
        'row["item"] = one.stratum',
        'row["stratum"] = one.stratum',
        "study/test_crossings.py -k items and pause",
    ),
    Mutation(
        "withdrawn-on-no-item",
        "study/acts/rewards.py",
        "None, now.now, since=now.now, stratum=one.stratum)",
        "None, now.now, since=now.now)",
        "study/test_crossings.py -k items and spill",
    ),
    Mutation(
        "told-the-short-way-without-a-stratum",
        "storage/sql/postgres.py",
        "%(token)s, stratum\n    FROM gone",
        "%(token)s, NULL\n    FROM gone",
        "study/test_crossings.py -k short_way and strata",
    ),
    Mutation(
        "told-ahead-the-short-way-and-forgotten",
        "storage/sql/postgres.py",
        "SET told = told + 1 - open.early, early = at.early + open.early",
        "SET told = told + 1 - open.early, early = at.early",
        "study/test_crossings.py -k short_way and overlap",
    ),
    Mutation(
        "no-longest-at-the-service",
        "server/routes/work.py",
        "lease, token.owner, longest, body.stratum",
        "lease, token.owner, None, body.stratum",
        "server/test_in_time.py",
    ),
    Mutation(
        "revoked-but-still-second",
        "server/tokens.py",
        "                of_study.where(as_second).values(alone),\n",
        "",
        "server/test_in_time.py",
    ),
    Mutation(
        "paused-but-nobody-hears",
        "client/replies.py",
        '"told", "finished", "paused")',
        '"told", "finished")',
        "client/test_alike.py",
    ),
    Mutation(
        "clients-that-know-no-newcomers",
        "client/requests.py",
        "            self._forget()\n        self._held.update",
        "            pass\n        self._held.update",
        "client/test_alike.py",
    ),
    Mutation(
        "twice-the-budget-is-left",
        "study/status.py",
        "max(0.0, budget - cost)",
        "max(0.0, budget - cost / 2)",
        "study/test_crossings.py -k costs and budget",
    ),
    Mutation(
        "visits-by-estimate",
        "report/colleague.py",
        'now, heads = now | {"estimate": status["means"]}, heads',
        'now, heads = now | {"estimate": status["estimates"]}, heads',
        "report/test_shown.py",
    ),
    Mutation(
        "ends-the-wrong-way-round",
        "report/picture.py",
        "for number in (value, high, low))",
        "for number in (value, low, high))",
        "report/test_shown.py",
    ),
    Mutation(
        "copies-of-the-first-options",
        "simulate/posterior.py",
        "self.problem = problem = run.problem_ahead",
        "self.problem = problem = run.problem",
        "simulate/test_ahead.py -k waits",
    ),
    Mutation(
        "ends-at-the-whole-level",
        "bets.py",
        "math.log(2.0 / level)",
        "math.log(1.0 / level)",
        "test_bets.py",
    ),
    Mutation(
        "losses-cut-and-gains-not",
        "bets.py",
        "np.clip(bets, -_FURTHEST, _FURTHEST)",
        "np.clip(bets, -_FURTHEST, 2 * _FURTHEST)",
        "test_bets.py",
    ),
    Mutation(
        "refusals-say-nothing-of-each",
        "client/transport.py",
        "if response.is_success or (request.says_of_each and _says_of_each(response)):",
        "if response.is_success:",
        "client/test_client.py client/test_alike.py client/test_async.py",
    ),
    Mutation(
        "scales-of-the-first-arms",
        "simulate/trials.py",
        "scale = scales[arms] if isinstance",
        "scale = scales[: len(arms)] if isinstance",
        "simulate/test_units.py",
    ),
    Mutation(
        "past-is-numbered-from-zero",
        "study/checks/tally.py",
        "self._windows.add_numbered(self._past + done.pulls, done.arms, values)",
        "self._windows.add_numbered(done.pulls, done.arms, values)",
        "study/test_past.py",
    ),
    Mutation(
        "pauses-end-with-the-batch",
        "storage/records.py",
        "paused=self.paused and not finished,",
        "paused=False,",
        "study/desk/test_in_time.py",
    ),
    Mutation(
        "newcomers-lose-the-cells-of-others",
        "study/acts/options.py",
        "            found[name] += cells\n",
        "            found[name] = found[name][:1] * len(found[name]) + cells\n",
        "study/test_options.py -k cells",
    ),
    Mutation(
        "early-rewards-wait-for-nothing",
        "study/desk/next_batch.py",
        "        if there is not None and now.early:\n",
        "        if there is not None and now.early > size:\n",
        "study/test_crossings.py -k overlap and few",
    ),
    Mutation(
        "acts-that-overtake-each-other",
        "study/acts/write.py",
        "if now.place != step.at.place or not step.same(tx):",
        "if now.batch != step.at.batch or not step.same(tx):",
        "study/acts/test_acts.py -k between",
    ),
    Mutation(
        "acts-that-are-written-twice",
        "study/acts/write.py",
        "if self._tried is not None and self._tried in tx.links(study.id, [self._kind]):",
        "if self._tried is not None and not tx.links(study.id, [self._kind]):",
        "study/acts/test_acts.py -k confirmation",
    ),
    Mutation(
        "links-of-unknown-acts-are-left-out",
        "study/acts/write.py",
        "found = [one for one in links if one.kind not in chain.STEPS]",
        "found = [one for one in links if one.kind in known]",
        "study/acts/test_acts.py -k not_known",
    ),
    Mutation(
        "skipped-batches-keep-their-number",
        "study/acts/rewards.py",
        "n - sum(one < n for one in skipped)",
        "n",
        "study/test_corrections.py",
    ),
    Mutation(
        "rows-of-a-service-without-items",
        "client/replies.py",
        'None if found.get("strata") is None else np.array(found["strata"], dtype=np.str_),',
        "None,",
        "client/test_alike.py",
    ),
    Mutation(
        "pages-show-failures-for-pulls",
        "server/page/js/study/options.js",
        "count(model.status.pulls[i])))",
        "count(model.status.failures[i])))",
        "server/page/test_numbers.py",
    ),
    Mutation(
        "files-tell-who-was-late-as-counted",
        "cli/tell.py",
        "plural(counts['accepted'], 'reward is', 'rewards are')",
        "plural(len(told), 'reward is', 'rewards are')",
        "cli/test_rewards.py cli/test_study_inputs.py",
    ),
    Mutation(
        "half-the-newcomers-noise",
        "problem/grown.py",
        "return np.append(kind.scales, own)",
        "return np.append(kind.scales, 0.5 * own)",
        "study/test_crossings.py -k arm and add",
    ),
    # -- numbers of any kind
    Mutation(
        "ties-count-as-wins",
        "statistics/wins.py",
        'below = np.searchsorted(columns, rows, side="left")',
        'below = np.searchsorted(columns, rows, side="right")',
        "statistics/test_wins.py -k matchings or fair",
    ),
    Mutation(
        "matchings-use-rewards-twice",
        "statistics/wins.py",
        "out[j] += out[j - 1] * (s - j + 1) / (k - j + 1)",
        "out[j] += out[j - 1] * (s - j + 1) / k",
        "statistics/test_wins.py -k matchings or fair",
    ),
    Mutation(
        "stakes-on-wins-without-a-cap",
        "verifier/payoffs/wins.py",
        "each = np.minimum(stakes * _WEIGHT / (1.0 + few / many), _CAP / mean)",
        "each = np.minimum(stakes * _WEIGHT / (1.0 + few / many), 0.999999 / mean)",
        "verifier/test_wins.py -k takes_everything",
    ),
    Mutation(
        "verifier-counts-ties-as-wins",
        "verifier/payoffs/wins.py",
        "wins = [(int((others < y).sum()), int((others == y).sum())) for y in mine]",
        "wins = [(int((others <= y).sum()), 0) for y in mine]",
        "verifier/test_wins.py -k matchings",
    ),
    Mutation(
        "verifier-matches-rewards-twice",
        "verifier/payoffs/wins.py",
        "then = _falling(left, b) / _falling(k - j - a, b)",
        "then = _falling(left, b) / _falling(k - j, b)",
        "verifier/test_wins.py -k matchings",
    ),
    Mutation(
        "verifier-deals-larger-groups",
        "verifier/payoffs/wins.py",
        "while few > _GROUP * groups:",
        "while few > 2 * _GROUP * groups:",
        "verifier/test_wins.py -k groups",
    ),
    Mutation(
        "ties-on-items-are-wins",
        "verifier/payoffs/wins.py",
        "np.where(apart == 0, 0.5, 0.0)",
        "np.where(apart == 0, 1.0, 0.0)",
        "verifier/test_wins.py -k items",
    ),
    # -- quantiles
    Mutation(
        "ties-are-below-a-quantile",
        "statistics/quantiles.py",
        'return np.searchsorted(own, cells, side="left")',
        'return np.searchsorted(own, cells, side="right")',
        "statistics/test_quantiles.py",
    ),
    Mutation(
        "the-most-over-all-numbers",
        "statistics/quantiles.py",
        "return (np.array(own) + others).min(axis=1)",
        "return (np.array(own) + others).max(axis=1)",
        "statistics/test_quantiles.py",
    ),
    Mutation(
        "sums-over-rivals-for-means",
        "statistics/quantiles.py",
        "return np.logaddexp(before, after) - math.log(k - 1)",
        "return np.logaddexp(before, after)",
        "statistics/test_quantiles.py",
    ),
    Mutation(
        "stakes-on-quantiles-of-more-than-there-is",
        "statistics/quantiles.py",
        "(1.0 - _CASH) * np.array(_WEIGHTS)",
        "np.array(_WEIGHTS)",
        "statistics/test_quantiles.py -k average",
    ),
    Mutation(
        "newcomers-quantiles-with-new-capital",
        "algorithms/pooled/questions/quantile.py",
        "self.base = self.capital.copy()\n        self.before",
        "self.base = 0.0 * self.capital - math.log(2.0)\n        self.before",
        "algorithms/pooled/test_quantile.py -k come_and_go",
    ),
    Mutation(
        "quantiles-of-turned-numbers",
        "algorithms/pooled/questions/quantile.py",
        "self.p, self.smallest = asked, ground.problem.minimise",
        "self.p, self.smallest = asked, False",
        "algorithms/pooled/test_quantile.py -k smaller",
    ),
    Mutation(
        "verifier-puts-ties-below",
        "verifier/rules/quantile.py",
        "n, below = int(here.sum()), upto - here",
        "n, below = int(here.sum()), upto",
        "verifier/test_quantile.py -k algorithm",
    ),
    Mutation(
        "verifier-takes-the-most-over-numbers",
        "verifier/rules/quantile.py",
        "found[x] = (own[i] + others).min()",
        "found[x] = (own[i] + others).max()",
        "verifier/test_quantile.py",
    ),
    Mutation(
        "another-quantile-than-was-asked-for",
        "verifier/rules/quantile.py",
        'check.settings.get("quantile") == p,',
        "p == p,",
        "verifier/test_quantile.py -k another",
    ),
    Mutation(
        "quantiles-pass-for-wins",
        "verifier/rules/pooled.py",
        'check.demand(check.settings.get("quantile") is None, "a quantile was asked for")',
        "pass",
        "verifier/test_quantile.py -k usually",
    ),
)


def outcome(mutation: Mutation) -> str:
    """What became of one bug."""
    content = mutation.changed()
    if content is None:
        return "DOES NOT APPLY"
    # Compiled code contains what it calls in other files, and Numba does not see those change.
    stale = shutil.ignore_patterns(*(["*.nbi", "*.nbc"] if "kernels" in mutation.file else []))
    with tempfile.TemporaryDirectory(prefix="surepick-mutation-") as folder:
        package = shutil.copytree(PACKAGE, Path(folder) / "surepick", ignore=stale)
        (package / mutation.file).write_text(content)
        code = run_tests(mutation.tests, Path(folder), _PATIENCE)
    kinds = {_PASSED: "SURVIVED", _FAILED: "caught", None: "caught (the tests never ended)"}
    return kinds.get(code, f"BROKEN (pytest ended with {code})")


def run_tests(tests: str, source: Path, patience: float | None = None) -> int | None:
    """The exit code of pytest for the package in ``source``; None where it did not end in time."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    files, chosen, name = tests.partition(" -k ")
    command += [f"tests/{one}" for one in files.split()] + ["-k", name] * bool(chosen)
    environment = os.environ | {"PYTHONPATH": str(source)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def main() -> int:
    """Put in some bugs, or all; 0 if every one of them was noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="bugs to put in; all without")
    parser.add_argument("--list", action="store_true", help="list the bugs and their tests")
    parser.add_argument("--apply-only", action="store_true", help="only see whether they apply")
    given = parser.parse_args()
    known = {mutation.name: mutation for mutation in MUTATIONS}
    assert len(known) == len(MUTATIONS), "two bugs have the same name"
    if unknown := set(given.names) - known.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [known[name] for name in given.names] or list(MUTATIONS)
    if given.list:
        print(*(f"{one.name:32} {one.file}: {one.tests}" for one in chosen), sep="\n")
        return 0
    found = {one.name: "DOES NOT APPLY" for one in chosen if one.changed() is None}
    if not given.apply_only:
        found |= tried([one for one in chosen if one.name not in found])
    bad = {name: what for name, what in found.items() if not what.startswith("caught")}
    said = [f"{what}: {name}" for name, what in bad.items()]
    print(f"{len(chosen) - len(bad)} of {len(chosen)} are well", *said, sep="\n  ")
    return bool(bad)


def tried(chosen: list[Mutation]) -> dict[str, str]:
    """What became of each bug; first the tests must pass without any."""
    files = (file for one in chosen for file in one.tests.partition(" -k ")[0].split())
    if run_tests(" ".join(dict.fromkeys(files)), PACKAGE.parent) != _PASSED:
        return dict.fromkeys((one.name for one in chosen), "TESTS FAIL ANYWAY")
    found = {}
    for mutation in chosen:
        found[mutation.name] = outcome(mutation)
        print(f"{mutation.name:32} {found[mutation.name]}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
