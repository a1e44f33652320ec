// What the status of a study says about each option, in a form that tables and charts can use.

/** One look at a study. Candidates are what can be the answer; usually these are the arms. */
export class Model {
  /** @param {Api.Status} status */
  constructor(status) {
    this.status = status;
    this.transductive = status.candidate_labels !== null;
    this.labels = status.candidate_labels ?? status.labels;
    const survivors = new Set(status.survivors);
    const sameAs = status.same_as;
    this.size = this.labels.length;
    this.stillIn = Array.from({ length: this.size }, (_, i) =>
      survivors.has(sameAs ? sameAs[i] : i),
    );
    this.leader = status.leader_index;
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

  /** @param {number} i */
  estimate(i) {
    return this.status.estimates?.[i] ?? null;
  }

  /** @param {number} i */
  behind(i) {
    return this.status.behind?.[i] ?? null;
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
    const rest = this.status.survivors.filter((i) => !this.isNamed(i));
    const key = this.status.evidence ?? this.status.behind;
    return key ? rest.sort((a, b) => key[a] - key[b]) : rest;
  }

  /** How far behind the scale of the whiskers reaches: as far as those still in. */
  #span() {
    const { behind, standard_error: error, survivors } = this.status;
    if (!behind || !error) return 1;
    const all = survivors.length > 1 ? survivors : behind.map((_, i) => i);
    return all.reduce((most, i) => Math.max(most, behind[i] + 2 * error[i]), 0) || 1;
  }
}
