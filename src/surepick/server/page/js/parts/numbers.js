// Further numbers of a measurement, and limits that the answer has to keep on them.

import { h } from "../dom.js";
import { input, number } from "./field.js";

const KINDS = [
  ["between", "a number between"],
  ["yes-no", "yes or no (1 or 0)"],
  ["any", "anything: a time, an amount"],
  ["symmetric", "a reading that scatters evenly"],
];
/** What of a number is limited; of numbers of any kind, only quantiles can be. */
const STATISTICS = [
  ["", "its mean is"],
  ["median of ", "its median is"],
  ["p95 of ", "its 95th percentile is"],
  ["p99 of ", "its 99th percentile is"],
  ["p5 of ", "its 5th percentile is"],
];
const SIDES = [
  ["<=", "at most"],
  [">=", "at least"],
];

/** The fields; a row for each further number. */
export function numbersFields() {
  const list = h("div", { class: "further" });
  /** @type {(() => {name: string, known: any, limit: string} | null)[]} */
  let rows = [];
  const add = h(
    "button",
    { class: "button small", type: "button", onclick: () => row().focus() },
    "Add a further number",
  );

  function row() {
    const name = input({ type: "text", maxlength: 80, placeholder: "latency", "aria-label": "Name of the number" });
    const low = input({ type: "text", inputmode: "decimal", value: "0", "aria-label": "Lowest" });
    const high = input({ type: "text", inputmode: "decimal", value: "100", "aria-label": "Highest" });
    const kind = chosen("What it is", KINDS);
    const statistic = chosen("What is limited", STATISTICS);
    const side = chosen("At most or at least", SIDES);
    const target = input({ type: "text", placeholder: "50", "aria-label": "Limit" });
    const remove = h("button", { class: "button small", type: "button" }, "Remove");
    const bounds = h("span", { class: "bounds" }, low, "and", high);
    kind.addEventListener("change", () => {
      bounds.hidden = kind.value !== "between";
      if (kind.value === "any" && !statistic.value) statistic.value = "p95 of ";
    });
    const element = h(
      "fieldset",
      { class: "one-number" },
      h("legend", { class: "unseen" }, "A further number"),
      h("div", { class: "line" }, name, h("span", {}, "is"), kind, bounds),
      h("div", { class: "line" }, h("span", {}, "Limit:"), statistic, side, target, remove),
    );
    function said() {
      const called = name.value.trim();
      if (!called) return null;
      const limit = target.value.trim();
      return {
        name: called,
        known: kind.value === "between" ? { low: number(low), high: number(high) } : kind.value,
        limit: limit && `${statistic.value}${called} ${side.value} ${limit}`,
      };
    }
    rows = [...rows, said];
    remove.addEventListener("click", () => {
      rows = rows.filter((one) => one !== said);
      element.remove();
      add.focus();
    });
    list.append(element);
    return name;
  }

  return {
    element: h(
      "fieldset",
      { class: "field wide" },
      h("legend", {}, "Does it give further numbers, with limits?"),
      list,
      h("div", { class: "actions" }, add),
      h(
        "span",
        { class: "hint" },
        "A measurement may give more than one number, such as accuracy and latency. The study then finds the best of those that keep all limits, and shows that it does; or, with an option under “Compare with” (More settings), all that are better than that one and keep them. A limit is a number (50, 0.2%), with a tolerance (50 ± 2), or a margin to an option (control + 2). Of anything, only percentiles can be limited.",
      ),
    ),
    /** What was said: nothing where there are no further numbers. */
    value() {
      const all = rows.map((said) => said()).filter((one) => one !== null);
      const limits = all.map((one) => one.limit).filter(Boolean);
      return {
        numbers: all.length ? Object.fromEntries(all.map((one) => [one.name, one.known])) : undefined,
        keep: limits.length ? limits : undefined,
      };
    },
  };
}

/**
 * @param {string} label
 * @param {string[][]} choices
 */
const chosen = (label, choices) =>
  h(
    "select",
    { class: "input", "aria-label": label },
    choices.map(([value, words]) => h("option", { value }, words)),
  );
