// Downloads, and (for admins) a token for a worker.

import { download, post } from "../api.js";
import { h, icon, put, write } from "../dom.js";
import { errorLine, submit } from "../parts/field.js";
import { judgeInvitation, programInvitation, workerInvitation } from "../parts/invitation.js";

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
      h("p", { class: "explain" }, "A page about the study, to hand on."),
      h(
        "div",
        { class: "actions" },
        h("a", { class: "button small", href: download(name, "/report"), download: "" }, icon("down"), "Report"),
      ),
    ),
    update({ status }) {
      const what = status.traffic
        ? "Every report, by option"
        : `Every ${status.pairs ? "comparison" : "measurement"}`;
      const of = status.pairs ? "its two options" : "its option";
      write(about, `${what}, with the features of ${of}.`);
      pictures.hidden = drawn.hidden = status.leader === null;
    },
  };
}

/** @param {string} name */
export const workersCard = (name) =>
  tokenCard(name, {
    title: "Workers",
    about: "A worker can measure options on any machine. Its token is for this study only.",
    invites: { worker: workerInvitation },
  });

/** @param {string} name */
export const judgesToken = (name) =>
  tokenCard(name, {
    title: "Invite a judge",
    about:
      "A judge opens the page with a token of this study, sees two options at a time without their names, and can do nothing else. A program that judges needs a worker token: it is told which options it compares. Give each judge a token of their own.",
    invites: { judge: judgeInvitation, worker: programInvitation },
  });

/**
 * @param {string} name
 * @param {{title: string, about: string, invites: Record<string, (name: string, token: string) => HTMLElement>}} words
 */
function tokenCard(name, { title, about, invites }) {
  const result = h("div", {});
  const error = errorLine();
  const buttons = Object.keys(invites).map((role) => {
    const button = h(
      "button",
      { class: "button small", type: "button", onclick: () => make(role, button) },
      `Make a ${role} token`,
    );
    return button;
  });

  /** @type {(role: string, button: HTMLButtonElement) => Promise<void>} */
  function make(role, button) {
    return submit(button, error, async () => {
      /** @type {Api.TokenMade} */
      const made = await post("/tokens", { role, studies: [name] });
      put(result, invites[role](name, made.token));
    });
  }

  return h(
    "section",
    { class: "card", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "explain" }, about),
    h("div", { class: "actions" }, buttons),
    error.element,
    result,
  );
}
