// The batch that is being measured: told, with workers, waiting.

import { h, write } from "../dom.js";
import { count } from "../format.js";

/** @type {["told" | "leased" | "waiting", string][]} */
const PARTS = [
  ["told", "told"],
  ["leased", "with workers"],
  ["waiting", "waiting"],
];

/** @returns {Card} */
export function batchCard() {
  const bars = { told: h("span", { class: "told" }), leased: h("span", { class: "leased" }) };
  const numbers = Object.fromEntries(PARTS.map(([key]) => [key, h("strong", { class: "number" })]));
  const title = h("strong", {});
  const heading = h("h2", {}, "Being measured");
  const holders = h("span", {});
  const done = h("span", { class: "muted number" });
  const ahead = h("p", { class: "explain" });
  const element = h(
    "section",
    { class: "card", "aria-label": "Batch being measured" },
    heading,
    h(
      "div",
      {},
      h("div", { class: "batch-line" }, title, done),
      h("div", { class: "parts-bar", "aria-hidden": "true" }, bars.told, bars.leased),
      h(
        "ul",
        { class: "legend" },
        PARTS.map(([key, words]) =>
          h("li", {}, h("span", { class: `key ${key}` }), numbers[key], " ", key === "leased" ? holders : words),
        ),
      ),
    ),
    ahead,
  );
  return {
    element,
    update({ status, forecast }) {
      const { batch } = status;
      element.hidden = status.finished;
      write(heading, status.pairs ? "Being judged" : "Being measured");
      write(holders, status.pairs ? "with judges" : "with workers");
      if (status.finished) return;
      write(title, `Batch ${count(batch.number + 1)}${batch.ahead ? " and after" : ""}`);
      write(done, `${count(batch.told)} of ${count(batch.size)}`);
      for (const [key] of PARTS) write(numbers[key], count(batch[key]));
      for (const key of /** @type {const} */ (["told", "leased"]))
        bars[key].style.width = `${(100 * batch[key]) / batch.size}%`;
      write(ahead, outlook(status, forecast));
    },
  };
}

/**
 * @param {Api.Status} status
 * @param {Api.ForecastOf | null} forecast
 */
function outlook(status, forecast) {
  if (status.batch.number === 0) return "The first batch is under way; the forecast follows when it is complete.";
  const said = forecast ? `${forecast.text}. ` : "";
  const how =
    forecast && forecast.high !== null
      ? "Eight of ten simulated studies that continue from here end within this range. "
      : "";
  return `${said}${how}The study decides when a batch is complete.`;
}
