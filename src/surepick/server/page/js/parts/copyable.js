// Text with a button that copies it.

import { announce } from "../announce.js";
import { h, icon, put } from "../dom.js";

const AGAIN = 2500; // milliseconds until the button is itself again

/**
 * @param {string} text
 * @param {string} what it is called
 */
export function copyable(text, what) {
  const words = h("span", {}, "Copy");
  const button = h(
    "button",
    { class: "button small", type: "button", "aria-label": `Copy ${what}`, onclick: copy },
    icon("copy"),
    words,
  );
  const pre = h("pre", {}, text);

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      put(words, "Copied");
      announce(`${what} copied`);
    } catch {
      // Not allowed, or no secure connection: select it, so that the keyboard can copy it.
      getSelection()?.selectAllChildren(pre);
      put(words, "Selected");
      announce(`${what} selected; copy it with the keyboard`);
    }
    setTimeout(() => put(words, "Copy"), AGAIN);
  }
  return h("div", { class: "copyable" }, pre, button);
}
