// What somebody needs to start a worker: the token, shown once, and a command line.

import { h } from "../dom.js";
import { copyable } from "./copyable.js";

/**
 * Quoted for a shell where that is needed.
 *
 * @type {(text: string) => string}
 */
const quoted = (text) =>
  /^[\w.@%+=:,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** @type {(name: string, token: string, given?: string) => string} */
export const workerCommand = (name, token, given = "{label}") =>
  `SUREPICK_TOKEN=${token} surepick run ${quoted(name)} ` +
  `--server ${location.origin} --exec 'command ${given}'`;

/**
 * @param {string} name of the study
 * @param {string} token
 */
export function workerInvitation(name, token) {
  const python =
    "import os, surepick\n" +
    `client = surepick.Client(${JSON.stringify(location.origin)}, os.environ["SUREPICK_TOKEN"])\n` +
    `study = client.load_study(${JSON.stringify(name)})\n` +
    "while not study.finished:\n" +
    "    for pull in study.ask(wait=20):\n" +
    "        study.tell(pull.id, measure(pull.label))";
  return h(
    "div",
    { class: "once", role: "group", "aria-label": "New worker token" },
    h(
      "p",
      {},
      h("strong", {}, "Shown only now. "),
      "Whoever has this token can measure for this study: a program with the command, a colleague in the browser.",
    ),
    copyable(workerCommand(name, token), "the worker's command line"),
    h(
      "details",
      { class: "fold" },
      h("summary", {}, "A colleague who measures by hand"),
      h("p", {}, "Send the address, and the token:"),
      copyable(`${location.origin}/#/measure/${encodeURIComponent(name)}`, "the address"),
      copyable(token, "the token"),
    ),
    h(
      "details",
      { class: "fold" },
      h("summary", {}, "In Python"),
      copyable(python, "the Python lines"),
    ),
  );
}

/**
 * What a judge needs: an address and a token. It shows two options at a time, without their names.
 *
 * @param {string} name of the study
 * @param {string} token
 */
export function judgeInvitation(name, token) {
  const address = `${location.origin}/#/judge/${encodeURIComponent(name)}`;
  return h(
    "div",
    { class: "once", role: "group", "aria-label": "New judge token" },
    h(
      "p",
      {},
      h("strong", {}, "Shown only now. "),
      "Whoever has this token can judge in this study, and sees nothing else of it. Send the address, and the token:",
    ),
    copyable(address, "the address"),
    copyable(token, "the token"),
  );
}

/**
 * What a program needs that judges: it is told which two options it compares.
 *
 * @param {string} name of the study
 * @param {string} token
 */
export function programInvitation(name, token) {
  return h(
    "div",
    { class: "once", role: "group", "aria-label": "New worker token" },
    h("p", {}, h("strong", {}, "Shown only now. "), "A program judges with this command:"),
    copyable(workerCommand(name, token, "{first} {second}"), "the judge's command line"),
  );
}
