// A table of options and what of it describes them: ticked columns, a formula, or nothing at all.
// The service is asked about every change, so that one sees what would become of it.

import { post } from "../api.js";
import { fresh, h, put } from "../dom.js";
import { count, plural } from "../format.js";
import { dropZone } from "./drop.js";
import { field, input } from "./field.js";
import { notice } from "./states.js";

const PAUSE = 250; // milliseconds without a change before the service is asked

/**
 * onChange({ready, spec, fileName}) tells the form whether there is a problem to solve.
 *
 * @param {import("../router.js").Scope} scope
 * @param {(chosen: Chosen) => void} onChange
 */
export function tableSource(scope, onChange) {
  let csv = "";
  let fileName = "";
  /** @type {Api.TableColumn[]} */
  let columns = [];
  /** @type {"features" | "formula" | "none"} */
  let mode = "features";
  let timer = 0;
  let asked = 0;
  let paired = false; // then columns are for judges, and nothing is fitted to them

  const drop = dropZone(take, (text) => put(preview, notice("bad", text)));
  const chosen = h("div", { class: "chosen" });
  const preview = h("div", {
    class: "card",
    "aria-live": "polite",
    "aria-label": "How the table is read",
    role: "group",
  });
  const label = h("select", { class: "input", onchange: relabelled });
  const list = h("ul", { class: "columns" });
  const formula = input({
    type: "text",
    placeholder: "price + C(colour)*C(layout)",
    spellcheck: "false",
    oninput: later,
  });
  const group = fresh("mode");
  /** @type {(value: typeof mode, words: string) => HTMLElement} */
  const radio = (value, words) =>
    h(
      "label",
      { class: "choice" },
      h("input", {
        type: "radio",
        name: group,
        value,
        checked: value === mode,
        onchange: () => setMode(value),
      }),
      words,
    );
  const featureBox = h("div", {}, list);
  const formulaBox = h(
    "div",
    { hidden: true },
    field(
      "Formula",
      formula,
      "C(size) turns a column of numbers into categories; a*b means a, b and their interaction.",
    ),
  );
  const noneBox = h(
    "p",
    { class: "explain", hidden: true },
    "Nothing is assumed about how options are related, so each of them must be measured often. Meaningful features save most of these measurements.",
  );

  /**
   * @param {string} text
   * @param {string} name
   */
  function take(text, name) {
    csv = text;
    fileName = name;
    columns = [];
    explore();
  }

  /** The first look at a table: which columns there are. */
  async function explore() {
    const found = await ask({ csv });
    if (!found) return;
    if (!found.columns.length) {
      put(chosen);
      show(found);
      return;
    }
    drop.show(fileName, found.rows);
    columns = found.columns;
    const guess = found.label ?? "";
    put(
      label,
      h("option", { value: "" }, "Row numbers"),
      columns.map((one) =>
        h("option", { value: one.name, selected: one.name === guess }, one.name),
      ),
    );
    label.value = guess;
    fillColumns((one) => one.feature);
    // A list of names is a table, too: nothing else says what options are like.
    mode = columns.some((one) => one.feature) ? "features" : "none";
    put(
      chosen,
      h(
        "fieldset",
        { class: "describes", hidden: paired },
        h("legend", {}, "What describes an option?"),
        radio("features", "These columns"),
        radio("formula", "A formula, with interactions"),
        radio("none", "Nothing: options have no features"),
      ),
      featureBox,
      formulaBox,
      noneBox,
      field("Names of the options", label),
    );
    showMode();
    refresh();
  }

  /** @param {(column: Api.TableColumn) => boolean} ticked */
  function fillColumns(ticked) {
    put(
      list,
      columns
        .filter((one) => one.name !== label.value)
        .map((one) =>
          h(
            "li",
            {},
            h(
              "label",
              {},
              h("input", {
                type: "checkbox",
                value: one.name,
                checked: ticked(one),
                onchange: later,
              }),
              h("span", { class: "name" }, one.name),
              h(
                "span",
                { class: "about" },
                about(one),
                one.missing > 0 &&
                  h("span", { class: "missing" }, ` · ${plural(one.missing, "cell")} empty`),
              ),
            ),
          ),
        ),
    );
  }

  const ticks = () => {
    /** @type {NodeListOf<HTMLInputElement>} */
    const found = list.querySelectorAll("input:checked");
    return [...found].map((one) => one.value);
  };

  function relabelled() {
    const before = new Set(ticks());
    fillColumns((one) => before.has(one.name));
    later();
  }

  function showMode() {
    featureBox.hidden = paired || mode !== "features";
    formulaBox.hidden = paired || mode !== "formula";
    noneBox.hidden = paired || mode !== "none";
  }

  /** @param {typeof mode} value */
  function setMode(value) {
    mode = value;
    showMode();
    if (csv) later();
  }

  /** @param {boolean} is Whether options are compared two at a time. */
  function forPairs(is) {
    if (is === paired) return;
    paired = is;
    for (const one of chosen.querySelectorAll("fieldset")) one.hidden = is;
    setMode(mode);
  }

  /** @returns {Api.TableBody} */
  function spec() {
    const made = { csv, label: label.value || null };
    if (paired) return { ...made, unstructured: true };
    if (mode === "formula") return { ...made, formula: formula.value };
    if (mode === "none") return { ...made, unstructured: true };
    return { ...made, features: ticks() };
  }

  function later() {
    clearTimeout(timer);
    onChange({ ready: false });
    timer = setTimeout(refresh, PAUSE);
  }

  async function refresh() {
    const wanted = spec();
    if (!paired && mode === "formula" && !wanted.formula?.trim()) {
      show({ problem: null, error: "Write a formula." });
      return;
    }
    const found = await ask(wanted);
    if (!found) return;
    show(found);
    if (found.problem) onChange({ ready: true, spec: wanted, fileName });
  }

  /**
   * What the service says about it; nothing if something newer was asked in the meantime.
   *
   * @param {Api.TableBody} body
   * @returns {Promise<Api.TableContent | null>}
   */
  async function ask(body) {
    asked += 1;
    const mine = asked;
    try {
      const found = await post("/tables", body, { signal: scope.signal });
      return mine === asked ? found : null;
    } catch (problem) {
      if (mine === asked && problem.name !== "AbortError")
        show({ problem: null, error: problem.message });
      return null;
    }
  }

  /** @param {Pick<Api.TableContent, "problem" | "error">} found */
  function show({ problem, error }) {
    onChange({ ready: false });
    if (!problem) {
      put(preview, h("h2", {}, "How the table is read"), notice("caution", error));
      return;
    }
    put(
      preview,
      h("h2", {}, "How the table is read"),
      h(
        "div",
        { class: "big-figures" },
        figure(problem.options, "different options"),
        !paired && figure(problem.rank, "effects to learn"),
      ),
      paired &&
        h("p", { class: "explain" }, "Judges see the texts and links of its columns, not the names."),
      !paired &&
        problem.notes.length > 0 &&
        h(
          "ul",
          { class: "note-list" },
          problem.notes.map((text) => h("li", {}, text)),
        ),
    );
  }

  put(
    preview,
    h("h2", {}, "How the table is read"),
    h(
      "p",
      { class: "explain" },
      "Choose a table to see how many options it has, how they are described, and which columns would be left out.",
    ),
  );
  scope.atEnd(() => clearTimeout(timer));
  return { table: h("div", { class: "main" }, drop.element, chosen), preview, forPairs };
}

/** @param {Api.TableColumn} column */
function about({ kind, levels, examples }) {
  const some = examples.join(", ");
  const rest = levels > examples.length ? ", …" : "";
  return kind === "number"
    ? `number · ${some}${rest}`
    : `${plural(levels, "level")} · ${some}${rest}`;
}

/** @type {(value: number, words: string) => HTMLElement} */
const figure = (value, words) =>
  h("div", {}, h("span", { class: "value" }, count(value)), h("span", { class: "of" }, words));
