// For admins: set a day, plate or batch aside, for all options.

import { post, studyPath } from "../api.js";
import { h } from "../dom.js";
import { confirm } from "../parts/confirm.js";
import { errorLine, field, input, submit } from "../parts/field.js";

const CAUTION =
  "Nothing is lost: what is set aside stays on record, and everything is worked out again without it. Named before " +
  "it begins, as the days of a sale can be, it changes nothing about the promise. Otherwise the answer says what " +
  "it rests on. Never set a day aside because of which option won on it: that leads to wrong answers.";

/**
 * @param {string} name
 * @param {() => void} onChange
 * @param {string} of "period", "batch", or what strata are called
 */
export function asideForm(name, onChange, of) {
  const batch = of === "batch";
  const what = input({ type: "text", maxlength: 200, inputmode: batch ? "numeric" : "text" });
  const reason = input({ type: "text", maxlength: 2000 });
  const blind = h("input", { type: "checkbox" });
  const error = errorLine();
  const button = h("button", { class: "button small", type: "submit" }, "Set it aside for all options");
  const key = of === "period" || batch ? of : "stratum";

  /** @param {SubmitEvent} event */
  async function send(event) {
    event.preventDefault();
    const said = what.value.trim();
    if (!said) return error.say(batch ? "Give the number of the batch." : `Give the name of the ${of}.`);
    if (batch && !/^\d+$/.test(said)) return error.say("The number of a batch is a whole number.");
    if (!reason.value.trim()) return error.say("Give a reason; it is stored and appears in the certificate.");
    const question = "It does not count for any option from now on. This cannot be undone.";
    if (!(await confirm(`Set ${of} ${said} aside?`, question, "Set it aside"))) return;
    return submit(button, error, async () => {
      const about = { [key]: batch ? Number(said) : said, reason: reason.value.trim(), blind: blind.checked };
      await post(studyPath(name, "/acts/set-aside"), about);
      for (const one of [what, reason]) one.value = "";
      blind.checked = false;
      onChange();
    });
  }
  const hint = batch
    ? "Complete batches are numbered from 0."
    : `Its name, also of a ${of} still to come${of === "day" ? ", such as 2026-11-27" : ""}.`;
  const unseen =
    `It was decided without seeing any results of that ${of} or a later one` +
    (of === "period" ? ", such as by the number of visits alone" : "");
  const label = of === "period" ? "Period to set aside" : batch ? "Batch" : of[0].toUpperCase() + of.slice(1);
  return h(
    "details",
    { class: "fold" },
    h("summary", {}, `Set a ${of} aside`),
    h(
      "form",
      { class: "fields", onsubmit: send },
      field(label, what, hint),
      field("Why", reason, "Anyone who sees the certificate can read this."),
      h("label", { class: "choice wide" }, blind, unseen),
      h("p", { class: "explain wide" }, CAUTION),
      h("div", { class: "actions" }, button),
      error.element,
    ),
  );
}
