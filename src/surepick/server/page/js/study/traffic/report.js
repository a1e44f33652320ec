// What came of a period: a file that is dropped, or numbers that are typed in. Both are checked by
// the service first; nothing is recorded until somebody says so.

import { announce } from "../../announce.js";
import { post, studyPath } from "../../api.js";
import { h, put, write } from "../../dom.js";
import { plural } from "../../format.js";
import { dropZone } from "../../parts/drop.js";
import { errorLine, field, input, submit } from "../../parts/field.js";
import { notice } from "../../parts/states.js";
import { role } from "../../session.js";

const MOST_TYPED = 60; // options for which somebody types numbers in

/** @typedef {Record<string, string[] | Record<string, string[]>>} Typed by label, perhaps by segment */
/** @typedef {{report: Typed} | {table: {csv: string, source: string}}} Given */
/** @typedef {{period: string, status: string, visits: number, asked: string[]}} Recorded what became of it */

/**
 * @param {string} name
 * @param {() => void} onChange
 * @returns {Card}
 */
export function reportCard(name, onChange) {
  /** @type {Given | null} what was checked, and is recorded next */
  let given = null;
  /** @type {string | null} what the form was made for */
  let made = null;
  const error = errorLine();
  const called = input({ type: "text", maxlength: 200, placeholder: "monday", oninput: forget });
  const columns = h("span", {});
  const outcome = h("div", { "aria-live": "polite" });
  const typed = h("div", {});
  const look = h("button", { class: "button small", type: "button", onclick: typedIn }, "Check");
  const keep = h("button", { class: "button primary", type: "button", onclick: record }, "Record it");
  const drop = dropZone(
    (csv, source) => check({ table: { csv, source } }, look),
    (text) => error.say(text),
    { about: "One row per option.", example: "label,visits,successes\na,1000,12\nb,990,17" },
  );
  const fold = h(
    "details",
    { class: "fold" },
    h("summary", {}, "Or type the numbers in"),
    typed,
    h("div", { class: "actions" }, look),
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Report of a period" },
    h("h2", {}, "Report"),
    h(
      "p",
      { class: "explain" },
      "Count each visitor once, in the period of assignment. Columns: ",
      columns,
      ". Leave out bots yourself.",
    ),
    h("div", { class: "fields" }, field("Name of the period", called)),
    drop.element,
    fold,
    error.element,
    outcome,
  );

  function forget() {
    given = null;
    put(outcome);
  }

  /**
   * @param {Given & {period: string, check?: boolean}} what
   * @returns {Promise<Recorded>}
   */
  async function send(what) {
    /** @type {Api.ActDone} */
    const { act } = await post(studyPath(name, "/acts/record"), what);
    return /** @type {Recorded} */ (act?.details);
  }

  /**
   * @param {Given} what
   * @param {HTMLButtonElement} button
   */
  function check(what, button) {
    forget();
    const period = called.value.trim();
    if (!period) return error.say("Which period is this? Give it a name, such as monday.");
    return submit(button, error, async () => {
      const found = await send({ ...what, period, check: true });
      const again = found.status === "duplicate";
      const words = again
        ? `Period ${found.period} was already recorded with these numbers; it counts once.`
        : `${plural(found.visits, "visit")} in period ${found.period}; ${found.asked.length ? "some numbers to look at" : "no mistakes found"}. Nothing is recorded yet.`;
      given = again ? null : what;
      const far = found.asked.map((text) => h("p", {}, text));
      put(outcome, notice(far.length ? "caution" : "good", words, far), !again && h("div", { class: "actions" }, keep));
      announce(words);
    });
  }

  function record() {
    const what = given;
    if (!what) return undefined;
    return submit(keep, error, async () => {
      const period = called.value.trim();
      const done = await send({ ...what, period });
      forget();
      made = null;
      called.value = "";
      drop.clear();
      const words =
        done.status === "nobody"
          ? `Nobody came in period ${done.period}; its shares go on under the name of the next one.`
          : `Period ${done.period}: ${plural(done.visits, "visit")} recorded.`;
      put(outcome, notice("good", words));
      announce(words);
      onChange();
    });
  }

  function typedIn() {
    /** @type {Typed} */
    const report = {};
    for (const line of typed.querySelectorAll("tr[data-label]")) {
      const cells = [...line.querySelectorAll("input")].map((one) => one.value.trim());
      const { label = "", segment } = /** @type {HTMLElement} */ (line).dataset;
      if (!cells.some((text) => text)) continue;
      report[label] = segment === undefined ? cells : { ...report[label], [segment]: cells };
    }
    return check({ report }, look);
  }

  /**
   * @param {string[]} labels of those who have a share
   * @param {string[]} names of the columns
   * @param {string[]} segments a row for each, where visitors are counted by segment
   */
  function sheet(labels, names, segments) {
    const numbers = names.filter((one) => one !== "label" && one !== "segment");
    const rows = labels.flatMap((label) => (segments.length ? segments.map((one) => [label, one]) : [[label]]));
    return h(
      "table",
      { class: "plain-table tight" },
      h("caption", { class: "unseen" }, "Numbers of the period"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          names.map((one) => h("th", { scope: "col" }, one)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(([label = "", segment]) =>
          h(
            "tr",
            segment === undefined ? { "data-label": label } : { "data-label": label, "data-segment": segment },
            h("th", { scope: "row" }, label),
            segment !== undefined && h("td", {}, segment),
            numbers.map((one) =>
              h(
                "td",
                {},
                input({
                  type: "text",
                  inputmode: "decimal",
                  "aria-label": `${one} of ${[label, segment].filter(Boolean).join(", ")}`,
                  oninput: forget,
                }),
              ),
            ),
          ),
        ),
      ),
    );
  }

  return {
    element,
    update({ status }) {
      const at = /** @type {Api.Traffic} */ (status.traffic);
      const due = at.open[0];
      element.hidden = status.finished || !due || role() === "viewer";
      if (element.hidden) return;
      const all = at.segment ? "; of a report of all segments, with a column segment, the rows of this one count" : "";
      write(columns, `${at.columns.join(", ")}${all}`);
      const now = `${due.number} ${due.period}`;
      if (made === now) return;
      made = now;
      called.value = due.period ?? "";
      called.readOnly = due.period !== null;
      const labels = status.labels.filter((_, i) => due.shares[i]);
      const few = labels.length <= MOST_TYPED && !at.columns.includes("bucket");
      fold.hidden = !few;
      put(typed, few && sheet(labels, at.columns, at.segments));
    },
  };
}
