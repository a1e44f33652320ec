// Whether what the guarantee rests on holds: the model, the noise, rewards that stay the same.

import { h, icon, put } from "../dom.js";
import { plural, short } from "../format.js";
import { notice } from "../parts/states.js";

/** @typedef {{title: string, state: "fine" | "blind" | "alarm", text: string}} Finding */

const SIGNS = /** @type {const} */ ({ fine: "fine", blind: "unknown", alarm: "alarm" });
const WORDS = { fine: "fine", blind: "not known yet", alarm: "does not hold" };

/**
 * Warnings as a list of notices, for the top of the page.
 *
 * @returns {Card}
 */
export function warningList() {
  const element = h("div", { class: "notices", role: "group", "aria-label": "Warnings" });
  let shown = "";
  return {
    element,
    update({ status }) {
      const now = JSON.stringify(status.warnings);
      if (now === shown) return;
      shown = now;
      element.hidden = status.warnings.length === 0;
      put(
        element,
        status.warnings.map((text) => notice("bad", text)),
      );
    },
  };
}

/**
 * The card that says what was checked.
 *
 * @returns {Card}
 */
export function checksCard() {
  const list = h("ul", { class: "checks" });
  const element = h(
    "section",
    { class: "card", "aria-label": "Checks" },
    h("h2", {}, "Do the assumptions hold?"),
    list,
  );
  let shown = "";
  return {
    element,
    update(model) {
      const found = findings(model);
      const now = JSON.stringify(found);
      if (now === shown) return;
      shown = now;
      put(list, found.map(line));
    },
  };
}

/** @type {(finding: Finding) => HTMLElement} */
const line = ({ title, state, text }) =>
  h(
    "li",
    { class: `check ${state}` },
    icon(SIGNS[state]),
    h("h3", {}, title, h("span", { class: "unseen" }, ` (${WORDS[state]})`)),
    h("p", {}, text),
  );

/**
 * @param {import("./model.js").Model} model
 * @returns {Finding[]}
 */
function findings({ status, anyFailures }) {
  const checks = /** @type {Api.Checks} */ (status.checks);
  /** @type {Finding[]} */
  const found = [];
  if (checks.fit) found.push(finding("Linear model", checks.fit));
  if (status.traffic && checks.ratio) {
    found.push(finding("Visitors arrive in the set shares", checks.ratio));
    if (checks.own_past) found.push(finding("Each option keeps to its own past", checks.own_past));
    return [...found, finding("Days that differ", checks.drift)];
  }
  found.push(finding("Rewards stay the same over time", checks.drift));
  // Where no noise scale was given there is nothing that could be wrong about it.
  if (status.noise_stated) found.push(noise(status));
  if (checks.scales) found.push(finding("The same noise for all options", checks.scales));
  const failures = status.failures.reduce((a, b) => a + b, 0);
  const uneven = status.warnings.filter((text) => !checks.warnings.includes(text));
  found.push({
    title: "Failures",
    state: uneven.length ? "alarm" : "fine",
    text:
      uneven[0] ??
      (anyFailures
        ? `${plural(failures, "measurement")} failed or came too late; no option stands out.`
        : "No measurement has failed."),
  });
  for (const text of checks.remarks) found.push({ title: "Worth knowing", state: "blind", text });
  return found;
}

/**
 * @param {string} title
 * @param {Api.Check} check
 * @returns {Finding}
 */
function finding(title, { alarm, blind, unclear, message }) {
  return { title, state: alarm ? "alarm" : blind || unclear ? "blind" : "fine", text: message };
}

/**
 * @param {Api.Status} status
 * @returns {Finding}
 */
function noise(status) {
  const { noise: found, warnings } = /** @type {Api.Checks} */ (status.checks);
  const used =
    status.noise === null ? "The noise is being estimated." : `In use: ${short(status.noise)}.`;
  if (!found)
    return {
      title: "Noise",
      state: "blind",
      text: `${used} It cannot be checked: too few options were measured more than once.`,
    };
  const alarm = warnings.find((text) => text.startsWith("The noise is larger"));
  const measured = `Measurements of the same option differ by ${short(found.estimate)} (95 % interval ${short(found.low)} to ${short(found.high)}).`;
  return { title: "Noise", state: alarm ? "alarm" : "fine", text: alarm ?? `${used} ${measured}` };
}
