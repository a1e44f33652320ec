// All studies, and where each one stands.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { ago, algorithmName, count, moment } from "../format.js";
import { input } from "../parts/field.js";
import { blank, bones, failed, notice } from "../parts/states.js";
import { isAdmin } from "../session.js";

const EVERY = 4000; // milliseconds between two looks
const MANY = 8; // from so many on, a search box helps
const MOST = 200; // shown at once

/** @type {View} */
export const studiesView = (scope) => {
  const body = h("div", {}, bones("", "", ""));
  const stale = h("div", { class: "offline" });
  const search = input({
    type: "search",
    placeholder: "Search studies",
    "aria-label": "Search studies",
    oninput: () => show(),
  });
  const tools = h(
    "div",
    { class: "grid-tools", hidden: true },
    h("div", { class: "search" }, search),
  );
  /** @type {Api.StudyRow[] | null} */
  let studies = null;
  let drawn = "";
  let timer = 0;

  async function load() {
    clearTimeout(timer);
    try {
      studies = (await get("/studies", { signal: scope.signal })).studies;
      put(stale);
      show();
    } catch (problem) {
      if (scope.left) return;
      if (!studies) put(body, failed(problem, load));
      else
        put(stale, notice("caution", "The service does not answer; this list may be out of date."));
    }
    if (!scope.left) timer = setTimeout(() => (document.hidden ? wait() : load()), EVERY);
  }

  function wait() {
    document.addEventListener("visibilitychange", () => !scope.left && load(), { once: true });
  }

  function show() {
    if (!studies) return;
    const query = search.value.trim().toLowerCase();
    const now = JSON.stringify([studies, query]);
    if (now === drawn) return;
    drawn = now;
    tools.hidden = studies.length < MANY;
    if (!studies.length) {
      put(body, nothingYet());
      return;
    }
    const found = studies.filter((one) => one.name.toLowerCase().includes(query));
    found.sort((a, b) => Number(a.finished) - Number(b.finished) || b.created - a.created);
    put(
      body,
      found.length
        ? table(found)
        : blank("unknown", "No such study", "No study name contains this text."),
    );
  }

  scope.atEnd(() => clearTimeout(timer));
  load();
  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", {}, "Studies"),
        h(
          "p",
          {},
          "Each study looks for the best of its options, with as few measurements as possible.",
        ),
      ),
      isAdmin() && h("a", { class: "button primary", href: "#/new" }, "New study"),
    ),
    stale,
    tools,
    body,
  );
};

function nothingYet() {
  if (isAdmin()) {
    return blank(
      "dots",
      "No studies yet",
      "A study starts with a table of options: one row each, with columns that describe them.",
      h("a", { class: "button primary", href: "#/new" }, "Start with a CSV file"),
      h("a", { class: "button", href: "#/plan" }, "Plan first"),
    );
  }
  return blank(
    "dots",
    "No studies yet",
    "There is nothing to see with this token yet. Anyone with an admin's token can start a study.",
  );
}

const HEADS = ["Study", "State", "Measurements", "Options left", "Answer", "Started"];

/** @param {Api.StudyRow[]} studies */
function table(studies) {
  const rows = studies.slice(0, MOST).map(row);
  const more = studies.length - rows.length;
  return h(
    "div",
    { class: "card" },
    h(
      "table",
      { class: "plain-table stack-table" },
      h("caption", { class: "unseen" }, "Studies"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          HEADS.map((head) =>
            h("th", { scope: "col", class: head === "Measurements" ? "number" : "" }, head),
          ),
        ),
      ),
      h("tbody", {}, rows),
    ),
    more > 0 && h("p", { class: "explain" }, `and ${count(more)} more: search for them by name`),
  );
}

/** @param {Api.StudyRow} study */
function row(study) {
  const left = study.survivors ?? 0;
  const options = study.options ?? 0;
  const bar = h("span");
  bar.style.width = `${options ? (100 * left) / options : 0}%`;
  const known = options > 0 && !study.broken;
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h(
        "span",
        {},
        h("a", { class: "to", href: `#/studies/${encodeURIComponent(study.name)}` }, study.name),
      ),
    ),
    h("td", { "data-head": "State" }, state(study)),
    h("td", { "data-head": "Measurements", class: "number" }, count(study.samples)),
    h(
      "td",
      { "data-head": "Options left" },
      h(
        "span",
        { class: "left-in number" },
        known ? `${count(left)} of ${count(options)}` : h("span", { class: "muted" }, "unknown"),
        known && h("span", { class: "bar", "aria-hidden": "true" }, bar),
      ),
    ),
    h(
      "td",
      { "data-head": "Answer", class: "breakable" },
      answer(study),
    ),
    h(
      "td",
      { "data-head": "Started", class: "muted nowrap" },
      h(
        "span",
        { title: `${moment(study.created)}, ${algorithmName(study.algorithm)}` },
        ago(study.created),
      ),
    ),
  );
}

/** @param {Api.StudyRow} study */
function answer(study) {
  if (study.answer) return h("strong", {}, study.answer);
  if (!study.broken) return h("span", { class: "muted" }, "not yet");
  // What kind of error it is belongs into a log; the rest may be long.
  const why = study.broken.replace(/^\w+Error: /, "");
  return h("span", { class: "muted shortened", title: why }, why);
}

/** @param {Api.StudyRow} study */
function state(study) {
  if (study.broken) return h("span", { class: "badge bad" }, "Cannot be read");
  if (study.finished) return h("span", { class: "badge good" }, "Finished");
  if (study.paused) return h("span", { class: "badge caution" }, "Paused");
  if (!study.measuring) return h("span", { class: "badge" }, "Waiting");
  return h("span", { class: "badge live" }, "Running");
}
