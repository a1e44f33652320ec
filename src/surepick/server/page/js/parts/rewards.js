// What a measurement gives: the question that every new study is asked.

import { fresh, h, put, write } from "../dom.js";
import { input, number } from "./field.js";

const MEASUREMENT = "What does a measurement give?";
const ANY = "Anything else: a time, an amount of money, a count";
const OF_MEASUREMENTS =
  "If it is anything else, nothing is assumed about it: the best option is the one that usually wins a comparison of two. Otherwise it is the one with the best mean. A standard deviation that is too small voids the guarantee.";
const OF_VISITS =
  "The best version is the one with the best mean. A number without bounds has to scatter evenly, as often above its mean as below: amounts of money do not, so give bounds for them if there are any. Put each visitor into one of 16 groups at random and for good (a hash of who they are), and report visits and sum of each group, called bucket 0 to 15.";

/**
 * The controls, and what they say about the noise in the words of the service (null: nothing is
 * said; undefined: they do not make sense yet).
 *
 * @param {() => void} changed
 */
export function rewardsChoice(changed) {
  const kind = fresh("rewards");
  const any = radio(true);
  const yesNo = radio();
  const between = radio();
  const low = bound("Lowest reward", "0", between);
  const high = bound("Highest reward", "10", between);
  const even = radio();
  const equal = radio();
  const known = radio();
  const scale = bound("How much measurements vary", "", known);
  /** @type {{radio: HTMLInputElement, noise: string}[]} */
  let words = [
    { radio: yesNo, noise: "yes-no" },
    { radio: even, noise: "symmetric" },
    { radio: equal, noise: "equal" },
  ];
  const others = h("div", {});
  const legend = h("legend", {}, MEASUREMENT);
  const anyNumber = h("span", {}, ANY);
  const explained = hint(OF_MEASUREMENTS);

  function radio(checked = false) {
    return h("input", { type: "radio", name: kind, checked, onchange: changed });
  }

  /** @param {string} label @param {string} value @param {HTMLInputElement} owner */
  function bound(label, value, owner) {
    const choose = () => ((owner.checked = true), changed());
    const shown = { inputmode: "decimal", "aria-label": label, value };
    return input({ type: "text", ...shown, oninput: choose });
  }

  const evenly = h(
    "label",
    { class: "choice" },
    even,
    "A reading that scatters evenly: as likely too high as too low",
  );
  const alike = h(
    "label",
    { class: "choice" },
    equal,
    "The same, with normal noise that is equal for all options",
  );

  /** @returns {Api.NewStudy["noise"]} */
  function noise() {
    const word = words.find((one) => one.radio.checked);
    if (word) return word.noise;
    if (between.checked) {
      const [from, to] = [number(low), number(high)];
      return from !== null && to !== null && from < to ? { low: from, high: to } : undefined;
    }
    if (!known.checked) return null;
    const given = number(scale);
    return given !== null && given > 0 ? given : undefined;
  }

  return {
    noise,
    /** @param {Api.RewardsOf[]} kinds What one word says; some are known here. */
    offer: (kinds) => {
      const here = ["any", ...words.map((one) => one.noise)];
      const more = kinds.filter((one) => !here.includes(one.noise));
      const radios = more.map((one) => ({ radio: radio(), ...one }));
      words = [...words, ...radios];
      put(
        others,
        radios.map((one) => h("label", { class: "choice" }, one.radio, one.words)),
      );
    },
    /** Yes or no, unless somebody has said something else by now. */
    preferYesNo: () => {
      if (any.checked) yesNo.checked = true;
      changed();
    },
    /** @param {boolean} visits Whether it is visitors who respond, not a measurement. */
    countVisits: (visits) => {
      write(legend, visits ? "What does a visit give?" : MEASUREMENT);
      write(anyNumber, visits ? "A number without bounds, reported for 16 groups of visitors" : ANY);
      write(explained, visits ? OF_VISITS : OF_MEASUREMENTS);
      evenly.hidden = alike.hidden = visits;
      if (visits && (even.checked || equal.checked)) any.checked = true;
    },
    /** Whether algorithms that need a scale can do with what was said. */
    scaleKnown: () => yesNo.checked || between.checked || known.checked,
    question: h(
      "fieldset",
      { class: "field wide" },
      legend,
      h("label", { class: "choice" }, yesNo, "Yes or no (1 or 0)"),
      h("label", { class: "choice" }, between, "A number between", low, "and", high),
      evenly,
      alike,
      h("label", { class: "choice" }, known, "A reading with a standard deviation of", scale),
      others,
      h("label", { class: "choice" }, any, anyNumber),
      explained,
    ),
  };
}

/** @type {(text: string) => HTMLElement} */
const hint = (text) => h("span", { class: "hint" }, text);
