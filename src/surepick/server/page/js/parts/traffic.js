// Whether options are measured one at a time, or by a site that sends visitors and reports counts.

import { fresh, h } from "../dom.js";
import { field, input } from "./field.js";

/**
 * The question, and what a site is asked besides.
 *
 * @param {() => void} changed
 */
export function trafficChoice(changed) {
  const name = fresh("traffic");
  const single = h("input", { type: "radio", name, checked: true, onchange: told });
  const site = h("input", { type: "radio", name, onchange: told });
  const control = input({ type: "text", placeholder: "none" });
  const share = input({ type: "text", placeholder: "its part, such as 20%" });
  const least = input({ type: "text", placeholder: "0%" });
  const window = input({ type: "text", placeholder: "none" });
  const rules = h(
    "div",
    { class: "fields wide", hidden: true },
    field(
      "Control",
      control,
      "The name of the option that is there today: it always stays. Empty: there is none.",
    ),
    field("What the control keeps", share, "Of all visitors, at least."),
    field("Least share", least, "Of every option that is still in."),
    field(
      "Time to respond",
      window,
      "7d or 12h, say: a period is recorded so long after its end. Empty: at its end.",
    ),
  );

  function told() {
    rules.hidden = !site.checked;
    changed();
  }

  /** @param {HTMLInputElement} one */
  const given = (one) => one.value.trim() || undefined;

  return {
    rules,
    question: h(
      "fieldset",
      { class: "field wide" },
      h("legend", {}, "How are options measured?"),
      h("label", { class: "choice" }, single, "One at a time, by workers"),
      h("label", { class: "choice" }, site, "By a site that sends visitors, and reports counts"),
    ),
    chosen: () => site.checked,
    /** @returns {Api.NewStudy["traffic"]} */
    value: () =>
      site.checked
        ? {
            control: given(control),
            control_share: given(control) && given(share),
            at_least: given(least),
            window: given(window),
          }
        : undefined,
  };
}
