// A study, watched: a stream says that something has changed, and then the status is asked for.
//
// However fast rewards come in, the status is asked for at most once a second, and never more than
// a fifth of the time: a study with many tells is not slowed down by those who watch it.

import { get, studyPath } from "./api.js";

const LEAST = 1000; // milliseconds between two looks
const SHARE = 5; // a look that took t is followed by a pause of at least (SHARE - 1)·t
const SLOWEST = 30_000; // between two attempts to reconnect
const FOR_GOOD = [403, 404, 422]; // not for this token, not there, cannot be read

/**
 * Watch a study until the scope ends.
 *
 * onStatus(status) gets each status; onNews({samples, batch, finished}) each event of the stream;
 * onState("live" | "retrying" | "finished", seconds until the next try); onRefused(error) says
 * that there is no such study, that it is not for this token, or that it cannot be read.
 *
 * @param {string} name
 * @param {import("./router.js").Scope} scope
 * @param {{
 *   onStatus(status: Api.Status): void,
 *   onNews(news: {samples: number, batch: number, finished: boolean}): void,
 *   onState(state: "live" | "retrying" | "finished", seconds?: number): void,
 *   onRefused(error: import("./api.js").ApiError): void,
 * }} callbacks
 * @returns {() => void} looks again, also at a study that was finished: a correction may change that
 */
export function watch(name, scope, { onStatus, onNews, onState, onRefused }) {
  /** @type {EventSource | null} */
  let source = null;
  let timer = 0;
  let looking = false;
  let wanted = false;
  let nextLook = 0;
  let failures = 0;
  let done = false;
  let seen = false; // whether there ever was a status

  async function look() {
    timer = 0;
    if (looking || scope.left || document.hidden) return;
    looking = true;
    wanted = false;
    const began = performance.now();
    try {
      /** @type {Api.Status} */
      const status = await get(studyPath(name), { signal: scope.signal });
      const took = performance.now() - began;
      nextLook = performance.now() + Math.max(LEAST - took, (SHARE - 1) * took);
      if (status.finished) {
        stop();
        onState("finished");
      }
      seen = true;
      onStatus(status);
    } catch (problem) {
      if (scope.left || problem.name === "AbortError") return;
      if (FOR_GOOD.includes(problem.status) || (problem.status === 500 && !seen)) {
        stop();
        onRefused(problem);
        return;
      }
      wanted = true;
      const pause = Math.min(SLOWEST, 1000 * Math.max(problem.retryAfter, 2 ** failures));
      nextLook = performance.now() + pause;
      if (problem.status === 0) lost();
    } finally {
      looking = false;
    }
    if (wanted) soon();
  }

  function soon() {
    wanted = true;
    if (timer || looking || scope.left || done) return;
    timer = setTimeout(look, Math.max(0, nextLook - performance.now()));
  }

  function connect() {
    if (scope.left || done) return;
    source = new EventSource(`/api/v1${studyPath(name, "/stream")}`);
    source.addEventListener("status", (event) => {
      failures = 0;
      onState("live");
      onNews(JSON.parse(event.data));
      soon();
    });
    source.onerror = lost;
  }

  // The browser would try again by itself, but not after every error, and without saying so.
  function lost() {
    if (scope.left || done || !source) return;
    source.close();
    source = null;
    const pause = Math.min(SLOWEST, 1000 * 2 ** failures);
    failures += 1;
    onState("retrying", Math.round(pause / 1000));
    setTimeout(() => {
      if (scope.left || done) return;
      connect();
      soon();
    }, pause);
  }

  function stop() {
    done = true;
    source?.close();
    source = null;
  }

  function shown() {
    if (!document.hidden) soon();
  }

  document.addEventListener("visibilitychange", shown);
  scope.atEnd(() => {
    document.removeEventListener("visibilitychange", shown);
    clearTimeout(timer);
    source?.close();
  });
  function again() {
    done = false;
    if (!source) connect();
    soon();
  }

  again();
  return again;
}
