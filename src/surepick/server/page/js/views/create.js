// A new study, from a table of options.

import { post } from "../api.js";
import { h, put } from "../dom.js";
import { oneIn } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { numbersFields } from "../parts/numbers.js";
import { rewardsChoice } from "../parts/rewards.js";
import { settingFields } from "../parts/settings.js";
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
  const numbers = numbersFields();
  const traffic = trafficChoice(trafficChanged);
  const settings = settingFields(scope, rewards.offer, pairsChanged);
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
  const cost = input({ type: "text", placeholder: "none" });
  const error = errorLine();
  const button = h(
    "button",
    { class: "button primary", type: "submit", disabled: true },
    "Start the study",
  );
  const source = tableSource(scope, (found) => {
    table = found;
    // Not while somebody is about to type there: their text would be added to it.
    const free = !name.value && document.activeElement !== name;
    if (found.ready && free) name.value = found.fileName.replace(/\.[^.]*$/, "");
    check();
  });

  /** Where two options are compared, no number is measured, and no model is trusted. */
  function pairsChanged() {
    const pairs = settings.pairs();
    source.forPairs(pairs);
    rewards.question.hidden = pairs;
    traffic.question.hidden = pairs;
    numbers.element.hidden = pairs || traffic.chosen();
    ofNumbers.forEach((one) => (one.hidden = pairs || traffic.chosen()));
    check();
  }

  /** A site has no workers: what is asked about them does not matter there. */
  function trafficChanged() {
    const site = traffic.chosen();
    if (site) rewards.preferYesNo();
    rewards.countVisits(site);
    settings.forSite(site);
    forWorkers.forEach((one) => (one.hidden = site));
    numbers.element.hidden = site;
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
    const noisy = settings.pairs() || rewards.noise() !== undefined;
    const risk = number(delta) ?? 0;
    const sure = risk > 0 && risk < 1;
    const featureless = table.ready && table.spec.unstructured;
    const pairs = settings.pairs();
    const plain = !featureless && !traffic.chosen() && !pairs;
    trust.allow(algorithm.value === ALGORITHMS[0].name && plain);
    const trusted = pairs || trust.misfit() !== undefined;
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
        delta: number(delta),
        ...(await settings.values()),
        ...(settings.pairs() ? {} : ofOneByOne()),
      });
      go(`/studies/${encodeURIComponent(made.name)}`);
    });
  }

  /** What is said of measurements of single options. */
  function ofOneByOne() {
    const noise = rewards.noise();
    return traffic.chosen()
      ? { noise, traffic: traffic.value(), keep: traffic.keep() }
      : { noise, misfit: trust.misfit(), algorithm: algorithm.value, ...numbers.value() };
  }

  const ofNumbers = [
    trust.question,
    field(
      "Algorithm",
      algorithm,
      "The recommended one needs the fewest measurements. The others need to know how much measurements vary.",
    ),
  ];
  const forWorkers = [
    field(
      "Column with costs",
      cost,
      "The cost of measuring each option; the study then spends as little as possible. Empty: all options cost the same.",
    ),
    ...ofNumbers,
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
            field("Error probability", delta, deltaHint),
            settings.first,
            traffic.question,
            traffic.rules,
            rewards.question,
            numbers.element,
          ),
          h(
            "details",
            { class: "fold" },
            h("summary", {}, "More settings"),
            h("div", { class: "fields" }, settings.element, forWorkers),
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
