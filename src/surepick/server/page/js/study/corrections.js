// For admins: correct or withdraw a reward.

import { post, studyPath } from "../api.js";
import { h } from "../dom.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";

const CAUTION =
  "The guarantee stands if you would make this change whatever the reading had been. For example, you check " +
  "every reading of one day, one device or one list, or every reading that was pointed out, and correct what " +
  "was written down wrongly.";

/**
 * @param {string} name
 * @param {() => void} onChange
 * @param {boolean} [pairs] whether options are compared two at a time
 */
export function correctionForm(name, onChange, pairs = false) {
  const pull = input({ type: "text", inputmode: "numeric" });
  const reward = input({ type: "text", inputmode: "decimal" });
  const reason = input({ type: "text", maxlength: 2000 });
  const error = errorLine();
  const button = h("button", { class: "button small", type: "submit" }, "Change the result");
  const fields = h(
    "form",
    { class: "fields", onsubmit: send },
    field("Sample", pull, `Its number in the list of ${pairs ? "comparisons" : "measurements"}.`),
    field(
      "Result",
      reward,
      pairs
        ? "1: the first is better; 0: the second is; 0.5: neither. Empty: the comparison no longer counts."
        : "The correct reading. Empty: the result no longer counts.",
    ),
    field("Reason", reason, "Anyone who sees the certificate can read this."),
    h("p", { class: "explain" }, CAUTION),
    h("div", { class: "actions" }, button),
    error.element,
  );

  /** @param {SubmitEvent} event */
  function send(event) {
    event.preventDefault();
    const [which, value] = [number(pull), number(reward)];
    if (which === null || !Number.isInteger(which)) return error.say("Give the number of the sample.");
    if (reward.value.trim() && value === null) return error.say("The result is not a number.");
    if (!reason.value.trim()) return error.say("Give a reason; it is stored and appears in the certificate.");
    return submit(button, error, async () => {
      const about = { pull: which, reason: reason.value.trim() };
      if (value === null) await post(studyPath(name, "/acts/withdraw"), about);
      else await post(studyPath(name, "/acts/correct"), { ...about, reward: value });
      for (const one of [pull, reward, reason]) one.value = "";
      onChange();
    });
  }
  const element = h("details", {}, h("summary", {}, "Correct or withdraw a result"), fields);
  /** @type {(which: number, value: number) => void} */
  const open = (which, value) => {
    element.open = true;
    pull.value = String(which);
    reward.value = String(value);
    reward.focus();
    reward.select();
  };
  return { element, open };
}
