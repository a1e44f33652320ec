// Downloads, and (for admins) a token for a worker, and the end of the study.

import { download, post, remove, studyPath } from "../api.js";
import { h, icon, put } from "../dom.js";
import { confirm } from "../parts/confirm.js";
import { errorLine, submit } from "../parts/field.js";
import { workerInvitation } from "../parts/invitation.js";
import { go } from "../router.js";

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

/** @param {string} name */
export function deleteButton(name) {
  const error = errorLine();
  const button = h(
    "button",
    { class: "button small danger", type: "button", onclick: act },
    "Delete study",
  );
  async function act() {
    const sure = await confirm(
      `Delete ${name}?`,
      "Every measurement of this study is deleted with it. This cannot be undone; export it first if in doubt.",
      "Delete it",
    );
    if (!sure) return;
    await submit(button, error, async () => {
      await remove(studyPath(name));
      go("/studies");
    });
  }
  return h("div", {}, button, error.element);
}
