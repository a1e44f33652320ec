// What the page of a study shows where options are compared two at a time.

import { get, studyPath } from "../../api.js";
import { judgesCard } from "./judges.js";
import { winsCard } from "./wins.js";

const LEAST = 2000; // milliseconds between two looks

/**
 * Cards that show the same comparisons, which are asked for once.
 *
 * @param {string} name of the study
 * @param {import("../../router.js").Scope} scope
 */
export function pairCards(name, scope) {
  const [wins, judges] = [winsCard(), judgesCard()];
  let known = "";
  let asking = false;
  let timer = 0;
  /** @type {import("../model.js").Model | null} */
  let latest = null;
  scope.atEnd(() => clearTimeout(timer));

  async function load() {
    timer = 0;
    if (asking || scope.left || !latest) return;
    asking = true;
    const { status } = latest;
    known = of(status);
    try {
      /** @type {Api.JudgementsOf} */
      const found = await get(studyPath(name, "/judgements"), { signal: scope.signal });
      wins.show(found, latest);
      judges.show(found);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = ""; // the page says elsewhere that the service is gone; the next status asks again
    } finally {
      asking = false;
    }
    if (of(latest.status) !== known) soon();
  }

  function soon() {
    timer ||= setTimeout(load, LEAST);
  }

  /** @type {Card} */
  const card = {
    element: wins.element,
    update(model) {
      const first = latest === null;
      latest = model;
      if (of(model.status) === known) return;
      if (first || model.status.finished) load();
      else soon();
    },
  };
  return { wins: card, judges: judges.element };
}

/** @type {(status: Api.Status) => string} */
const of = (status) => `${status.samples} ${status.revision} ${status.finished}`;
