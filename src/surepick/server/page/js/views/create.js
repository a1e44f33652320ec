// A new study, from a table of options.

import { post } from "../api.js";
import { h, put } from "../dom.js";
import { oneIn, sureness } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { tableSource } from "../parts/table-source.js";
import { go } from "../router.js";

// Those that need nothing but the options; the first is the default of everything in surepick.
// Noise can be estimated first only by those that measure in batches.
const ALGORITHMS = [
  { name: "pooled-peleg", words: "PooledPeleg (recommended)", batches: true },
  { name: "peleg", words: "PELEG: batches of growing size", batches: true },
  { name: "rage", words: "RAGE: batches of growing size", batches: true },
  { name: "lingape", words: "LinGapE: one measurement at a time", batches: false },
  { name: "lingame", words: "LinGame: one measurement at a time", batches: false },
  { name: "uniform", words: "Uniform: all options in turn", batches: false },
];

/** @type {View} */
export const createView = (scope) => {
  /** @type {Chosen} */
  let table = { ready: false };
  const name = input({ type: "text", required: true, maxlength: 200, oninput: check });
  const known = h("input", {
    type: "radio",
    name: "noise",
    value: "known",
    checked: true,
    onchange: noiseChanged,
  });
  const guess = h("input", {
    type: "radio",
    name: "noise",
    value: "estimate",
    onchange: noiseChanged,
  });
  const noise = input({
    type: "text",
    inputmode: "decimal",
    value: "1",
    "aria-label": "Noise of one measurement",
    oninput: check,
  });
  const delta = input({
    type: "text",
    inputmode: "decimal",
    value: "0.05",
    oninput: () => (deltaSaid(), check()),
  });
  const deltaHint = h("span", {});
  const algorithm = h(
    "select",
    { class: "input" },
    ALGORITHMS.map((one) => h("option", { value: one.name }, one.words)),
  );
  const epsilon = input({ type: "text", inputmode: "decimal", value: "0" });
  const most = input({ type: "text", inputmode: "numeric", placeholder: "no limit" });
  const error = errorLine();
  const button = h(
    "button",
    { class: "button primary", type: "submit", disabled: true },
    "Start the study",
  );
  const source = tableSource(scope, (found) => {
    table = found;
    if (found.ready && !name.value) name.value = found.fileName.replace(/\.[^.]*$/, "");
    check();
  });

  function noiseChanged() {
    noise.disabled = guess.checked;
    ALGORITHMS.forEach((one, i) => {
      algorithm.options[i].disabled = guess.checked && !one.batches;
    });
    if (algorithm.selectedOptions[0].disabled) algorithm.value = ALGORITHMS[0].name;
    check();
  }

  function deltaSaid() {
    const value = number(delta);
    const good = value !== null && value > 0 && value < 1;
    put(
      deltaHint,
      good
        ? `The answer is right with probability ${sureness(value)} or more; wrong ${oneIn(value)} times at most.`
        : "A number between 0 and 1.",
    );
  }

  function check() {
    const noisy = guess.checked || (number(noise) ?? 0) > 0;
    const risk = number(delta) ?? 0;
    const sure = risk > 0 && risk < 1;
    button.disabled = !(table.ready && name.value.trim() && noisy && sure);
  }

  /** @param {SubmitEvent} event */
  function start(event) {
    event.preventDefault();
    return submit(button, error, async () => {
      if (!table.ready) return;
      /** @type {Api.Created} */
      const made = await post("/studies", {
        name: name.value.trim(),
        table: table.spec,
        source: table.fileName,
        noise: guess.checked ? "estimate" : number(noise),
        delta: number(delta),
        algorithm: algorithm.value,
        epsilon: number(epsilon) ?? 0,
        max_samples: number(most),
      });
      go(`/studies/${encodeURIComponent(made.name)}`);
    });
  }

  deltaSaid();
  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", {}, "New study"),
        h("p", {}, "From a table of options to the best of them."),
      ),
    ),
    h(
      "form",
      { class: "two", onsubmit: start },
      h(
        "div",
        { class: "main" },
        h(
          "section",
          { class: "card", "aria-label": "Options" },
          h("h2", {}, "1. Options"),
          source.table,
        ),
        h(
          "section",
          { class: "card", "aria-label": "Settings" },
          h("h2", {}, "2. Settings"),
          h(
            "div",
            { class: "fields" },
            field("Name of the study", name),
            field("Error probability δ", delta, deltaHint),
            h(
              "fieldset",
              { class: "field" },
              h("legend", {}, "Noise of one measurement"),
              h("label", { class: "choice" }, known, "Known:", noise),
              h("label", { class: "choice" }, guess, "Estimate it first"),
              h(
                "span",
                { class: "hint" },
                "Its standard deviation, or half the range of bounded rewards. Too small a value voids the guarantee; an estimate makes it approximate.",
              ),
            ),
            field("Algorithm", algorithm, "The recommended one needs the fewest measurements."),
          ),
          h(
            "details",
            { class: "fold" },
            h("summary", {}, "More settings"),
            h(
              "div",
              { class: "fields" },
              field(
                "Close enough ε",
                epsilon,
                "Any option this close to the best will do. Options with equal means cannot be told apart otherwise.",
              ),
              field("Most measurements", most, "Stop there, without a guarantee."),
            ),
          ),
        ),
      ),
      h(
        "div",
        { class: "side" },
        source.preview,
        h("div", { class: "field" }, button, error.element),
      ),
    ),
  );
};
