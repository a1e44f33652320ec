// How much may be measured, what is spent of it; and for admins, the way to change it.

import { post, studyPath } from "../api.js";
import { h, write } from "../dom.js";
import { count, short } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { isAdmin } from "../session.js";

const WHEN =
  "What was already asked for is still measured. A study that ended at a limit continues " +
  "if the new limit is higher. The guarantee does not depend on limits.";

/**
 * What is spent and left, as sentences.
 *
 * @param {Api.Limits} limits
 * @param {number} samples
 */
export function spentAndLeft(limits, samples) {
  const said = [];
  if (limits.budget !== null)
    said.push(
      `${short(limits.spent)} of ${short(limits.budget)} spent` +
        `${limits.in_money ? "" : " (measurements)"}, ${short(limits.left ?? 0)} left.`,
    );
  if (limits.cells !== null && limits.cells <= (limits.max_samples ?? limits.cells))
    said.push(`${count(samples)} of at most ${count(limits.cells)} measurements: the whole table has no more.`);
  else if (limits.max_samples !== null)
    said.push(
      `${count(samples)} of at most ${count(limits.max_samples)} measurements, ` +
        `${count(limits.samples_left ?? 0)} left.`,
    );
  return said.join(" ") || "No limit is set: the study ends when the question is answered.";
}

/**
 * @param {string} name
 * @param {() => void} onChange
 * @returns {Card}
 */
export function limitsCard(name, onChange) {
  function form() {
    const budget = input({ type: "text", inputmode: "decimal" });
    const most = input({ type: "text", inputmode: "numeric" });
    const reason = input({ type: "text", maxlength: 2000 });
    const error = errorLine();
    const button = h("button", { class: "button small", type: "submit" }, "Change them");
    /** @param {SubmitEvent} event */
    function onsubmit(event) {
      event.preventDefault();
      return submit(button, error, async () => {
        const given = { budget: number(budget), max_samples: number(most) };
        if (given.budget === null && given.max_samples === null)
          return error.say("Give a number for the limit you want to change.");
        await post(studyPath(name, "/acts/limit"), { ...given, reason: reason.value.trim() });
        for (const control of [budget, most, reason]) control.value = "";
        return onChange();
      });
    }
    const all = h(
      "form",
      { class: "fields", onsubmit },
      field("Budget", budget, "Total cost of all measurements, including those so far. Empty: no change."),
      field("Most measurements", most, "Including those so far. Empty: no change."),
      field("Reason", reason, "Anyone who sees the certificate can read this."),
      h("p", { class: "explain" }, WHEN),
      h("div", { class: "actions" }, button),
      error.element,
    );
    return h("details", {}, h("summary", {}, "Change limits"), all);
  }

  const said = h("p", { class: "explain number" });
  return {
    element: h(
      "section",
      { class: "card", "aria-label": "Limits" },
      h("h2", {}, "Limits"),
      said,
      isAdmin() && form(),
    ),
    update({ status }) {
      write(said, spentAndLeft(status.limits, status.samples));
    },
  };
}
