// Asks before something is done that cannot be undone.

import { fresh, h } from "../dom.js";

/**
 * Resolves to true when the person says yes.
 *
 * @param {string} title
 * @param {string} text
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const id = fresh("confirm");
    const dialog = h(
      "dialog",
      { "aria-labelledby": id },
      h("h2", { id }, title),
      h("p", {}, text),
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          { class: "button", type: "button", autofocus: true, onclick: () => dialog.close() },
          "Cancel",
        ),
        h(
          "button",
          { class: "button danger", type: "button", onclick: () => dialog.close("yes") },
          yes,
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
