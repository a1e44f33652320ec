// How options stand to limits on further numbers: who keeps them, and a picture of two numbers.

import { limitChart } from "../charts/limit.js";
import { h, put, write } from "../dom.js";
import { short } from "../format.js";

const CLASSES = new Map([
  ["keeps", "badge good"],
  ["breaks", "badge bad"],
  ["not clear yet", "badge"],
]);
const ABOUT =
  "Of each number the mean, and between which ends it lies at all times. Of a percentile it is the share of measurements on the right side of the limit.";
const SHARE = /^p\S+ of /;
const ANEW =
  "When an option is added, the ends begin anew, and are far apart for a while; who was shown to keep or break a limit stays so.";

/** @returns {Card} */
export function keptCard() {
  const heads = h("tr", {});
  const rows = h("tbody", {});
  const front = h("p", { class: "explain" });
  const about = h("p", {});
  const pick = h("select", { class: "input", "aria-label": "Limit of the picture", onchange: () => draw() });
  const chart = limitChart();
  /** @type {import("./model.js").Model | null} */
  let model = null;
  /** @type {string[]} */
  let known = [];
  const element = h(
    "section",
    { class: "card wide kept", "aria-label": "Who keeps the limits", hidden: true },
    h("div", { class: "card-head" }, h("h2", {}, "Who keeps the limits"), about),
    h(
      "div",
      { class: "kept-parts" },
      h("div", { class: "kept-picture" }, pick, chart.element, front),
      h(
        "div",
        { class: "scrolls", tabindex: "0", role: "group", "aria-label": "Table of limits" },
        h("table", { class: "plain-table" }, h("thead", {}, heads), rows),
      ),
    ),
  );

  function draw() {
    if (model) chart.update(model, pick.value);
  }

  return {
    element,
    update(next) {
      model = next;
      const { limits = [], columns } = next.status.standing;
      element.hidden = limits.length === 0;
      if (!limits.length) return;
      write(about, next.status.options_change ? `${ABOUT} ${ANEW}` : ABOUT);
      if (known.join("\n") !== limits.join("\n")) {
        known = limits;
        put(pick, limits.map((/** @type {string} */ one) => h("option", { value: one }, one)));
        pick.hidden = limits.length === 1;
        put(heads, ["Option", "Estimate", ...limits].map((text) => h("th", { scope: "col" }, text)));
      }
      put(
        rows,
        next.labels.map((label, i) =>
          h(
            "tr",
            { class: next.isOut(i) ? "out" : "" },
            h("th", { scope: "row" }, label),
            h("td", { class: "number" }, short(next.estimate(i), 4)),
            limits.map((/** @type {string} */ limit) => cell(columns, limit, i)),
          ),
        ),
      );
      const on = columns.front ? next.labels.filter((_, i) => columns.front[i]) : [];
      write(
        front,
        on.length
          ? `Ringed: nobody beats ${on.join(", ")} on all numbers at once, by two standard errors. That is a view, and proves nothing.`
          : "",
      );
      draw();
    },
  };
}

/**
 * @param {Record<string, any[]>} columns
 * @param {string} limit
 * @param {number} i
 */
function cell(columns, limit, i) {
  const [mean, low, high] = ["mean", "low", "high"].map((name) => columns[`${limit}: ${name}`]?.[i] ?? null);
  const verdict = columns[limit]?.[i] ?? "not clear yet";
  // Of a percentile it is a share of measurements, which is told in per cent.
  const times = SHARE.test(limit) ? 100 : 1;
  const unit = times === 1 ? "" : " %";
  /** @param {number | null} x */
  const said = (x) => (x === null ? "…" : short(times * x, 3));
  const ends = `${said(low)} to ${said(high)}${unit}`;
  return h(
    "td",
    {},
    h("span", { class: CLASSES.get(verdict) ?? "badge" }, verdict),
    " ",
    h("span", { class: "number" }, mean === null ? "" : `${said(mean)}${unit} (${ends})`),
  );
}
