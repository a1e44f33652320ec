// The first thing one reads: how many are still in, what it took so far, what it will take.

import { h, put } from "../dom.js";
import { count, countedBy, plural, rough, short } from "../format.js";

/**
 * How many options are not decided.
 *
 * @param {Api.Status} status
 */
export function leftIn(status) {
  const left = status.survivors.length;
  if (status.standing.question === "baseline")
    return `${count(left)} of ${count(status.started_with)} options undecided`;
  if (status.pairs && !left) {
    if (status.standing.question === "cheapest") return "No option is good enough";
    const around = [...status.circle, ...status.circle.slice(0, 1)].join(" beats ");
    const looking = status.finished ? "" : "; looking for a circle";
    return `No option beats every other${around ? `: ${around}` : looking}`;
  }
  if (!status.finished) return `${count(left)} of ${count(status.options)} options still in`;
  return left === 1 ? "One option left" : `${plural(left, "option")} not ruled out`;
}

/**
 * The pieces of the headline.
 *
 * @param {Api.Status} status
 * @param {Api.ForecastOf | null} forecast
 */
export function pieces(status, forecast) {
  const said = [];
  const spent = status.cost === null ? [] : [`${short(status.cost)} spent`];
  if (status.finished) {
    said.push(leftIn(status));
    said.push(plural(status.samples, countedBy(status).unit), ...spent);
    if (status.uncounted) said.push(`${count(status.uncounted)} more not counted`);
    said.push(plural(status.batch.number, "batch", "batches"));
    return said;
  }
  said.push(leftIn(status));
  said.push(plural(status.samples, countedBy(status).unit), ...spent);
  const { low, high } = forecast ?? { low: null, high: null };
  if (low !== null)
    said.push(
      high === null
        ? `at least ${rough(low)} more`
        : low === high
          ? `about ${rough(low)} more`
          : `${rough(low)} to ${rough(high)} more`,
    );
  return said;
}

/**
 * The headline's element; also says it to screen readers when it matters.
 *
 * @returns {Card}
 */
export function headline() {
  const element = h("p", { class: "headline number" });
  let shown = "";
  return {
    element,
    update({ status, forecast }) {
      const said = pieces(status, forecast);
      if (said.join() === shown) return;
      shown = said.join();
      put(
        element,
        said.map((piece, i) => [
          i > 0 && h("span", { class: "dot-between" }, " · "),
          h("span", { class: "piece" }, piece),
        ]),
      );
    },
  };
}
