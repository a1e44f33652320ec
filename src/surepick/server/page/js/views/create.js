// A new study, from a table of options.

import { post } from "../api.js";
import { h, put } from "../dom.js";
import { oneIn } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { rewardsChoice } from "../parts/rewards.js";
import { tableSource } from "../parts/table-source.js";
import { trafficChoice } from "../parts/traffic.js";
import { trustChoice } from "../parts/trust.js";
import { go } from "../router.js";

// Those that need nothing but the options; the first is the default of everything in surepick.
// The others have to know how much measurements vary.
const ALGORITHMS = [
  { name: "pooled-peleg", words: "PooledPeleg (recommended)", needsScale: false },
  { name: "peleg", words: "PELEG: batches of growing size", needsScale: true },
  { name: "rage", words: "RAGE: batches of growing size", needsScale: true },
  { name: "lingape", words: "LinGapE: one measurement at a time", needsScale: true },
  { name: "lingame", words: "LinGame: one measurement at a time", needsScale: true },
  { name: "uniform", words: "Uniform: all options in turn", needsScale: true },
];

/** @type {View} */
export const createView = (scope) => {
  /** @type {Chosen} */
  let table = { ready: false };
  const name = input({ type: "text", required: true, maxlength: 200, oninput: check });
  const rewards = rewardsChoice(rewardsChanged);
  const trust = trustChoice(check);
  const traffic = trafficChoice(trafficChanged);
  const strata = input({ type: "text", placeholder: "day", value: "" });
  const overlap = h(
    "select",
    { class: "input" },
    h("option", { value: "" }, "Start the next batch"),
    h("option", { value: "no" }, "Wait until the batch is complete"),
  );
  const hedge = h(
    "select",
    { class: "input" },
    h("option", { value: "" }, "To nobody else"),
    h("option", { value: "yes" }, "Also to a second worker"),
  );
  const again = h(
    "select",
    { class: "input" },
    h("option", { value: "" }, "Counts as it is"),
    h("option", { value: "yes" }, "Is measured again, and the second reading counts"),
  );
  const delta = input({
    type: "text",
    inputmode: "decimal",
    value: "0.05",
    oninput: () => (deltaSaid(), check()),
  });
  const deltaHint = h("span", {});
  const algorithm = h(
    "select",
    { class: "input", onchange: check },
    ALGORITHMS.map((one) => h("option", { value: one.name }, one.words)),
  );
  const epsilon = input({ type: "text", inputmode: "decimal", value: "0" });
  const baseline = input({ type: "text", placeholder: "none" });
  const cost = input({ type: "text", placeholder: "none" });
  const top = input({ type: "text", inputmode: "numeric", value: "1" });
  const most = input({ type: "text", inputmode: "numeric", placeholder: "1,000,000" });
  const budget = input({ type: "text", inputmode: "decimal", placeholder: "no limit" });
  const guess = h("input", { type: "checkbox" });
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

  /** A site has no workers: what is asked about them does not matter there. */
  function trafficChanged() {
    const site = traffic.chosen();
    if (site) rewards.preferYesNo();
    rewards.countVisits(site);
    forWorkers.forEach((one) => (one.hidden = site));
    rewardsChanged();
  }

  function rewardsChanged() {
    ALGORITHMS.forEach((one, i) => {
      algorithm.options[i].disabled = one.needsScale && !rewards.scaleKnown();
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
        ? `At most ${oneIn(value)} studies like this one names a wrong option.`
        : "A number between 0 and 1.",
    );
  }

  function check() {
    const noisy = rewards.noise() !== undefined;
    const risk = number(delta) ?? 0;
    const sure = risk > 0 && risk < 1;
    const featureless = table.ready && table.spec.unstructured;
    trust.allow(algorithm.value === ALGORITHMS[0].name && !featureless && !traffic.chosen());
    const trusted = trust.misfit() !== undefined;
    button.disabled = !(table.ready && name.value.trim() && noisy && trusted && sure);
  }

  /** @param {SubmitEvent} event */
  function start(event) {
    event.preventDefault();
    return submit(button, error, async () => {
      if (!table.ready) return;
      /** @type {Api.Created} */
      const made = await post("/studies", {
        name: name.value.trim(),
        table: { ...table.spec, cost: (!traffic.chosen() && cost.value.trim()) || undefined },
        source: table.fileName,
        noise: rewards.noise(),
        delta: number(delta),
        epsilon: number(epsilon) ?? 0,
        ...(traffic.chosen() ? { traffic: traffic.value() } : ofWorkers()),
      });
      go(`/studies/${encodeURIComponent(made.name)}`);
    });
  }

  /** What only a study with workers is told. */
  function ofWorkers() {
    return {
      misfit: trust.misfit(),
      strata: strata.value.trim() || null,
      overlap: overlap.value === "no" ? false : undefined,
      hedge: hedge.value === "yes" ? true : undefined,
      again: again.value === "yes" ? true : undefined,
      algorithm: algorithm.value,
      top: number(top) ?? 1,
      baseline: baseline.value.trim() || undefined,
      max_samples: number(most) ?? undefined, // left out, the service sets a limit
      budget: number(budget),
      guess: guess.checked,
    };
  }

  const forWorkers = [
    field(
      "How many of the best",
      top,
      "With 3, for example, the study ends when it knows which three are the best, in any order.",
    ),
    field(
      "Compare with",
      baseline,
      "The name of an option, such as the one you use today. The study then finds which others are better and which are worse. Empty: it looks for the best.",
    ),
    field("Most measurements", most, "Stop after this many, without a guarantee. Empty: after a million."),
    field(
      "Column with costs",
      cost,
      "The cost of measuring each option; the study then spends as little as possible. Empty: all options cost the same.",
    ),
    field(
      "Budget",
      budget,
      "Stop when measurements have cost this much, without a guarantee. Without a column of costs, each costs 1.",
    ),
    field(
      "Spend everything",
      guess,
      "Use the whole budget, or all the measurements allowed, for the best possible guess. The guess is proven only if the evidence is strong enough.",
    ),
    trust.question,
    field(
      "Compare within each",
      strata,
      "Such as day, plate or operator: options are compared within each one, so differences between them cancel out. Empty: none.",
    ),
    field(
      "While others finish a batch, workers",
      overlap,
      "Starting the next batch takes less time and more measurements. It assumes that measurements do not depend on each other.",
    ),
    field(
      "A measurement that takes long is given",
      hedge,
      "The first of the two rewards counts. Use this only if the duration of a measurement has nothing to do with its result.",
    ),
    field(
      "A reading far from all before",
      again,
      "Whoever measures again what looks wrong needs a rule from the start: the answer then names what that adds to the promise. Not for rewards between bounds, nor with a second worker.",
    ),
    field(
      "Algorithm",
      algorithm,
      "The recommended one needs the fewest measurements. The others need to know how much measurements vary.",
    ),
  ];
  deltaSaid();
  rewardsChanged();
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
        h("p", {}, "Start from a table of options and find the best one."),
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
            traffic.question,
            traffic.rules,
            rewards.question,
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
                "Any option this close to the best is accepted. Without this, options with equal means can never be told apart.",
              ),
              rewards.advanced,
              forWorkers,
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
