// How the options still in have shrunk, batch by batch.

import { survivorsChart } from "../charts/survivors.js";
import { h, put, write } from "../dom.js";
import { count, countedBy } from "../format.js";

const ROWS = 200; // of the table behind the chart

export function shrinkCard() {
  const chart = survivorsChart();
  const title = h("h2", {}, "Options still in");
  const body = h("tbody");
  const heads = [0, 1, 2].map(() => h("th", { scope: "col", class: "number" }));
  const table = h(
    "table",
    { class: "plain-table tight" },
    h("caption", { class: "unseen" }, "Options still in over time"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads,
      ),
    ),
    body,
  );
  /** @type {Api.HistoryRow[]} */
  let history = [];
  const fold = h(
    "details",
    { class: "fold", ontoggle: () => fold.open && fillTable() },
    h("summary", {}, "Show as a table"),
    h(
      "div",
      {
        class: "log",
        tabindex: "0",
        role: "region",
        "aria-label": "Options still in, as a table",
      },
      table,
    ),
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Options still in over time" },
    title,
    chart.element,
    fold,
  );

  function fillTable() {
    put(
      body,
      history
        .slice(-ROWS)
        .reverse()
        .map((one) =>
          h(
            "tr",
            {},
            [one.batch, one.samples, one.survivors].map((n) =>
              h("td", { class: "number" }, count(n)),
            ),
          ),
        ),
    );
  }

  return {
    element,
    /**
     * @param {Api.HistoryRow[]} batches
     * @param {Api.Status} status
     */
    update(batches, status) {
      history = batches;
      element.hidden = status.samples === 0;
      chart.update(batches, status);
      const { unit, step } = countedBy(status);
      const compared = status.standing.question === "baseline";
      write(title, compared ? "Undecided options" : "Options still in");
      [step, `${unit}s`, compared ? "undecided" : "still in"].forEach((word, i) =>
        write(heads[i], `${word[0].toUpperCase()}${word.slice(1)}`),
      );
      if (fold.open) fillTable();
    },
  };
}
