// How the options still in have shrunk, batch by batch.

import { survivorsChart } from "../charts/survivors.js";
import { h, put } from "../dom.js";
import { count } from "../format.js";

const ROWS = 200; // of the table behind the chart

export function shrinkCard() {
  const chart = survivorsChart();
  const body = h("tbody");
  const table = h(
    "table",
    { class: "plain-table tight" },
    h("caption", { class: "unseen" }, "Options still in after each batch"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Batch", "Measurements", "Still in"].map((head) =>
          h("th", { scope: "col", class: "number" }, head),
        ),
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
        "aria-label": "Options still in after each batch",
      },
      table,
    ),
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Options still in over time" },
    h("h2", {}, "Options still in"),
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
      if (fold.open) fillTable();
    },
  };
}
