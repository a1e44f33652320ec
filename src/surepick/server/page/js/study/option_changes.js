// For admins: add and retire options.

import { post, studyPath } from "../api.js";
import { h } from "../dom.js";
import { errorLine, field, input, submit } from "../parts/field.js";

const WHEN =
  "The open batch is finished first. The answer is the best of all options that were added and not " +
  "retired, and the guarantee stands, whatever your reason.";

/**
 * @param {string} name
 * @param {() => void} onChange
 */
export function optionForms(name, onChange) {
  function adding() {
    const table = h("textarea", { class: "input", rows: 4, spellcheck: "false" });
    const reason = input({ type: "text", maxlength: 2000 });
    return form("Add options", "Add them", [table, reason], [
      field("Table", table, "CSV with the same columns as the first table: a header line, then one line per option."),
      field("Reason", reason, "Anyone who sees the certificate can read this."),
    ], () => {
      if (!table.value.trim()) return "Paste a table of the new options.";
      const body = { table: { csv: table.value }, reason: reason.value.trim() };
      return post(studyPath(name, "/acts/add"), body);
    });
  }

  function retiring() {
    const label = input({ type: "text" });
    const reason = input({ type: "text", maxlength: 2000 });
    return form("Retire an option", "Retire it", [label, reason], [
      field("Option", label, "The name of the option. It is no longer measured and cannot be the answer."),
      field("Reason", reason, "Anyone who sees the certificate can read this."),
    ], () => {
      if (!label.value.trim()) return "Which option?";
      if (!reason.value.trim()) return "Give a reason; it is stored and appears in the certificate.";
      const body = { label: label.value, reason: reason.value.trim() };
      return post(studyPath(name, "/acts/retire"), body);
    });
  }

  /**
   * @param {string} title
   * @param {string} verb
   * @param {(HTMLInputElement | HTMLTextAreaElement)[]} controls
   * @param {HTMLElement[]} fields
   * @param {() => string | Promise<any>} send a complaint, or what is under way
   */
  function form(title, verb, controls, fields, send) {
    const error = errorLine();
    const button = h("button", { class: "button small", type: "submit" }, verb);
    /** @param {SubmitEvent} event */
    function onsubmit(event) {
      event.preventDefault();
      return submit(button, error, async () => {
        const done = send();
        if (typeof done === "string") return error.say(done);
        await done;
        for (const one of controls) one.value = "";
        return onChange();
      });
    }
    const all = h(
      "form",
      { class: "fields", onsubmit },
      ...fields,
      h("p", { class: "explain" }, WHEN),
      h("div", { class: "actions" }, button),
      error.element,
    );
    return h("details", {}, h("summary", {}, title), all);
  }

  return [adding(), retiring()];
}
