// All options of a study: who is still in, estimates, the evidence that decides, pulls.

import { fresh, h, write } from "../dom.js";
import { aligned, count, percent, short } from "../format.js";
import { GridTable } from "../parts/grid-table.js";
import { liftEnds } from "./model.js";

/** Which options to show; what the choices are called, and against a baseline. */
const SHOWN = [
  ["all", "All", "All"],
  ["in", "Still in", "Undecided"],
  ["out", "Ruled out", "Decided"],
];
const ABOUT =
  "The evidence decides: when it reaches 100 %, the option is ruled out, which means it is behind the best. The p-value tests “this option is the best”. The bars behind the dots show two standard errors.";
const ABOUT_OTHERS =
  "The evidence decides: when it reaches 100 %, the option is ruled out: it is not what is looked for, though it may be better than the answer. The bars behind the dots show two standard errors.";
const ABOUT_WINS =
  "The best option is the one that usually wins a direct comparison of two measurements. An option that is ruled out is not it; the p-value tests “this option is the best”.";
const ABOUT_COMPARED =
  "The evidence decides: when it reaches 100 %, the option is better or worse than the baseline. The intervals hold at any time.";

/**
 * The card with the table of options.
 *
 * @returns {Card}
 */
export function optionsCard() {
  /** @type {import("./model.js").Model} */
  let model; // nothing is shown before the first update
  /** @type {(x: number | null) => string} */
  let format = String;
  let formatBehind = format;
  let query = "";
  let shown = "all";

  /** @type {(className: string, said: (i: number) => string) => GridColumn["make"]} */
  const text = (className, said) => () => {
    const cell = h("div", { class: className });
    return { cell, update: (i) => write(cell, said(i)) };
  };
  /** @type {GridColumn[]} */
  const columns = [
    {
      key: "option",
      title: "Option",
      value: (i) => model.labels[i],
      first: "ascending",
      make: optionCell,
    },
    {
      key: "estimate",
      title: "Estimate",
      end: true,
      first: "descending",
      value: (i) => model.estimate(i),
      make: text("estimate number end", (i) => format(model.estimate(i))),
    },
    {
      key: "behind",
      title: "Behind the leader",
      value: (i) => model.behind(i) ?? model.lost(i) ?? 0,
      first: "ascending",
      make: behindCell,
    },
    {
      key: "evidence",
      title: "Evidence against",
      first: "ascending",
      value: standing,
      make: evidenceCell,
    },
    {
      key: "pulls",
      title: "Measured",
      end: true,
      first: "descending",
      value: (i) => (model.transductive ? 0 : model.status.pulls[i]),
      make: text("pulls number", (i) => (model.transductive ? "" : count(model.status.pulls[i]))),
    },
    {
      key: "failures",
      title: "Failed",
      end: true,
      first: "descending",
      value: (i) => (model.transductive ? 0 : model.status.failures[i]),
      make: text("failures number", (i) =>
        model.transductive ? "" : count(model.status.failures[i]),
      ),
    },
  ];

  /**
   * The leader (and who leads with it), then those still in, hardest to rule out first, then the others, closest first.
   *
   * @param {number} i
   */
  function standing(i) {
    if (model.compared) return (model.stillIn[i] ? 0 : 2) - (model.sign * (model.lift(i)[0] ?? 0)) / (1e3 * model.span);
    if (model.isLeader(i)) return -2;
    const behind = model.behind(i) ?? model.lost(i) ?? 0;
    const tie = behind / (model.span + behind) / 1000;
    if (model.isNamed(i)) return -1 + tie;
    return (model.stillIn[i] ? (model.evidence(i) ?? 0) : 2) + tie;
  }

  /** @type {GridColumn["make"]} */
  function optionCell() {
    const name = h("span", { class: "name" });
    const tag = h("span", { class: "tag" });
    const state = h("span", { class: "unseen" });
    const cell = h("div", { class: "option" }, name, tag, state);
    return {
      cell,
      update(i) {
        write(name, model.labels[i]);
        name.title = model.labels[i];
        const named = model.isNamed(i) && !model.compared;
        tag.hidden = !named;
        write(tag, model.status.finished ? model.said(i).replace("the ", "") : "leads");
        write(state, named ? "" : model.said(i));
      },
    };
  }

  /** @type {GridColumn["make"]} */
  function behindCell() {
    const span = h("div", { class: "span" });
    const dot = h("div", { class: "dot" });
    const said = h("span", { class: "said number" });
    const whisker = h("div", { class: "whisker", "aria-hidden": "true" }, span, dot);
    const cell = h("div", { class: "behind" }, whisker, said);
    /** @type {(x: number) => string} */
    const at = (x) => `${100 * Math.min(1, Math.max(0, x / model.span))}%`;
    return {
      cell,
      update(i) {
        const behind = model.behind(i);
        const error = model.error(i);
        const out = model.isOut(i);
        const placed = behind !== null && error !== null && !model.isLeader(i) && !model.compared;
        whisker.hidden = !placed;
        if (model.compared) write(said, overBaseline(i));
        else if (model.isLeader(i) && (behind !== null || model.status.wins)) write(said, "leads");
        else if (behind === null) write(said, lost(i));
        else write(said, formatBehind(behind) + (out ? "" : ` ± ${formatBehind(error)}`));
        if (!placed) return;
        dot.style.left = at(behind);
        span.hidden = out; // that it is behind is known; the bar is about the estimate
        span.style.left = at(behind - 2 * error);
        span.style.right = `${100 - parseFloat(at(behind + 2 * error))}%`;
      },
    };
  }

  /** @param {number} i */
  function lost(i) {
    const share = model.lost(i);
    return share === null ? "–" : `${Math.round(100 * share)} %`;
  }

  /** @param {number} i */
  function overBaseline(i) {
    const [lift, low, high] = model.lift(i);
    if (lift === null || model.said(i) === "baseline") return "–";
    const ends = liftEnds(model.said(i), low, high, formatBehind, model.minimise);
    return `${lift > 0 ? "+" : ""}${formatBehind(lift)}${ends && ` (${ends})`}`;
  }

  /** @type {GridColumn["make"]} */
  function evidenceCell() {
    const fill = h("span");
    const bar = h("div", { class: "bar", "aria-hidden": "true" }, fill);
    const said = h("span", { class: "said number" });
    const cell = h("div", {}, bar, said);
    return {
      cell,
      update(i) {
        const share = model.evidence(i);
        const named = model.isNamed(i) && !model.compared;
        const proven = model.status.finished && model.status.promise.kind === "eps-pac";
        const graded = model.stillIn[i] && share !== null && !named && !proven;
        cell.className = graded ? "evidence" : "evidence worded";
        fill.style.width = graded ? `${100 * share}%` : "0";
        const p = model.pValue(i);
        if (graded) write(said, percent(share));
        else if (model.isOut(i) && p !== null) write(said, `ruled out, p ${short(p, 2)}`);
        else write(said, named && !model.status.finished ? "still in" : model.said(i));
      },
    };
  }

  const table = new GridTable({
    label: "Options",
    columns,
    sort: { key: "evidence", direction: "ascending" },
    onSort: sortBy,
    rowClass: (i) =>
      model.isNamed(i) && !model.compared ? "first" : model.isOut(i) ? "out" : "",
  });

  /** @param {Sort} sort */
  function sortBy(sort) {
    table.sort = sort;
    small.value = sort.key;
    apply();
  }

  const small = h(
    "select",
    {
      class: "input",
      onchange: () => {
        const column = columns.find((one) => one.key === small.value) ?? columns[0];
        sortBy({ key: column.key, direction: column.first });
      },
    },
    columns.map((one) => h("option", { value: one.key }, `By ${one.title.toLowerCase()}`)),
  );
  small.value = table.sort.key;
  const smallLabel = h(
    "label",
    { class: "sort-small" },
    h("span", { class: "unseen" }, "Sort"),
    small,
  );
  const search = h("input", {
    class: "input",
    type: "search",
    placeholder: "Search options",
    "aria-label": "Search options",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      query = search.value.trim().toLowerCase();
      apply();
    },
  });
  const group = fresh("shown");
  const titles = SHOWN.map(([, title]) => h("span", {}, title));
  const segments = h(
    "fieldset",
    { class: "segments" },
    h("legend", { class: "unseen" }, "Which options"),
    SHOWN.map(([value], k) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: group,
          value,
          checked: value === shown,
          onchange: () => {
            shown = value;
            apply();
          },
        }),
        titles[k],
      ),
    ),
  );
  const about = h("p", {}, ABOUT);
  const counted = h("span", { class: "count number", role: "status" });

  function apply() {
    if (!model) return;
    /** @type {number[]} */
    const items = [];
    for (let i = 0; i < model.size; i += 1) {
      if (shown !== "all" && model.stillIn[i] !== (shown === "in")) continue;
      if (query && !model.labels[i].toLowerCase().includes(query)) continue;
      items.push(i);
    }
    write(
      counted,
      items.length === model.size
        ? `${count(model.size)} options`
        : `${count(items.length)} of ${count(model.size)}`,
    );
    table.show(items, query ? "No option name contains this text." : "No options here.");
  }

  const element = h(
    "section",
    { class: "card wide", "aria-label": "Options" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, "Options"),
      about,
    ),
    h(
      "div",
      { class: "grid-tools" },
      h("div", { class: "search" }, search),
      segments,
      smallLabel,
      counted,
    ),
    table.element,
  );

  return {
    element,
    update(next) {
      model = next;
      const sizes = (model.status.estimates ?? []).map((x) => Math.abs(x ?? 0));
      // Rates of visitors are told in per cent, and distances between them in percentage points.
      const rate = Boolean(model.status.traffic?.columns.includes("successes"));
      const times = rate ? 100 : 1;
      const estimate = aligned(times * sizes.reduce((a, b) => Math.max(a, b), 0));
      const distance = aligned(times * model.span);
      format = (x) => (x === null ? estimate(x) : `${estimate(times * x)}${rate ? " %" : ""}`);
      formatBehind = (x) => distance(x === null ? x : times * x);
      table.table.classList.toggle("with-failures", model.anyFailures);
      table.table.classList.toggle("no-failures", !model.anyFailures);
      // Of traffic: without what all options share on a day, and drawn towards the others while
      // little is known; the morning look has the plain rates.
      table.rename("estimate", model.status.traffic ? "Evened out" : "Estimate");
      const against = model.minimise ? "Against the baseline" : "Over the baseline";
      const lead = model.status.wins ? "The leader wins" : "Behind the leader";
      table.rename("behind", `${model.compared ? against : lead}${rate ? ", points" : ""}`);
      columns[1].first = model.minimise ? "ascending" : "descending"; // the best first
      table.rename("evidence", model.compared ? "Verdict" : "Evidence against");
      write(about, model.compared ? ABOUT_COMPARED : !model.ranks ? ABOUT_OTHERS : model.status.wins ? ABOUT_WINS : ABOUT);
      SHOWN.forEach(([, title, compared], k) => write(titles[k], model.compared ? compared : title));
      table.rename("pulls", model.status.traffic ? "Visits" : "Measured");
      table.table.classList.toggle("of-visits", model.status.traffic !== null);
      apply();
    },
  };
}
