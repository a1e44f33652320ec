// What to show when there is nothing to show: loading, nothing yet, an error, not allowed.

import { h, icon } from "../dom.js";

/**
 * Grey shapes while something loads.
 *
 * @param {...string} shapes
 */
export const bones = (...shapes) =>
  h(
    "div",
    { class: "bones", role: "status", "aria-label": "Loading" },
    (shapes.length ? shapes : ["", "tall", "tall"]).map((shape) =>
      h("div", { class: `bone ${shape}` }),
    ),
  );

/**
 * A quiet page with a sign, a sentence, and what to do next.
 *
 * @param {Parameters<typeof icon>[0]} sign
 * @param {string} title
 * @param {string} text
 * @param {...any} actions
 */
export const blank = (sign, title, text, ...actions) =>
  h(
    "div",
    { class: "card blank" },
    icon(sign, "sign"),
    h("h2", {}, title),
    h("p", { class: "breakable" }, text),
    actions.length > 0 && h("div", { class: "actions" }, actions),
  );

/**
 * An error that hit the whole view, in the words of the service.
 *
 * @param {{status: number, message: string}} error
 * @param {() => void} [again]
 */
export function failed(error, again) {
  if (error.status === 403) return notAllowed(error.message);
  if (error.status === 404) {
    return blank(
      "unknown",
      "Not here",
      error.message,
      h("a", { class: "button", href: "#/studies" }, "All studies"),
    );
  }
  const title = error.status === 0 ? "The service cannot be reached" : "That did not work";
  return blank(
    "alarm",
    title,
    error.message,
    again && h("button", { class: "button primary", type: "button", onclick: again }, "Try again"),
  );
}

/** @type {(text: string) => HTMLElement} */
export const notAllowed = (text) =>
  blank(
    "lock",
    "Your token does not allow this",
    text,
    h("a", { class: "button", href: "#/studies" }, "All studies"),
  );

/** @satisfies {Record<string, Parameters<typeof icon>[0]>} */
const SIGNS = { bad: "alarm", caution: "alarm", good: "fine", "": "unknown" };

/**
 * A message beside a sign.
 *
 * @param {keyof typeof SIGNS} kind
 * @param {...any} children
 */
export const notice = (kind, ...children) =>
  h("div", { class: `notice ${kind}` }, icon(SIGNS[kind]), h("div", {}, children));
