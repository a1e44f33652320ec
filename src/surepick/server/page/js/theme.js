// Light, dark, or what the system says (the default, until somebody chooses).

import { h, icon, put } from "./dom.js";

const KEY = "surepick-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const current = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");

/** @param {"light" | "dark"} theme */
function choose(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be forbidden: the choice then lasts as long as the page.
  }
}

/** A button that changes between light and dark. */
export function themeButton() {
  const button = h("button", { class: "button small plain", type: "button", onclick: flip });
  function show() {
    const other = current() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Use the ${other} theme`);
    button.title = `Use the ${other} theme`;
    put(button, icon(other === "dark" ? "moon" : "sun"));
  }
  function flip() {
    choose(current() === "dark" ? "light" : "dark");
    show();
  }
  system.addEventListener("change", show);
  show();
  return button;
}
