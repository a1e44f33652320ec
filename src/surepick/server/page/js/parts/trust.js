// How far features are trusted: what the guarantee of a new study rests on.

import { fresh, h } from "../dom.js";
import { input, number } from "./field.js";

/**
 * The controls, and what they say in the words of the service (null: whatever suits the table and
 * the algorithm; undefined: they do not make sense yet).
 *
 * @param {() => void} changed
 */
export function trustChoice(changed) {
  const name = fresh("trust");
  const guide = radio(true);
  const nearly = radio();
  const linear = radio();
  const size = input({
    type: "text",
    inputmode: "decimal",
    "aria-label": "How far features may be wrong",
    value: "",
    oninput: () => ((nearly.checked = true), changed()),
  });
  const question = h(
    "fieldset",
    { class: "field wide" },
    h("legend", {}, "How much do you trust the features?"),
    h("label", { class: "choice" }, guide, "Not at all: they only guide"),
    h("label", { class: "choice" }, nearly, "They are right to within", size),
    h("label", { class: "choice" }, linear, "Rewards are linear in them"),
    h(
      "span",
      { class: "hint" },
      "The first choice holds even if the features are wrong, but every option must be measured. Trusting features saves measurements, but the answer is then only as good as the features. Only the recommended algorithm works without trust.",
    ),
  );

  function radio(checked = false) {
    return h("input", { type: "radio", name, checked, onchange: () => changed() });
  }

  return {
    question,
    /** @param {boolean} can Whether there are features, and the algorithm can do without trust. */
    allow: (can) => {
      question.disabled = !can;
    },
    /** @returns {Api.NewStudy["misfit"]} */
    misfit: () => {
      if (question.disabled || guide.checked) return null;
      if (linear.checked) return 0;
      const given = number(size);
      return given !== null && given > 0 ? given : undefined;
    },
  };
}
