"""Compiled payoffs: :mod:`surepick.proof.payoffs.normal` for all candidates and rivals at once."""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.compiled import compiled
from surepick.proof.payoffs.bounded import CAP
from surepick.proof.payoffs.symmetric import KEPT


@compiled
def log_psi(z):
    """log(e^{z²/2} Φ(z)), as in :mod:`surepick.proof.payoffs.normal`."""
    if z > -30.0:
        return 0.5 * z * z + math.log(0.5 * math.erfc(-z * math.sqrt(0.5)))
    t = 1.0 / (z * z)  # the tail's asymptotic series, exact to float64 out there
    series = 1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)))
    return math.log(series / (-z * math.sqrt(2.0 * math.pi)))


@compiled(work=lambda bets, news, precisions: 4 * bets[0].size * len(precisions))
def gaussian_payoffs(bets, news, precisions):
    """Log payoffs (n, R, J) of stakes around a past estimate, cut at 0.

    ``bets``: lead, information and unit of each pair; ``news``: lead and information.
    """
    lead, information, unit = bets
    new_lead, told = news
    n, R = lead.shape
    J = precisions.shape[0]
    paid = np.zeros((n, R, J))
    for i in range(n):
        for a in range(R):
            if told[i, a] == 0.0:
                continue
            score = information[i, a] * lead[i, a]
            after_score = score + told[i, a] * new_lead[i, a]
            for j in range(J):
                precision = information[i, a] + precisions[j] * unit[i, a]
                after = precision + told[i, a]
                payoff = log_psi(after_score / math.sqrt(after)) - 0.5 * math.log(after / precision)
                paid[i, a, j] = payoff - log_psi(score / math.sqrt(precision))
    return paid


@compiled(work=lambda *given: 8 * given[0][0].size * len(given[2]) * len(given[5]))
def student_payoffs(bets, news, precisions, squares, freedom, nodes, weights, constant):
    """As :func:`gaussian_payoffs` for noise of one unknown scale.

    The same quadrature as :mod:`surepick.proof.payoffs.student`; ``squares`` in the unit of the
    past's estimate of the noise; ``constant`` is that of the density of w.
    """
    lead, information, unit = bets
    new_lead, told = news
    n, R = lead.shape
    J = precisions.shape[0]
    paid = np.zeros((n, R, J))
    for i in range(n):
        for a in range(R):
            if told[i, a] == 0.0:
                continue
            z = math.sqrt(told[i, a] / squares) * new_lead[i, a]
            score = information[i, a] * lead[i, a]
            for j in range(J):
                precision = information[i, a] + precisions[j] * unit[i, a]
                paid[i, a, j] = _student(score, precision, z, told[i, a], freedom, nodes, weights)
                paid[i, a, j] -= constant
    return paid


@compiled
def _student(score, precision, z, told, freedom, nodes, weights):
    """Log payoff, but for the constant of the density of w; as in the module on Student's bets."""
    after = precision + told
    known, news = precision / after, told / after
    slope, start = z / math.sqrt(1.0 + z * z) * math.sqrt(news), score / math.sqrt(after)
    before, width = score / math.sqrt(precision), 0.5 * math.log(after / precision)
    a, k, centre = 1.0, 0.0, 0.0
    ahead = slope > 0.0 and start > 0.0
    if slope > 0.0:
        a, k = known + news / (1.0 + z * z), slope * start
    if ahead:
        centre, k = k / a, 0.0
        stakes = math.log(0.5 * math.erfc(-before * math.sqrt(0.5)))
        stakes += 0.5 * start * start * news / ((1.0 + z * z) * a * known)
    else:
        stakes = log_psi(before)
    inner = (a, k, centre, ahead)
    return _average_over_scales(slope, start, inner, freedom, nodes, weights) - stakes - width


@compiled
def _average_over_scales(slope, start, inner, freedom, nodes, weights):
    """log ∫ w^ν exp(−w²/2) psi(start + w·slope) dw; panels as in the module on Student's bets."""
    a, k, centre, _ = inner
    whole = k + a * centre
    peak = 2.0 * freedom / (math.sqrt(whole * whole + 4.0 * freedom * a) + abs(whole))
    width = 1.0 / math.sqrt(freedom / ((centre + peak) * (centre + peak)) + a)
    low, high = max(peak - 9.0 * width, -centre), peak + 9.0 * width
    if start < 0 or slope <= 0:
        flat, reach = math.sqrt(freedom), 9.0 / math.sqrt(2.0)
        low, high = min(low, max(flat - reach, 0.0)), max(high, flat + reach)
    end = high
    for _ in range(4):
        fallen = freedom * math.log((centre + peak) / (centre + end)) - k * (end - peak)
        fallen += 0.5 * a * (end * end - peak * peak)
        end = max(high, end + (40.5 - fallen) / (a * end - k - freedom / (centre + end)))
    total = _panel(low, high, slope, start, inner, freedom, nodes, weights)
    if end > high + 1e-3 * (high - low):
        rest = _panel(high, end, slope, start, inner, freedom, nodes, weights)
        top = max(total, rest)
        total = top + math.log(math.exp(total - top) + math.exp(rest - top))
    return total


@compiled
def _panel(low, high, slope, start, inner, freedom, nodes, weights):
    a, _, centre, ahead = inner
    half = 0.5 * (high - low)
    logs = np.empty(nodes.shape[0])
    top = -np.inf
    for i in range(nodes.shape[0]):
        v = low + half * (1.0 + nodes[i])
        w = centre + v
        if ahead:
            shape = math.log(0.5 * math.erfc(-(start + w * slope) * math.sqrt(0.5)))
            logs[i] = freedom * math.log(w) - 0.5 * a * v * v + shape
        else:
            logs[i] = freedom * math.log(w) - 0.5 * v * v + log_psi(start + w * slope)
        top = max(top, logs[i])
    total = 0.0
    for i in range(nodes.shape[0]):
        total += weights[i] * math.exp(logs[i] - top)
    return top + math.log(half * total)


@compiled
def _log_mean(logs):
    if len(logs) == 1:
        return logs[0]
    top, total = logs[0], 0.0
    for log in logs:
        top = max(top, log)
    for log in logs:
        total += math.exp(log - top)
    return top + math.log(total / len(logs))


@compiled(work=lambda told, contrasts, parts, stakes: stakes.size * contrasts.shape[2])
def symmetric_payoffs(told, contrasts, parts, stakes):
    """Log payoffs (n, R, J), averaged over stakes (n, R, J, S), of contrasts (n, R, m).

    ``told`` is the information of all contrasts together, 0 where they say nothing; ``parts`` is
    how many of them a pair has.
    """
    n, R, J, S = stakes.shape
    paid = np.zeros((n, R, J))
    logs = np.empty(S)
    for i in range(n):
        for a in range(R):
            if told[i, a] == 0.0:
                continue
            m = parts[i, a]
            each = 2.0 * told[i, a] / m  # twice the information of one contrast
            for j in range(J):
                for s in range(S):
                    unit = each * stakes[i, a, j, s]
                    total, product = 0.0, 1.0
                    for g in range(m):
                        bet = unit * contrasts[i, a, g]
                        if bet < 0.0:
                            total += bet
                            bet = -bet
                        product *= 2.0 / (1.0 + math.exp(-bet))  # 1 to 2, of some thirty at most
                    logs[s] = total + math.log(product)
                staked, kept = _log_mean(logs) + math.log1p(-KEPT), math.log(KEPT)
                top = max(staked, kept)
                paid[i, a, j] = top + math.log(math.exp(staked - top) + math.exp(kept - top))
    return paid


@compiled(work=lambda places, rivals, parts, *_: len(places) * len(rivals) * int(parts.max()))
def direct_contrasts(places, rivals, parts, means, shift):
    """Contrasts (n, R, 32) of pairs of arms, and how many of them each pair has.

    ``means`` has a column for all pulls of an arm, two for two parts of them, and so on; a pair has
    as many contrasts as both arms have parts.
    """
    n, R = places.shape[0], rivals.shape[0]
    contrasts = np.zeros((n, R, (means.shape[1] + 1) // 2))
    found = np.ones((n, R), dtype=np.int64)
    for i in range(n):
        for a in range(R):
            m = min(parts[places[i]], parts[rivals[a]])
            if m == 0:
                continue
            found[i, a] = m
            for g in range(m):
                lead = means[rivals[a], m - 1 + g] - means[places[i], m - 1 + g]
                contrasts[i, a, g] = lead + shift[i, a]
    return contrasts, found


@compiled(work=lambda told, shift, own, stakes, *_: 4 * stakes.size * own.shape[2])
def bounded_payoffs(told, shift, coefficients, stakes, block, low, high, yes_no):
    """Log payoffs (n, R, J), averaged over stakes (n, R, J, S), of rewards between bounds.

    Bets of :mod:`surepick.proof.payoffs.bounded`: ``coefficients`` (n, R, s) of a pull of each arm
    of the block; of these arms, ``block`` has pulls, sums, Σ (reward − predicted)² and predictions.
    """
    n, R, J, _ = stakes.shape
    paid = np.zeros((n, R, J))
    rule = (low, high, yes_no)
    for i in range(n):
        for a in range(R):
            if told[i, a] > 0.0:
                own = coefficients[i, a]
                _pay_bounded(told[i, a], shift[i, a], own, stakes[i, a], block, rule, paid[i, a])
    return paid


@compiled(work=lambda told, shift, pairs, stakes, *_: 8 * stakes.size)
def direct_bounded_payoffs(told, shift, pairs, stakes, results, low, high, yes_no):
    """Log payoffs of bounded rewards of pairs of arms; ``results`` are those of all arms."""
    places, rivals = pairs
    counts, sums, squares, means = results
    n, R, J, _ = stakes.shape
    paid = np.zeros((n, R, J))
    rule = (low, high, yes_no)
    own, two = np.empty(2), np.empty((4, 2))
    for i in range(n):
        for a in range(R):
            if told[i, a] == 0.0:
                continue
            for side in range(2):
                k = rivals[a] if side == 0 else places[i]
                # What was not pulled, and is told about all the same, is a number.
                own[side] = (1.0 - 2.0 * side) / counts[k] if counts[k] > 0.0 else 0.0
                two[0, side], two[1, side] = counts[k], sums[k]
                two[2, side], two[3, side] = squares[k], means[k]
            block = (two[0], two[1], two[2], two[3])
            _pay_bounded(told[i, a], shift[i, a], own, stakes[i, a], block, rule, paid[i, a])
    return paid


@compiled
def _pay_bounded(told, shift, c, stakes, block, rule, paid):
    """Bets on one mean, for each account; ``paid`` (J,) gets the log of what they pay."""
    counts, sums, squares, means = block
    low, high, yes_no = rule
    J, S = stakes.shape
    logs = np.empty(S)
    width = high - low
    worst, drift = 0.0, shift
    for k in range(counts.shape[0]):
        loss = c[k] * (means[k] - low) if c[k] > 0.0 else -c[k] * (high - means[k])
        worst = max(worst, loss)
        drift += c[k] * (counts[k] * means[k] if yes_no else sums[k])
    largest = CAP / worst if worst > 0.0 else np.inf
    for j in range(J):
        for s in range(S):
            stake = min(stakes[j, s] * told, largest)
            total = stake * drift
            for k in range(counts.shape[0]):
                bet = stake * c[k]
                if yes_no:
                    yes = (sums[k] - low * counts[k]) / width
                    if yes > 0.5:
                        total += yes * math.log1p(bet * (high - means[k]))
                    if counts[k] - yes > 0.5:
                        total += (counts[k] - yes) * math.log1p(bet * (low - means[k]))
                elif squares[k] > 0.0:
                    loss = means[k] - low if bet > 0.0 else high - means[k]
                    total -= _curvature(abs(bet), loss) * squares[k]
            logs[s] = total
        paid[j] = _log_mean(logs)


@compiled
def _curvature(bet, loss):
    """(−log(1 − u) − u) / loss² with u = bet · loss; bet²/2 in the limit."""
    u = bet * loss
    if u < 1e-3:
        return bet * bet * (0.5 + u * (1 / 3 + u * (1 / 4 + u * (1 / 5 + u / 6))))
    return (-math.log1p(-u) - u) / (loss * loss)
