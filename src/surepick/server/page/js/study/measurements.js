// What was measured, the newest first; admins correct and withdraw from here.

import { get, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { moment, plural, short } from "../format.js";
import { isAdmin } from "../session.js";

const SHOWN = 12; // each has a button, on the way of those who use the keyboard
/** @type {Record<string, string | undefined>} */
const CLASSES = { Result: "result", When: "when", "Mistake?": "mistake" };
const PAUSE = 10_000; // milliseconds between two looks

/** @type {(text: string) => HTMLElement} */
const headCell = (text) => h("th", { scope: "col", class: CLASSES[text] }, text);

/**
 * @param {string} name of the study
 * @param {import("../router.js").Scope} scope
 * @param {(pull: number, value: number) => void} change opens the form that corrects a result
 * @returns {Card}
 */
export function measurementsCard(name, scope, change) {
  let known = "";
  let revision = -1;
  let at = 0;
  let waiting = 0;
  const rows = h("tbody", {});
  const about = h("p", { class: "explain number" });
  const heads = ["Measurement", "Option", "Result", "When", ...(isAdmin() ? ["Mistake?"] : [])];
  const element = h(
    "section",
    { class: "card", "aria-label": "Measurements", hidden: true },
    h("h2", {}, "Measurements"),
    about,
    h(
      "div",
      { class: "log measured", tabindex: "0", role: "region", "aria-label": "List of measurements" },
      h(
        "table",
        { class: "plain-table" },
        h("thead", {}, h("tr", {}, heads.map(headCell))),
        rows,
      ),
    ),
  );

  /** @param {Api.Status} status */
  async function load({ labels, items }) {
    try {
      /** @type {Api.RewardColumns} */
      const found = await get(studyPath(name, "/rewards"), { signal: scope.signal });
      const n = found.pulls.length;
      element.hidden = !n;
      write(about, n > SHOWN ? `The newest ${SHOWN} of ${plural(n, "measurement")}; export has all.` : "");
      const on = items === null ? null : found.strata;
      const newest = [...found.pulls.keys()].slice(-SHOWN).reverse();
      put(
        rows,
        newest.map((i) =>
          h(
            "tr",
            {},
            h("td", { class: "number" }, found.pulls[i]),
            h("td", { class: "option" }, labels[found.arms[i]] ?? found.arms[i], on && `, item ${on[i]}`),
            h("td", { class: "number" }, short(found.values[i])),
            h("td", { class: "number when" }, moment(found.times[i])),
            isAdmin() && h("td", {}, changeButton(found.pulls[i], found.values[i])),
          ),
        ),
      );
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = ""; // the next status asks again
    }
  }

  /** @type {(pull: number, value: number) => HTMLElement} */
  const changeButton = (pull, value) =>
    h(
      "button",
      {
        class: "button small",
        type: "button",
        "aria-label": `Correct or withdraw measurement ${pull}`,
        onclick: () => change(pull, value),
      },
      "Change",
    );

  return {
    element,
    update({ status }) {
      const now = `${status.samples} ${status.revision}`;
      if (now === known) return;
      // While workers measure, a look now and then will do: forecasts wait for the same helper.
      const soon = status.revision !== revision || status.finished ? 0 : at + PAUSE - Date.now();
      if (waiting) clearTimeout(waiting);
      waiting = window.setTimeout(() => {
        if (scope.left) return;
        [known, revision, at, waiting] = [now, status.revision, Date.now(), 0];
        load(status);
      }, Math.max(soon, 0));
    },
  };
}
