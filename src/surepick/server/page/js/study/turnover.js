// Options that were added or retired, with who, when and why; and for admins, the way to do it.

import { get, post, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { date, moment, plural } from "../format.js";
import { errorLine, field, input, submit } from "../parts/field.js";
import { isAdmin } from "../session.js";

const WHEN =
  "What is open is finished first. The answer is the best of all options that were ever added and not " +
  "retired, and the guarantee stands, whatever the reason.";

/**
 * @param {string} name
 * @param {import("../router.js").Scope} scope
 * @param {() => void} onChange
 * @returns {Card}
 */
export function turnoverCard(name, scope, onChange) {
  let known = -1;
  const said = h("p", { class: "explain" });
  const list = h("ul", {});
  const box = h(
    "div",
    { class: "log", tabindex: "0", role: "region", "aria-label": "Option changes", hidden: true },
    list,
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Options that come and go" },
    h("h2", {}, "Options that come and go"),
    said,
    box,
    isAdmin() && adding(),
    isAdmin() && retiring(),
  );

  /** @param {Api.OptionChangeRow[]} changes */
  function show(changes) {
    element.hidden = !changes.length && !isAdmin();
    box.hidden = !changes.length;
    write(
      said,
      changes.length
        ? `${plural(changes.length, "change")} since the study began.`
        : "Options can be added, and retired, while the study is under way.",
    );
    put(list, changes.slice().reverse().map(line));
  }

  /** @param {Api.OptionChangeRow} change */
  function line(change) {
    const by = change.by ? `, says ${change.by}` : "";
    const reason = change.reason ? `: ${change.reason}` : "";
    return h(
      "li",
      {},
      h("time", { datetime: date(change.at).toISOString() }, moment(change.at)),
      h(
        "span",
        { class: "what" },
        h("strong", {}, change.labels.join(", ")),
        ` ${change.change}${by}${reason}`,
      ),
    );
  }

  async function load() {
    try {
      /** @type {Api.OptionChangeList} */
      const found = await get(studyPath(name, "/options"), { signal: scope.signal });
      show(found.changes);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = -1; // the page says elsewhere that the service is gone; the next status asks again
    }
  }

  function adding() {
    const table = h("textarea", { class: "input", rows: 4, spellcheck: "false" });
    const reason = input({ type: "text", maxlength: 2000 });
    return form("Add options", "Add them", [table, reason], [
      field("Table", table, "CSV with the columns of the first table: their names, then a line for each option."),
      field("Reason", reason, "Everybody who sees the certificate can read it."),
    ], () => {
      if (!table.value.trim()) return "Paste a table of the new options.";
      const body = { table: { csv: table.value }, reason: reason.value.trim() };
      return post(studyPath(name, "/options"), body);
    });
  }

  function retiring() {
    const label = input({ type: "text" });
    const reason = input({ type: "text", maxlength: 2000 });
    return form("Retire an option", "Retire it", [label, reason], [
      field("Option", label, "Its name. It is not measured any more, and cannot be the answer."),
      field("Reason", reason, "Everybody who sees the certificate can read it."),
    ], () => {
      if (!label.value.trim()) return "Which option?";
      if (!reason.value.trim()) return "Say why: it is kept, and part of the certificate.";
      const body = { label: label.value, reason: reason.value.trim() };
      return post(studyPath(name, "/retire"), body);
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

  return {
    element,
    update({ status }) {
      if (status.revision === known) return;
      known = status.revision;
      load();
    },
  };
}
