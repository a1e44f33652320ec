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
const REWARDS = [
  ["any", "numbers of any kind"],
  ["yes-no", "yes or no"],
  ["between", "a number between two bounds"],
  ["symmetric", "readings that scatter evenly"],
];

/** @type {View} */
export const planView = (scope) => {
  /** @type {Chosen} */
  let table = { ready: false };
  /** @type {(placeholder: string) => HTMLInputElement} */
  const numeric = (placeholder) =>
    input({ type: "text", inputmode: "decimal", placeholder, oninput: check });
  const rewards = h(
    "select",
    { class: "input", onchange: check },
    REWARDS.map(([value, words]) => h("option", { value }, words)),
  );
  const low = numeric("0");
  const high = numeric("10");
  const gap = numeric("0.4");
  const noise = numeric("1");
  const baseRate = numeric("0.02");
  const lift = numeric("0.2");
  const better = h(
    "select",
    { class: "input" },
    h("option", { value: "" }, "More often"),
    h("option", { value: "less" }, "Less often"),
  );
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

  // Each field, and for which rewards it is shown.
  /** @type {[HTMLElement, string[]][]} */
  const asked = [
    [field("Lowest reward", low), ["between"]],
    [field("Highest reward", high), ["between"]],
    [
      field(
        "Gap",
        gap,
        "Lead of the best option over the second best that you want to detect, in units of the reward.",
      ),
      ["any", "symmetric", "between"],
    ],
    [
      field(
        "Noise",
        noise,
        "How much repeated measurements of one option differ (standard deviation). A guess is enough. Empty: 1, or a quarter of the range.",
      ),
      ["any", "symmetric", "between"],
    ],
    [
      field("Base rate", baseRate, "How often the second best option says yes: 0.02 for 2 %."),
      ["yes-no"],
    ],
    [field("Lift", lift, "How much more often the best option says yes: 0.2 for 20 % more."), ["yes-no"]],
    [
      field("Yes is better", better, "Less often, for errors or refunds: the lift is then how much less often the best one has them."),
      ["yes-no"],
    ],
  ];

  function check() {
    const kind = rewards.value;
    for (const [element, kinds] of asked) element.hidden = !kinds.includes(kind);
    /** @type {(control: HTMLInputElement) => boolean} */
    const good = (control) => (number(control) ?? 0) > 0;
    const lead = kind === "yes-no" ? good(baseRate) && good(lift) : good(gap);
    const guess = kind === "yes-no" || noise.value.trim() === "" || good(noise);
    const ends = kind !== "between" || (number(low) ?? 0) < (number(high) ?? 0);
    button.disabled = !(table.ready && good(delta) && lead && guess && ends);
  }
  check();

  /** What the service is asked, but for the table. */
  function question() {
    const kind = rewards.value;
    const common = { delta: number(delta), trials: Number(trials.value) };
    if (kind === "yes-no")
      return {
        ...common,
        rewards: kind,
        base_rate: number(baseRate),
        lift: number(lift),
        minimise: better.value === "less",
      };
    const bounds = `${number(low)}..${number(high)}`;
    return {
      ...common,
      rewards: kind === "between" ? bounds : kind,
      gap: number(gap),
      noise: number(noise),
    };
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
        const body = { ...table.spec, ...question() };
        /** @type {{forecast: Api.Forecast[], notes: string[]}} */
        const found = await post("/plan", body, { signal: scope.signal });
        put(result, shown(found, body));
        announce("The forecast is ready.");
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
          { class: "card", "aria-label": "Settings" },
          h("h2", {}, "Settings"),
          h(
            "div",
            { class: "fields" },
            field("Results are", rewards, "What one measurement gives."),
            asked.map(([element]) => element),
            field("Error probability", delta, "At most this share of studies may name a wrong option."),
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
 * @param {{rewards: string, gap?: number | null, base_rate?: number | null, lift?: number | null,
 *   noise?: number | null, delta: number | null, trials: number}} body
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
  const best = methods.find((row) => row.kind === "simulated" && !row.gave_up);
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
        ...(bound > 0 ? [["bound-key", "no method can average fewer"]] : []),
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
      `${lead(body)}, error probability ${body.delta}. Mean of ${body.trials} simulated runs on truths drawn at random; differences within the intervals may be chance. “>” means that runs were cut off and the true number is larger.`,
    ),
    notes.length > 0 &&
      h(
        "ul",
        { class: "note-list" },
        notes.map((text) => h("li", {}, text)),
      ),
  );
}

/**
 * @param {{rewards: string, gap?: number | null, base_rate?: number | null, lift?: number | null, minimise?: boolean}} body
 */
function lead({ rewards, gap, base_rate, lift, minimise }) {
  if (rewards !== "yes-no") return `The best option leads by ${short(gap ?? null)}`;
  const rate = base_rate ?? 0;
  const best = rate * (1 + (minimise ? -1 : 1) * (lift ?? 0));
  const end = minimise ? "least" : "most";
  return `The best option says yes at ${percent(best)}, all others at ${percent(rate)} at ${end}`;
}

/** @type {(rate: number) => string} */
const percent = (rate) => `${Number((100 * rate).toPrecision(4))} %`;

/** @type {(text: string) => string} */
const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** @type {(row: Api.Forecast) => string} */
const measurements = (row) => (row.gave_up ? "> " : "") + amount(row.mean);

const TIMES = "× lower bound";
const HEADS = [
  "Method",
  "Measurements",
  "95 % interval",
  "9 of 10 runs",
  TIMES,
  "Half the gap",
  "Half of the error probability",
];

/**
 * @param {Row[]} methods
 * @param {Row | undefined} bound
 * @param {Api.Forecast[]} forecast
 * @param {number} least
 */
function table(methods, bound, forecast, least) {
  /** @type {(row: Row, scenario: string) => string} */
  const other = (row, scenario) => {
    const found = forecast.find((one) => one.method === row.method && one.scenario === scenario);
    return found ? measurements(found) : "";
  };
  /** @type {(row: Row) => HTMLElement} */
  const line = (row) => {
    const simulated = row.kind === "simulated" && !row.gave_up;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, row.label),
      [
        measurements(row),
        simulated ? `${amount(row.low)} – ${amount(row.high)}` : "",
        simulated ? `≤ ${amount(row.q90)}` : "",
        ...(least > 0 ? [row.kind !== "bound" ? (row.mean / least).toFixed(1) : ""] : []),
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
          HEADS.filter((head) => least > 0 || head !== TIMES).map((head, i) => h("th", { scope: "col", class: i ? "number" : "" }, head)),
        ),
      ),
      h("tbody", {}, methods.map(line), bound && line(bound)),
    ),
  );
}
