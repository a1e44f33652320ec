// A place to drop a CSV file: by mouse, by keyboard (a file button), or pasted.

import { fresh, h, icon, put } from "../dom.js";
import { plural } from "../format.js";

const OF_OPTIONS = {
  about: "One row per option, with columns that describe it.",
  example: "label,price,colour\na,1,red\nb,2,blue",
};

/**
 * onText(csv, file name) is called with each table; show(rows) makes the zone small.
 *
 * @param {(csv: string, fileName: string) => void} onText
 * @param {(text: string) => void} onError
 * @param {{about: string, example: string}} [words] what a table has, and one of them
 */
export function dropZone(onText, onError, words = OF_OPTIONS) {
  const id = fresh("file");
  const file = h("input", {
    type: "file",
    id,
    accept: ".csv,text/csv,text/plain",
    class: "unseen",
    onchange: () => read(file.files?.[0]),
  });
  const paste = h("textarea", {
    class: "input",
    "aria-label": "Table as CSV text",
    placeholder: words.example,
    spellcheck: "false",
  });
  const usePaste = h(
    "button",
    { class: "button small", type: "button", onclick: pasted },
    "Use this text",
  );
  /** @type {(words: string, kind: string) => HTMLElement} */
  const chooser = (words, kind) =>
    h("button", { class: `button ${kind}`, type: "button", onclick: () => file.click() }, words);
  const zone = h("div", { class: "drop" });
  const fold = h(
    "details",
    { class: "fold" },
    h("summary", {}, "Or paste the text of a table"),
    h("div", { class: "field" }, paste, h("div", {}, usePaste)),
  );

  function empty() {
    zone.classList.remove("small");
    put(
      zone,
      icon("file"),
      h("p", {}, h("strong", {}, "Drop a CSV file here")),
      h("p", { class: "muted" }, words.about),
      chooser("Choose a file", "primary"),
    );
  }

  /** @param {File | undefined} chosen */
  async function read(chosen) {
    if (!chosen) return;
    file.value = "";
    try {
      onText(await chosen.text(), chosen.name);
    } catch {
      onError(`${chosen.name} could not be read.`);
    }
  }

  function pasted() {
    if (paste.value.trim()) onText(paste.value, "pasted table");
  }

  /** @param {DragEvent} event */
  function drag(event) {
    event.preventDefault();
    zone.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop") read(event.dataTransfer?.files[0]);
  }

  for (const kind of /** @type {const} */ (["dragover", "dragleave", "drop"]))
    zone.addEventListener(kind, drag);
  empty();
  return {
    element: h(
      "div",
      { class: "field" },
      h("label", { class: "unseen", for: id }, "CSV file"),
      file,
      zone,
      fold,
    ),
    clear() {
      paste.value = "";
      fold.open = false;
    },
    /**
     * @param {string} name
     * @param {number} rows
     */
    show(name, rows) {
      zone.classList.add("small");
      fold.open = false;
      put(
        zone,
        h(
          "div",
          { class: "what" },
          icon("file"),
          h(
            "span",
            {},
            h("span", { class: "file-name" }, name),
            h("span", { class: "muted" }, ` · ${plural(rows, "row")}`),
          ),
        ),
        chooser("Another file", "small"),
      );
    },
  };
}
