// How many measurements will it take? A forecast before anything is measured.

import { announce } from "../announce.js";
import { post } from "../api.js";
import { forecastChart } from "../charts/forecast.js";
import { h, put } from "../dom.js";
import { algorithmName, amount, rough, short } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { bones } from "../parts/states.js";
import { tableSource } from "../parts/table-source.js";

/** @typedef {import("../charts/forecast.js").Row} Row */

const ASKED = "as asked";

/** @type {View} */
export const planView = (scope) => {
  /** @type {Chosen} */
  let table = { ready: false };
  const gap = input({
    type: "text",
    inputmode: "decimal",
    placeholder: "0.4",
    required: true,
    oninput: check,
  });
  const noise = input({ type: "text", inputmode: "decimal", value: "1", oninput: check });
  const delta = input({ type: "text", inputmode: "decimal", value: "0.05", oninput: check });
  const trials = h(
    "select",
    { class: "input" },
    [10, 30, 100].map((n) => h("option", { value: n, selected: n === 10 }, `${n} simulated runs`)),
  );
  const error = errorLine();
  const button = h(
    "button",
    { class: "button primary", type: "submit", disabled: true },
    "Forecast",
  );
  const result = h("div", {});
  const source = tableSource(scope, (found) => {
    table = found;
    check();
  });

  function check() {
    const good = [gap, noise, delta].every((one) => (number(one) ?? 0) > 0);
    button.disabled = !(table.ready && good);
  }

  /** @param {SubmitEvent} event */
  function forecast(event) {
    event.preventDefault();
    return submit(button, error, async () => {
      if (!table.ready) return;
      put(
        result,
        h(
          "p",
          { class: "muted", role: "status" },
          "Simulating every algorithm on options like yours; this takes a few seconds…",
        ),
        bones("tall"),
      );
      try {
        const body = {
          ...table.spec,
          gap: number(gap),
          noise: number(noise),
          delta: number(delta),
          trials: Number(trials.value),
        };
        /** @type {{forecast: Api.Forecast[], notes: string[]}} */
        const found = await post("/plan", body, { signal: scope.signal });
        put(result, shown(found, body));
        announce("The forecast is there.");
      } catch (problem) {
        put(result);
        throw problem;
      }
    });
  }

  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", {}, "Plan"),
        h("p", {}, "How many measurements will it take to find the best option?"),
      ),
    ),
    h(
      "form",
      { class: "two", onsubmit: forecast },
      h(
        "div",
        { class: "main" },
        h(
          "section",
          { class: "card", "aria-label": "Options" },
          h("h2", {}, "Options"),
          source.table,
        ),
        h(
          "section",
          { class: "card", "aria-label": "What to find out" },
          h("h2", {}, "What to find out"),
          h(
            "div",
            { class: "fields" },
            field(
              "Gap",
              gap,
              "Lead of the best option over the second best that should be found out, in units of the reward.",
            ),
            field("Noise", noise, "Standard deviation of one measurement."),
            field("Error probability δ", delta, "How often the answer may be wrong."),
            field("Effort", trials, "More runs take longer and give narrower intervals."),
          ),
        ),
      ),
      h(
        "div",
        { class: "side" },
        source.preview,
        h("div", { class: "field" }, button, error.element),
      ),
    ),
    result,
  );
};

/**
 * @param {{forecast: Api.Forecast[], notes: string[]}} found
 * @param {{gap: number | null, noise: number | null, delta: number | null, trials: number}} body
 */
function shown({ forecast, notes }, body) {
  const asked = forecast.filter((row) => row.scenario === ASKED);
  // Those without a mean are left out below, before it is needed.
  const rows = /** @type {Row[]} */ (
    asked.map((row) => ({
      ...row,
      label: row.kind === "simulated" ? algorithmName(row.method) : capital(row.method),
    }))
  );
  const bound = rows.find((row) => row.kind === "bound")?.mean ?? 0;
  const methods = rows
    .filter((row) => row.kind !== "bound" && row.mean !== null)
    .sort((a, b) => a.mean - b.mean);
  const best = methods.find((row) => row.kind === "simulated");
  if (best) best.best = true;
  const test = methods.find((row) => row.method === "A/B/n test");
  return h(
    "section",
    { class: "card forecast", "aria-label": "Forecast" },
    h("h2", {}, best ? `About ${rough(best.mean)} measurements with ${best.label}` : "Forecast"),
    test &&
      best &&
      h(
        "p",
        { class: "explain" },
        `A plain A/B/n test of the same options takes about ${rough(test.mean)}: ${rough(test.mean / best.mean)} times as many.`,
      ),
    methods.length > 0 && forecastChart(methods, bound),
    h(
      "ul",
      { class: "legend" },
      [
        ["mean", "mean, with its 95 % interval"],
        ["spread-key", "8 of 10 runs"],
        ["fixed-key", "fixed in advance"],
        ["bound-key", "no method can average fewer"],
      ].map(([key, words]) => h("li", {}, h("span", { class: `key ${key}` }), words)),
    ),
    table(
      methods,
      rows.find((row) => row.kind === "bound"),
      forecast,
      bound,
    ),
    h(
      "p",
      { class: "explain" },
      `The best option leads by ${short(body.gap)}, noise ${short(body.noise)}, error probability ${body.delta}. Mean of ${body.trials} simulated runs on truths drawn at random; differences within the intervals are chance.`,
    ),
    notes.length > 0 &&
      h(
        "ul",
        { class: "note-list" },
        notes.map((text) => h("li", {}, text)),
      ),
  );
}

/** @type {(text: string) => string} */
const capital = (text) => text[0].toUpperCase() + text.slice(1);

const HEADS = [
  "Method",
  "Measurements",
  "95 % interval",
  "9 of 10 runs",
  "× lower bound",
  "Half the gap",
  "Half of δ",
];

/**
 * @param {Row[]} methods
 * @param {Row | undefined} bound
 * @param {Api.Forecast[]} forecast
 * @param {number} least
 */
function table(methods, bound, forecast, least) {
  /** @type {(row: Row, scenario: string) => string} */
  const other = (row, scenario) =>
    amount(
      forecast.find((one) => one.method === row.method && one.scenario === scenario)?.mean ?? null,
    );
  /** @type {(row: Row) => HTMLElement} */
  const line = (row) => {
    const simulated = row.kind === "simulated";
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, row.label),
      [
        amount(row.mean),
        simulated ? `${amount(row.low)} – ${amount(row.high)}` : "",
        simulated ? `≤ ${amount(row.q90)}` : "",
        least > 0 && row.kind !== "bound" ? (row.mean / least).toFixed(1) : "",
        other(row, "half the gap"),
        other(row, "half of delta"),
      ].map((cell) => h("td", { class: "number" }, cell)),
    );
  };
  return h(
    "div",
    { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Forecast as a table" },
    h(
      "table",
      { class: "plain-table tight" },
      h("caption", { class: "unseen" }, "Expected measurements per method"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          HEADS.map((head, i) => h("th", { scope: "col", class: i ? "number" : "" }, head)),
        ),
      ),
      h("tbody", {}, methods.map(line), bound && line(bound)),
    ),
  );
}
