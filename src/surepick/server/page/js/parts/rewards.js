// What a measurement gives: the question that every new study is asked, and what experts may add.

import { fresh, h, put, write } from "../dom.js";
import { input, number } from "./field.js";

const MEASUREMENT = "What does a measurement give?";

/**
 * The controls, and what they say about the noise in the words of the service (null: nothing
 * needs to be known; undefined: they do not make sense yet).
 *
 * @param {() => void} changed
 */
export function rewardsChoice(changed) {
  const kind = fresh("rewards");
  const about = fresh("noise");
  const any = radio(kind, true);
  const yesNo = radio(kind);
  const between = radio(kind);
  const low = bound("Lowest reward", "0", between);
  const high = bound("Highest reward", "10", between);
  const nothing = radio(about, true);
  const equal = radio(about);
  const known = radio(about);
  const scale = bound("How much measurements vary", "", known);
  /** @type {{radio: HTMLInputElement, noise: string}[]} */
  let words = [{ radio: yesNo, noise: "yes-no" }];
  const others = h("div", {});
  const legend = h("legend", {}, MEASUREMENT);
  const anyNumber = h("span", {}, "A number");
  const advanced = h(
    "fieldset",
    { class: "field" },
    h("legend", {}, "Do you know more about the noise?"),
    h("label", { class: "choice" }, nothing, "No (you do not need to)"),
    h("label", { class: "choice" }, equal, "It is the same for all options"),
    h("label", { class: "choice" }, known, "Its standard deviation is", scale),
    hint(
      "If the noise is normal and the same for all options, saying so saves measurements. A standard deviation that is too small voids the guarantee.",
    ),
  );

  /** @param {string} name @param {boolean} [checked] */
  function radio(name, checked = false) {
    return h("input", { type: "radio", name, checked, onchange: told });
  }

  /** @param {string} label @param {string} value @param {HTMLInputElement} owner */
  function bound(label, value, owner) {
    const choose = () => ((owner.checked = true), told());
    const shown = { inputmode: "decimal", "aria-label": label, value };
    return input({ type: "text", ...shown, oninput: choose });
  }

  function told() {
    advanced.disabled = !any.checked; // bounds say all that is needed
    changed();
  }

  /** @returns {Api.NewStudy["noise"]} */
  function noise() {
    const word = words.find((one) => one.radio.checked);
    if (word) return word.noise;
    if (between.checked) {
      const [from, to] = [number(low), number(high)];
      return from !== null && to !== null && from < to ? { low: from, high: to } : undefined;
    }
    if (equal.checked) return "equal";
    if (!known.checked) return null;
    const given = number(scale);
    return given !== null && given > 0 ? given : undefined;
  }

  return {
    noise,
    /** @param {Api.RewardsOf[]} kinds What one word says; some are known here. */
    offer: (kinds) => {
      const more = kinds.filter((one) => one.noise !== "yes-no");
      const radios = more.map((one) => ({ radio: radio(kind), ...one }));
      words = [...words, ...radios];
      put(
        others,
        radios.map((one) => h("label", { class: "choice" }, one.radio, one.words)),
      );
    },
    /** Yes or no, unless somebody has said something else by now. */
    preferYesNo: () => {
      if (any.checked && nothing.checked) yesNo.checked = true;
      told();
    },
    /** @param {boolean} visits Whether it is visitors who respond, not a measurement. */
    countVisits: (visits) => {
      write(legend, visits ? "What does a visit give?" : MEASUREMENT);
      write(anyNumber, visits ? "A number (visitors are reported in 16 groups)" : "A number");
      equal.disabled = visits;
    },
    /** Whether algorithms that need a scale can do with what was said. */
    scaleKnown: () => !any.checked || known.checked,
    question: h(
      "fieldset",
      { class: "field wide" },
      legend,
      h("label", { class: "choice" }, any, anyNumber),
      h("label", { class: "choice" }, yesNo, "Yes or no (1 or 0)"),
      h("label", { class: "choice" }, between, "A number between", low, "and", high),
      others,
      hint("You need not know anything else. If rewards have bounds, giving them saves measurements."),
    ),
    advanced,
  };
}

/** @type {(text: string) => HTMLElement} */
const hint = (text) => h("span", { class: "hint" }, text);
