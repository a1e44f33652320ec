// A control with its label, a hint, and the error that belongs to it.

import { fresh, h, put } from "../dom.js";

/**
 * field("Name", input, "hint") → element; its control is labelled, its hint read out.
 *
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string | HTMLElement} [hint]
 */
export function field(label, control, hint) {
  const id = fresh("field");
  control.id = id;
  const about = hint instanceof Node ? hint : hint && h("span", {}, hint);
  if (about) {
    about.id = `${id}-hint`;
    about.classList.add("hint");
    control.setAttribute("aria-describedby", about.id);
  }
  return h("div", { class: "field" }, h("label", { for: id }, label), control, about);
}

/** @type {(props: Record<string, any>) => HTMLInputElement} */
export const input = (props) => h("input", { class: "input", autocomplete: "off", ...props });

/**
 * A number as people type it; null where it is none.
 *
 * @param {HTMLInputElement} control
 */
export function number(control) {
  const typed = control.value.trim();
  if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(typed)) return null; // 1,234 may be either
  const text = typed.replace(",", ".");
  return text === "" || !Number.isFinite(Number(text)) ? null : Number(text);
}

/** Where a form says what is wrong. */
export function errorLine() {
  const element = h("p", { class: "error-text", role: "alert" });
  return {
    element,
    /** @type {(text: string) => void} */
    say: (text) => put(element, text),
    clear: () => put(element),
  };
}

/**
 * Run an action of a form: the button waits, the error line says what went wrong.
 *
 * @param {HTMLButtonElement} button
 * @param {ReturnType<typeof errorLine>} error
 * @param {() => Promise<void>} action
 */
export async function submit(button, error, action) {
  error.clear();
  button.disabled = true;
  try {
    await action();
  } catch (problem) {
    if (problem.name === "AbortError") return;
    if (problem.status === undefined) throw problem;
    error.say(problem.message);
  } finally {
    button.disabled = false;
  }
}
