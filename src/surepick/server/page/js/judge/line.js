// The pairs that wait for a judge, and the verdicts that wait for the service.
//
// One thing is sent at a time, in its order, and again until it is answered: a verdict that was
// kept, although its answer was lost, counts once. The next pair is there before it is needed.

import { get, newId, post, studyPath } from "../api.js";

const AHEAD = 2; // the pair that is shown, and the one after it
const LEASE = 180; // seconds until pairs of a judge who has left go to others
const RENEW = 60_000; // milliseconds after which a judge who is still there keeps them
const WAIT = 20; // seconds that the service may wait for a pair
const SLOWEST = 10_000; // milliseconds between two tries

/** @typedef {{pull: Api.PullOut, value: number, correct: boolean}} Verdict */

/** What a service that is not there, or busy, may answer: try again. */
const passing = (/** @type {number} */ status) => status === 0 || status === 429 || status >= 500;

export class Line {
  /** @type {Api.PullOut[]} */
  #waiting = [];
  /** @type {Verdict[]} */
  #unsent = [];
  /** @type {Set<number>} pulls that were judged here */
  #judged = new Set();
  /** @type {Verdict | null} what can be taken back */
  #last = null;
  /** Pairs and verdicts are remembered for as long as this line is there: it asks one ask. */
  #request = newId();
  #busy = false;
  #failures = 0;
  #timer = 0;

  /**
   * @param {string} study
   * @param {string} judge
   * @param {import("../router.js").Scope} scope
   * @param {{
   *   onChange(): void,
   *   onTrouble(text: string): void,
   *   onRefused(error: import("../api.js").ApiError): void,
   * }} callbacks
   */
  constructor(study, judge, scope, callbacks) {
    this.study = study;
    this.judge = judge;
    this.scope = scope;
    this.callbacks = callbacks;
    this.count = 0;
    this.finished = false;
    this.paused = false;
    this.offline = false;
    const renewal = setInterval(() => !document.hidden && this.#renew(), RENEW);
    scope.atEnd(() => {
      clearInterval(renewal);
      clearTimeout(this.#timer);
    });
    this.#go();
  }

  /** The pair to judge now. */
  get current() {
    return this.#waiting[0] ?? null;
  }

  /** The one after it, so that its pictures can be loaded. */
  get next() {
    return this.#waiting[1] ?? null;
  }

  get canUndo() {
    return this.#last !== null;
  }

  /** Verdicts that are not kept yet. */
  get unsent() {
    return this.#unsent.length;
  }

  /**
   * Judge the pair that is shown: 1 for the first, 0 for the second, ½ for neither.
   *
   * @param {number} value
   */
  say(value) {
    const pull = this.#waiting.shift();
    if (!pull) return;
    const again = this.#judged.has(pull.id);
    const untold = this.#unsent.find((one) => one.pull.id === pull.id);
    if (untold) untold.value = value;
    else if (!again || value !== this.#taken?.value)
      this.#unsent.push({ pull, value, correct: again });
    if (!again) this.count += 1;
    this.#judged.add(pull.id);
    this.#last = { pull, value, correct: again };
    this.#taken = null;
    this.callbacks.onChange();
    this.#go();
  }

  /** @type {Verdict | null} the verdict that was taken back and is not given anew yet */
  #taken = null;

  /** Show the last pair again; what is said then counts instead. */
  undo() {
    if (!this.#last) return;
    this.#taken = this.#last;
    this.#last = null;
    this.#waiting.unshift(this.#taken.pull);
    this.finished = false;
    this.callbacks.onChange();
  }

  /** Do what there is to do, one thing after the other. */
  async #go() {
    if (this.#busy || this.scope.left) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    try {
      while (!this.scope.left) {
        if (this.#unsent.length) await this.#send();
        else if (!this.finished && this.#open < AHEAD) {
          if (!(await this.#ask())) break;
        } else break;
        this.#works();
      }
    } catch (problem) {
      if (this.scope.left || problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      if (passing(problem.status)) this.#later(problem);
      else this.callbacks.onRefused(problem);
    } finally {
      this.#busy = false;
    }
  }

  /** Pairs that nobody has judged here. */
  get #open() {
    return this.#waiting.filter((one) => !this.#judged.has(one.id)).length;
  }

  #works() {
    this.#failures = 0;
    if (!this.offline) return;
    this.offline = false;
    this.callbacks.onChange();
  }

  /** @param {import("../api.js").ApiError} problem */
  #later(problem) {
    const pause = Math.max(1000 * problem.retryAfter, 500 * 2 ** this.#failures);
    this.#failures += 1;
    this.offline = true;
    this.callbacks.onChange();
    this.#timer = setTimeout(() => this.#go(), Math.min(SLOWEST, pause));
  }

  async #send() {
    const one = this.#unsent[0];
    const said = { pull: one.pull.id, reward: one.value };
    try {
      if (one.correct) {
        const why = "the judge took it back at once and judged anew";
        await this.#post("/acts/correct", { ...said, reason: why, by: this.judge });
      } else await this.#post("/tell", { rewards: [said], worker: this.judge });
    } catch (problem) {
      // Somebody else has judged it meanwhile, or it cannot be changed any more.
      const known = [404, 409, 422].includes(problem.status);
      if (!known) throw problem;
      this.callbacks.onTrouble(
        one.correct
          ? `The last comparison could not be changed: ${problem.message}`
          : "The last pair had been judged by somebody else meanwhile; your answer is noted, but does not count.",
      );
    }
    this.#unsent.shift();
    this.callbacks.onChange();
  }

  /** Whether something came of it. */
  async #ask() {
    const hurry = this.#waiting.length > 0;
    const found = await this.#hand(hurry ? 0 : WAIT);
    for (const pull of found.pulls) {
      const known = this.#judged.has(pull.id) || this.#waiting.some((one) => one.id === pull.id);
      if (!known) this.#waiting.push(pull);
    }
    this.finished = found.finished && this.#waiting.length === 0;
    if (this.#waiting.length === 0 && !this.finished) await this.#why();
    else this.paused = false;
    this.callbacks.onChange();
    if (this.#waiting.length) return this.#open >= AHEAD || found.pulls.length >= AHEAD;
    if (!this.finished) this.#timer = setTimeout(() => this.#go(), this.paused ? 5000 : 0);
    return false;
  }

  /** @type {(wait: number) => Promise<Api.AskReply>} */
  #hand(wait) {
    const who = { worker: this.judge, request: this.#request };
    return this.#post("/ask", { n: AHEAD, ...who, lease: LEASE, wait });
  }

  async #why() {
    const signal = this.scope.signal;
    /** @type {Api.ProgressOf} */
    const at = await get(studyPath(this.study, "/progress"), { signal });
    this.paused = at.paused;
    this.finished = at.finished;
  }

  async #renew() {
    if (this.#busy || !this.#open) return;
    try {
      await this.#hand(0);
    } catch {
      // The pair may go to somebody else; what is said of it then does not count.
    }
  }

  /** @type {(rest: string, body: unknown) => Promise<any>} */
  #post(rest, body) {
    return post(studyPath(this.study, rest), body, { signal: this.scope.signal });
  }
}
