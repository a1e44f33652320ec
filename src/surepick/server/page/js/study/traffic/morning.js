// The morning look: who is ahead, how sure that is, what it is worth, how long it takes, what to do.

import { h, put, write } from "../../dom.js";
import { count, percent, plural, short } from "../../format.js";
import { leftIn } from "../headline.js";

const MOST = 8; // options in the table; all of them stand further below

/** @returns {Card} */
export function morningCard() {
  const said = h("p", { class: "headline" });
  const part = h("p", { class: "explain" });
  const facts = h("dl", { class: "facts" });
  const head = h("tr", {});
  const body = h("tbody", {});
  const more = h("p", { class: "explain" });
  const table = h(
    "div",
    { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Best options, scrolls" },
    h(
      "table",
      { class: "plain-table stack-table tight" },
      h("caption", { class: "unseen" }, "Best options so far"),
      h("thead", {}, head),
      body,
    ),
  );
  return {
    element: h(
      "section",
      { class: "card morning", "aria-label": "Morning look" },
      said,
      part,
      facts,
      table,
      more,
    ),
    update(model) {
      const at = /** @type {Api.Traffic} */ (model.status.traffic);
      write(said, at.headline);
      part.hidden = !at.segment;
      put(part, at.segment ? partOf(at.segment) : []);
      put(
        facts,
        found(model, at).map(([word, text]) => [h("dt", {}, word), h("dd", {}, text)]),
      );
      const rows = order(model, at);
      table.hidden = !at.settled;
      put(
        head,
        columns(at).map((one, i) =>
          h("th", { scope: "col", class: i ? "number" : undefined }, one.title),
        ),
      );
      put(
        body,
        rows.slice(0, MOST).map((i) => row(model, at, i)),
      );
      const rest = rows.length - MOST;
      more.hidden = !at.settled || rest <= 0;
      write(more, `and ${count(rest)} more, in the table below`);
    },
  };
}

/**
 * What a study of one segment is part of, and the way to the others.
 *
 * @param {NonNullable<Api.Traffic["segment"]>} segment
 */
function partOf(segment) {
  const others = Object.entries(segment.others).map(([name, study], i) => [
    i ? ", " : "",
    h("a", { href: `#/studies/${encodeURIComponent(study)}` }, name),
  ]);
  return [`${segment.words} Other segments: `, others, "."];
}

/**
 * What a product manager asks, and the answers.
 *
 * @param {import("../model.js").Model} model
 * @param {Api.Traffic} at
 * @returns {[string, string][]}
 */
function found({ status, forecast }, at) {
  const left = leftIn(status).toLowerCase();
  // A forecast takes seconds: until it is there, and where there is none, a rough guess has to do.
  const toGo = forecast && forecast.low !== null ? `${forecast.text}.` : at.ahead;
  /** @type {[string, string | null][]} */
  const all = [
    ["So far", `${plural(status.samples, "visit")} in ${plural(at.settled, "period")}; ${left}`],
    ["Worth", at.worth],
    ["To go", status.finished ? null : toGo],
    ["Next", at.next],
  ];
  return /** @type {[string, string][]} */ (all.filter(([, text]) => text !== null));
}

/**
 * Those still in first, the control before the others, then by how they did.
 *
 * @param {import("../model.js").Model} model
 * @param {Api.Traffic} at
 */
function order(model, at) {
  const { means, labels } = model.status;
  /** @type {(i: number) => number[]} */
  const key = (i) => [
    Number(!model.isLeader(i)),
    Number(!model.stillIn[i] && labels[i] !== at.control),
    Number(labels[i] !== at.control),
    means[i] === null ? Infinity : -model.sign * means[i],
  ];
  const keys = labels.map((_, i) => key(i));
  const places = [...labels.keys()];
  return places.sort((a, b) => {
    const differs = keys[a].findIndex((x, k) => x !== keys[b][k]);
    return differs < 0 ? a - b : keys[a][differs] - keys[b][differs];
  });
}

/**
 * @param {Api.Traffic} at
 * @returns {{title: string, text: (model: import("../model.js").Model, i: number) => string}[]}
 */
function columns(at) {
  const rate = at.columns.includes("successes");
  /** @type {(x: number | null) => string} */
  const mean = (x) => (x === null ? "–" : rate ? `${short(100 * x)} %` : short(x, 4));
  const shown = [
    {
      title: "Option",
      text: (/** @type {any} */ model, /** @type {number} */ i) =>
        model.labels[i] + (model.labels[i] === at.control ? " (control)" : ""),
    },
    {
      title: "Visits",
      text: (/** @type {any} */ model, /** @type {number} */ i) => count(model.status.pulls[i]),
    },
    {
      title: rate ? "Rate" : "Mean",
      text: (/** @type {any} */ model, /** @type {number} */ i) => mean(model.status.means[i]),
    },
  ];
  if (at.lift)
    shown.push({ title: rate ? "Over control, points" : "Over control", text: (_, i) => lift(at, i, rate) });
  for (const one of at.guardrails) shown.push({ title: one.title, text: (_, i) => one.cells[i] });
  if (at.shares)
    shown.push({
      title: "Share now",
      text: (_, i) => (at.shares?.[i] ? `${(100 * at.shares[i]).toFixed(1)} %` : "–"),
    });
  shown.push({ title: "Evidence", text: evidence });
  return shown;
}

/**
 * How far it is above the control, and between what that lies at any time.
 *
 * @param {Api.Traffic} at
 * @param {number} i
 * @param {boolean} rate
 */
function lift(at, i, rate) {
  const found = at.lift?.[i];
  if (!found) return "–";
  const [lead, low, high] = found.map((x) => signed(rate ? 100 * x : x, rate));
  return `${lead} (${low} to ${high})`;
}

/** @type {(x: number, rate: boolean) => string} */
const signed = (x, rate) =>
  `${x < 0 ? "−" : "+"}${rate ? Math.abs(x).toFixed(2) : short(Math.abs(x))}`;

/**
 * @param {import("../model.js").Model} model
 * @param {number} i
 */
function evidence(model, i) {
  const share = model.evidence(i);
  const open = !model.status.finished && model.stillIn[i] && (model.compared || !model.isLeader(i));
  return open && share !== null ? percent(share) : model.said(i);
}

/**
 * @param {import("../model.js").Model} model
 * @param {Api.Traffic} at
 * @param {number} i
 */
function row(model, at, i) {
  const [first, ...others] = columns(at);
  return h(
    "tr",
    { class: model.isOut(i) ? "out" : undefined },
    h("th", { scope: "row" }, first.text(model, i)),
    others.map((one) => h("td", { class: "number", "data-head": one.title }, one.text(model, i))),
  );
}
