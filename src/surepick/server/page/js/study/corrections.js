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
 * @param {string[]} [numbers] further numbers that every measurement has
 */
export function correctionForm(name, onChange, pairs = false, numbers = []) {
  const pull = input({ type: "text", inputmode: "numeric" });
  const reward = input({ type: "text", inputmode: "decimal" });
  const which = h(
    "select",
    { class: "input" },
    ["", ...numbers].map((one) => h("option", { value: one }, one || "Reward")),
  );
  const reason = input({ type: "text", maxlength: 2000 });
  const error = errorLine();
  const button = h("button", { class: "button small", type: "submit" }, "Change the result");
  const fields = h(
    "form",
    { class: "fields", onsubmit: send },
    field("Measurement", pull, `Its number in the list of ${pairs ? "comparisons" : "measurements"}.`),
    numbers.length > 0 && field("What was wrong", which, "Each number is corrected on its own."),
    field(
      "Result",
      reward,
      pairs
        ? "1: the first is better; 0: the second is; 0.5: neither. Empty: the comparison no longer counts."
        : `The correct reading. Empty: the result no longer counts${numbers.length ? ", nor do its further numbers" : ""}.`,
    ),
    field("Reason", reason, "Anyone who sees the certificate can read this."),
    h("p", { class: "explain" }, CAUTION),
    h("div", { class: "actions" }, button),
    error.element,
  );

  /** @param {SubmitEvent} event */
  function send(event) {
    event.preventDefault();
    const [sample, value] = [number(pull), number(reward)];
    if (sample === null || !Number.isInteger(sample)) return error.say("Give the number of the measurement.");
    if (reward.value.trim() && value === null) return error.say("The result is not a number.");
    if (which.value && value === null) return error.say(`Give the correct ${which.value}. To withdraw, choose Reward.`);
    if (!reason.value.trim()) return error.say("Give a reason; it is stored and appears in the certificate.");
    return submit(button, error, async () => {
      const about = { pull: sample, reason: reason.value.trim() };
      const of = which.value ? { number: which.value } : {};
      if (value === null) await post(studyPath(name, "/acts/withdraw"), about);
      else await post(studyPath(name, "/acts/correct"), { ...about, reward: value, ...of });
      for (const one of [pull, reward, reason]) one.value = "";
      onChange();
    });
  }
  const element = h("details", {}, h("summary", {}, "Correct or withdraw a result"), fields);
  /** @type {(sample: number, value: number) => void} */
  const open = (sample, value) => {
    element.open = true;
    which.value = "";
    pull.value = String(sample);
    reward.value = String(value);
    reward.focus();
    reward.select();
  };
  return { element, open };
}
