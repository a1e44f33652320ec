// The first thing one reads: how many are still in, what it took so far, what it will take.

import { h, put } from "../dom.js";
import { count, plural, rough, short } from "../format.js";

/**
 * The pieces of the headline.
 *
 * @param {Api.Status} status
 */
export function pieces(status) {
  const left = status.survivors.length;
  const said = [];
  const spent = status.cost === null ? [] : [`${short(status.cost)} spent`];
  if (status.finished) {
    said.push(left === 1 ? "One option left" : `${plural(left, "option")} left`);
    said.push(plural(status.samples, "measurement"), ...spent);
    said.push(plural(status.batch.number, "batch", "batches"));
    return said;
  }
  said.push(`${count(left)} of ${count(status.options)} options still in`);
  said.push(plural(status.samples, "measurement"), ...spent);
  if (status.pulls_left !== null) said.push(`about ${rough(status.pulls_left)} more`);
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
    update({ status }) {
      const said = pieces(status);
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
