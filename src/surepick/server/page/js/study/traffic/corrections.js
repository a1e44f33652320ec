// For admins: correct a report.

import { post, studyPath } from "../../api.js";
import { h, write } from "../../dom.js";
import { dropZone } from "../../parts/drop.js";
import { errorLine, field, input, submit } from "../../parts/field.js";

const CAUTION =
  "The guarantee stands if your choice of what to check again depends neither on the numbers nor on which " +
  "option you favour. Examples are removing bots by one rule for all options, or a day that was exported " +
  "twice. Check all options alike, whether they look good or bad.";

/**
 * @param {string} name
 * @param {() => void} onChange
 */
export function reportCorrectionForm(name, onChange) {
  const period = input({ type: "text", maxlength: 200 });
  const reason = input({ type: "text", maxlength: 2000 });
  const error = errorLine();
  const button = h("button", { class: "button small", type: "submit" }, "Correct the report");
  /** @type {{csv: string, source: string} | null} */
  let table = null;
  const chosen = h("p", { class: "explain" });
  const drop = dropZone(
    (csv, source) => {
      table = { csv, source };
      write(chosen, `${source} replaces the recorded report.`);
    },
    (text) => error.say(text),
    { about: "The whole report of the period.", example: "label,visits,successes\na,990,12" },
  );

  /** @param {SubmitEvent} event */
  function send(event) {
    event.preventDefault();
    if (!period.value.trim()) return error.say("Give the name of the period.");
    if (!reason.value.trim()) return error.say("Give a reason; it is stored and appears in the certificate.");
    if (!table) return error.say("Add the corrected report.");
    return submit(button, error, async () => {
      const about = { period: period.value.trim(), reason: reason.value.trim() };
      await post(studyPath(name, "/acts/correct-report"), { ...about, table });
      for (const one of [period, reason]) one.value = "";
      table = null;
      write(chosen, "");
      drop.clear();
      onChange();
    });
  }
  return h(
    "details",
    { class: "fold" },
    h("summary", {}, "Correct a report"),
    h(
      "form",
      { class: "fields", onsubmit: send },
      field("Period", period, "The name under which it was recorded."),
      field("Reason", reason, "Anyone who sees the certificate can read this."),
      h("div", { class: "wide" }, drop.element, chosen),
      h("p", { class: "explain wide" }, CAUTION),
      h("div", { class: "actions" }, button),
      error.element,
    ),
  );
}
