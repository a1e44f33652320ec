// How often options won against each other: standings with intervals, and the matrix of wins.

import { h, put, s } from "../../dom.js";
import { count, plural } from "../../format.js";
import { PROVEN } from "../model.js";

const SHOWN = 12; // options of the matrix: more would not be read
const [WIDTH, HEIGHT] = [200, 18];
/** @type {Record<string, string>} */
const WORDS = { leads: "leads", in: "may still win", close: "may still win", out: "ruled out" };

/** @type {(share: number) => string} */
const percent = (share) => `${Math.round(100 * share)} %`;

/** Two digits, with a minus that is as wide as a digit. */
const number = (/** @type {number} */ value) => value.toFixed(2).replace("-", "−");

/** 3.5 wins are 3½ in a small table. */
const half = (/** @type {number} */ won) =>
  Number.isInteger(won) ? count(won) : `${won < 1 ? "" : count(Math.floor(won))}½`;

/**
 * @param {Api.StandingOf} row
 * @param {boolean} finished
 * @param {boolean} proven
 */
function state(row, finished, proven) {
  if (finished && row.state === "leads") return proven ? "the answer" : "looks best";
  if (finished && row.state === "in") return "not ruled out";
  return WORDS[row.state] ?? row.state;
}

/** @param {Api.StandingOf} row */
function about({ strength_low: low, strength_high: high }) {
  return low === null || high === null ? "–" : `${number(low)} to ${number(high)}`;
}

/** @param {Api.StandingOf} row */
function bar(row) {
  const at = (/** @type {number} */ share) => 4 + share * (WIDTH - 8);
  const middle = HEIGHT / 2;
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: `share ${row.state}`, "aria-hidden": "true" },
    s("line", { class: "half", x1: at(0.5), x2: at(0.5), y1: 0, y2: HEIGHT }),
    s("line", { class: "reach", x1: at(row.low), x2: at(row.high), y1: middle, y2: middle }),
    row.share !== null && s("circle", { cx: at(row.share), cy: middle, r: 4 }),
  );
}

/**
 * @param {Api.JudgementsOf} found
 * @param {import("../model.js").Model} model
 */
function standings({ standings: rows }, model) {
  const heads = ["Option", "Share of wins", "0 to 100 %", "Between", "Comparisons", "So far", "Strength", "About"];
  const { finished, promise } = model.status;
  const proven = PROVEN.includes(promise.kind);
  return h(
    "table",
    { class: "plain-table tight wins" },
    h("caption", { class: "unseen" }, "Standings"),
    h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: i && i !== 2 && i !== 5 && "number" }, text)))),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          { class: row.state === "out" && "out" },
          h("th", { scope: "row", class: "breakable" }, row.option),
          h("td", { class: "number" }, row.share === null ? "–" : percent(row.share)),
          h("td", { class: "drawn" }, bar(row)),
          h("td", { class: "number" }, row.met ? `${percent(row.low)} to ${percent(row.high)}` : "–"),
          h("td", { class: "number" }, count(row.met)),
          h("td", {}, state(row, finished, proven)),
          h("td", { class: "number" }, row.strength === null ? "–" : number(row.strength)),
          h("td", { class: "number" }, about(row)),
        ),
      ),
    ),
  );
}

/** @param {Api.JudgementsOf} found */
function matrix({ standings: rows, options, won, met }) {
  const order = rows.slice(0, SHOWN).map((row) => options.indexOf(row.option));
  return h(
    "table",
    { class: "plain-table tight matrix" },
    h("caption", { class: "unseen" }, "How often the option of a row won against that of a column"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        order.map((_, i) => h("th", { scope: "col", class: "number", title: rows[i].option }, i + 1)),
      ),
    ),
    h(
      "tbody",
      {},
      order.map((a, i) =>
        h(
          "tr",
          {},
          h("th", { scope: "row", class: "breakable" }, `${i + 1}. ${options[a]}`),
          order.map((b) => cell(a === b ? null : [won[a][b], met[a][b]])),
        ),
      ),
    ),
  );
}

/** @param {number[] | null} found */
function cell(found) {
  if (!found || !found[1]) return h("td", { class: "number none" }, found ? "·" : "");
  const [won, met] = found;
  const made = h("td", { class: "number" }, `${half(won)}/${count(met)}`);
  const share = won / met;
  made.style.setProperty("--share", String(Math.abs(2 * share - 1)));
  if (share !== 0.5) made.classList.add(share > 0.5 ? "more" : "less");
  return made;
}

export function winsCard() {
  const body = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Standings" });
  const against = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix of wins" });
  const more = h("p", { class: "explain" });
  const element = h(
    "section",
    { class: "card wide", "aria-label": "Wins", hidden: true },
    h("h2", {}, "Wins"),
    body,
    h(
      "p",
      { class: "explain" },
      "A tie counts half. “Between” is about the comparisons that were made: it holds for all options together, at any time, however often you look. Who was compared with whom was chosen by what was seen before, so shares alone decide nothing.",
    ),
    h(
      "p",
      { class: "explain" },
      "Strength is a Bradley–Terry model’s estimate, with an interval that is right in about 95 of 100 cases if the model is: how far an option is ahead of the average one, in log-odds (1 ahead is preferred in 73 of 100 comparisons). It proves nothing.",
    ),
    h("h3", {}, "Who won against whom"),
    against,
    more,
  );
  return {
    element,
    /**
     * @param {Api.JudgementsOf} found
     * @param {import("../model.js").Model} model
     */
    show(found, model) {
      element.hidden = found.comparisons === 0;
      put(body, standings(found, model));
      put(against, matrix(found));
      const left = found.options.length - SHOWN;
      put(
        more,
        "Wins of the row against the column, of so many comparisons.",
        left > 0 && ` The first ${SHOWN} options are shown, not ${plural(left, "other")}.`,
      );
    },
  };
}
