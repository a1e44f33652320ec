// Downloads, and (for admins) a token for a worker.

import { download, post } from "../api.js";
import { h, icon, put, write } from "../dom.js";
import { errorLine, submit } from "../parts/field.js";
import { workerInvitation } from "../parts/invitation.js";

const FORMATS = [
  ["csv", "CSV"],
  ["json", "JSON"],
  ["parquet", "Parquet"],
];
const PICTURES = [
  ["png", "PNG"],
  ["svg", "SVG"],
  ["pdf", "PDF"],
];

/**
 * @param {string} name
 * @returns {Card}
 */
export function exportCard(name) {
  const about = h("p", { class: "explain" });
  const pictures = h("div", { class: "actions" }, links("/picture", PICTURES));
  const drawn = h("p", { class: "explain" }, "A picture for a slide: where the options stand.");

  /** @type {(rest: string, formats: string[][]) => HTMLElement[]} */
  function links(rest, formats) {
    return formats.map(([format, title]) =>
      h(
        "a",
        { class: "button small", href: download(name, `${rest}?format=${format}`), download: "" },
        icon("down"),
        title,
      ),
    );
  }

  return {
    element: h(
      "section",
      { class: "card", "aria-label": "Export" },
      h("h2", {}, "Export"),
      about,
      h("div", { class: "actions" }, links("/export", FORMATS)),
      drawn,
      pictures,
    ),
    update({ status }) {
      const what = status.traffic ? "Every report, by option" : "Every measurement";
      write(about, `${what}, with the features of its option.`);
      pictures.hidden = drawn.hidden = status.leader === null;
    },
  };
}

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
      "A worker can measure options on any machine. Its token is for this study only.",
    ),
    h("div", { class: "actions" }, button),
    error.element,
    result,
  );
}
