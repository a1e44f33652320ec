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
  const share = input({ type: "text", placeholder: "its share, such as 20%" });
  const least = input({ type: "text", placeholder: "0%" });
  const lasts = input({ type: "text", placeholder: "none" });
  const window = input({ type: "text", placeholder: "none" });
  const guardrails = h("textarea", { class: "input", rows: 2, placeholder: "none" });
  const rules = h(
    "div",
    { class: "fields wide", hidden: true },
    field(
      "Control",
      control,
      "The option in use today; it always keeps a share. Empty: none.",
    ),
    field("Share of the control", share, "At least this share of all visitors."),
    field("Least share", least, "For every option that is still in."),
    field(
      "Least time",
      lasts,
      "Such as 7d: the test runs this long at least. A full week is a good choice.",
    ),
    field(
      "Time to respond",
      window,
      "Such as 7d or 12h: a period can be recorded this long after it ends. Empty: as soon as it ends.",
    ),
    field(
      "Guardrails",
      guardrails,
      "One per line, such as refunds <= control + 0.2%: the best version that keeps them is found; or, with a " +
        "version under “Compare with” (More settings), all that are better than that one and keep them. Reports " +
        "then have a column refunds, with the number of visits that led to one. A limit that is a number " +
        "(refunds <= 1%) is not protected against changes of the whole site; a margin to an option is.",
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
      h("label", { class: "choice" }, site, "By a website that splits its visitors and reports counts"),
    ),
    chosen: () => site.checked,
    /** Limits that versions have to keep. */
    keep: () => {
      const lines = guardrails.value.split("\n").map((one) => one.trim());
      const said = lines.filter((one) => one);
      return site.checked && said.length ? said : undefined;
    },
    /** @returns {Api.NewStudy["traffic"]} */
    value: () =>
      site.checked
        ? {
            control: given(control),
            control_share: given(control) && given(share),
            at_least: given(least),
            lasts: given(lasts),
            window: given(window),
          }
        : undefined,
  };
}
