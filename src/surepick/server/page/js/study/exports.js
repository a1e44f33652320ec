// Downloads, and (for admins) a token for a worker.

import { download, post } from "../api.js";
import { h, icon, put } from "../dom.js";
import { errorLine, submit } from "../parts/field.js";
import { workerInvitation } from "../parts/invitation.js";

const FORMATS = [
  ["csv", "CSV"],
  ["json", "JSON"],
  ["parquet", "Parquet"],
];

/** @type {(name: string) => HTMLElement} */
export const exportCard = (name) =>
  h(
    "section",
    { class: "card", "aria-label": "Export" },
    h("h2", {}, "Export"),
    h("p", { class: "explain" }, "Every measurement, with the features of its option."),
    h(
      "div",
      { class: "actions" },
      FORMATS.map(([format, title]) =>
        h(
          "a",
          { class: "button small", href: download(name, `/export?format=${format}`), download: "" },
          icon("down"),
          title,
        ),
      ),
    ),
  );

/** @param {string} name */
export function workersCard(name) {
  const result = h("div", {});
  const error = errorLine();
  const button = h(
    "button",
    { class: "button small", type: "button", onclick: make },
    "Make a worker token",
  );

  function make() {
    return submit(button, error, async () => {
      /** @type {Api.TokenMade} */
      const made = await post("/tokens", { role: "worker", studies: [name] });
      put(result, workerInvitation(name, made.token));
    });
  }

  return h(
    "section",
    { class: "card", "aria-label": "Workers" },
    h("h2", {}, "Workers"),
    h(
      "p",
      { class: "explain" },
      "A worker measures options wherever it runs. Its token is for this study only.",
    ),
    h("div", { class: "actions" }, button),
    error.element,
    result,
  );
}
