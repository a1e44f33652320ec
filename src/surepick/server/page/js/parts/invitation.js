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

/** @type {(name: string, token: string) => string} */
export const workerCommand = (name, token) =>
  `SUREPICK_TOKEN=${token} surepick run ${quoted(name)} ` +
  `--server ${location.origin} --exec 'command {label}'`;

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
      "Whoever has this token can measure for this study.",
    ),
    copyable(workerCommand(name, token), "the worker's command line"),
    h(
      "details",
      { class: "fold" },
      h("summary", {}, "In Python"),
      copyable(python, "the Python lines"),
    ),
  );
}
