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
 */
export function correctionForm(name, onChange) {
  const pull = input({ type: "text", inputmode: "numeric" });
  const reward = input({ type: "text", inputmode: "decimal" });
  const reason = input({ type: "text", maxlength: 2000 });
  const error = errorLine();
  const button = h("button", { class: "button small", type: "submit" }, "Change the reward");
  const fields = h(
    "form",
    { class: "fields", onsubmit: send },
    field("Pull", pull, "Its number in the list of measurements."),
    field("Reward", reward, "The correct reading. Empty: the reward no longer counts."),
    field("Reason", reason, "Anyone who sees the certificate can read this."),
    h("p", { class: "explain" }, CAUTION),
    h("div", { class: "actions" }, button),
    error.element,
  );

  /** @param {SubmitEvent} event */
  function send(event) {
    event.preventDefault();
    const [which, value] = [number(pull), number(reward)];
    if (which === null || !Number.isInteger(which)) return error.say("Give the number of the pull.");
    if (reward.value.trim() && value === null) return error.say("The reward is not a number.");
    if (!reason.value.trim()) return error.say("Give a reason; it is stored and appears in the certificate.");
    return submit(button, error, async () => {
      const about = { pull: which, reason: reason.value.trim() };
      if (value === null) await post(studyPath(name, "/acts/withdraw"), about);
      else await post(studyPath(name, "/acts/correct"), { ...about, reward: value });
      for (const one of [pull, reward, reason]) one.value = "";
      onChange();
    });
  }
  return h("details", {}, h("summary", {}, "Correct or withdraw a reward"), fields);
}
