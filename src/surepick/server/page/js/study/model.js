// What the status of a study says about each option, in a form that tables and charts can use.

/** Kinds of guarantees that have a theorem behind them. */
export const PROVEN = ["pac", "eps-pac", "claims", "fdr"];

/** @type {Record<string, string>} */
const WORDS = { in: "still in", out: "ruled out", close: "as good", ruled_out: "ruled out" };

/**
 * Between what the distance to a baseline lies; where it was claimed to be better or worse, and an
 * interval says less than that, the claim.
 *
 * @param {string} state
 * @param {number | null} low
 * @param {number | null} high
 * @param {(x: number | null) => string} format
 * @param {boolean} minimise Whether smaller is better.
 */
export function liftEnds(state, low, high, format, minimise) {
  const [above, below] = minimise ? ["worse", "better"] : ["better", "worse"];
  if (state === above && (low ?? -1) < 0) return "more than 0";
  if (state === below && (high ?? 1) > 0) return "less than 0";
  if (low === null && high === null) return "";
  return `${low === null ? "…" : format(low)} to ${high === null ? "…" : format(high)}`;
}

/** One look at a study. Candidates are what can be the answer; usually these are the arms. */
export class Model {
  /**
   * @param {Api.Status} status
   * @param {Api.ForecastOf | null} forecast
   */
  constructor(status, forecast) {
    this.status = status;
    this.forecast = forecast;
    this.transductive = status.candidate_labels !== null;
    this.labels = status.candidate_labels ?? status.labels;
    const survivors = new Set(status.survivors);
    const sameAs = status.same_as;
    this.size = this.labels.length;
    this.stillIn = Array.from({ length: this.size }, (_, i) =>
      survivors.has(sameAs ? sameAs[i] : i),
    );
    /** Compared with a baseline, options are not in or out: they are better, worse, undecided. */
    this.compared = status.standing.question === "baseline";
    /** Whether who is ruled out is behind; it may also break a limit, or be too dear. */
    this.ranks = !(status.standing.limits ?? []).length && status.standing.question !== "cheapest";
    this.leader = status.leader_index;
    /** Whether smaller is better; what is multiplied by the sign is better the larger it is. */
    this.minimise = Boolean(status.standing.minimise);
    this.sign = this.minimise ? -1 : 1;
    /** Those that would be named now: the leader, or several where several are asked for. */
    this.named = new Set(this.leader === null ? [] : [this.leader]);
    if (status.standing.question === "top")
      status.standing.columns.state.forEach((/** @type {string} */ said, /** @type {number} */ i) => {
        if (said === "leads") this.named.add(i);
      });
    this.span = this.#span();
    this.mostPulls = status.pulls.reduce((most, n) => Math.max(most, n), 1);
    this.anyFailures = status.failures.some((n) => n > 0);
  }

  /** @param {number} i */
  isLeader(i) {
    return i === this.leader;
  }

  /** @param {number} i */
  isNamed(i) {
    return this.named.has(i);
  }

  /**
   * Whether it was ruled out; against a baseline nothing is.
   *
   * @param {number} i
   */
  isOut(i) {
    return this.status.standing.columns.state[i] === "out";
  }

  /**
   * The p-value of "it is the best"; null where there is none.
   *
   * @param {number} i
   * @returns {number | null}
   */
  pValue(i) {
    return this.status.standing.columns.p_value?.[i] ?? null;
  }

  /**
   * What is known of an option, in words.
   *
   * @param {number} i
   * @returns {string}
   */
  said(i) {
    const state = this.status.standing.columns.state[i];
    const { finished, promise } = this.status;
    if (finished && state === "leads")
      return PROVEN.includes(promise.kind) ? "the answer" : "looks best";
    if (finished && state === "in")
      return promise.kind === "eps-pac" ? promise.others : "not ruled out";
    return WORDS[state] ?? state;
  }

  /**
   * How far it is above the baseline, and between which ends.
   *
   * @param {number} i
   * @returns {(number | null)[]}
   */
  lift(i) {
    const { lift, lift_low: low, lift_high: high } = this.status.standing.columns;
    return [lift?.[i] ?? null, low?.[i] ?? null, high?.[i] ?? null];
  }

  /** @param {number} i */
  estimate(i) {
    return this.status.estimates?.[i] ?? null;
  }

  /** @param {number} i */
  behind(i) {
    return this.status.behind?.[i] ?? null;
  }

  /**
   * The share of direct comparisons that it lost to the leader; null where that is not what decides.
   *
   * @param {number} i
   */
  lost(i) {
    return this.status.wins?.[i] ?? null;
  }

  /** @param {number} i */
  error(i) {
    return this.status.standard_error?.[i] ?? null;
  }

  /**
   * The share of the evidence that rules it out; null where the algorithm has no such number.
   *
   * @param {number} i
   */
  evidence(i) {
    return this.status.evidence?.[i] ?? null;
  }

  /** Those still in but the leaders, hardest to rule out first. */
  rivals() {
    const rest = this.status.survivors.filter((i) => this.compared || !this.isNamed(i));
    const key = this.status.evidence ?? this.status.behind ?? this.status.wins;
    return key ? rest.sort((a, b) => (key[a] ?? 1) - (key[b] ?? 1)) : rest;
  }

  /** How far behind the scale of the whiskers reaches: as far as those still in. */
  #span() {
    const { behind, standard_error: error, survivors } = this.status;
    if (!behind || !error) return 1;
    const all = survivors.length > 1 ? survivors : behind.map((_, i) => i);
    return all.reduce((most, i) => Math.max(most, behind[i] + 2 * error[i]), 0) || 1;
  }
}
