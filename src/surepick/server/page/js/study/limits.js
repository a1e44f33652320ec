// How much may be measured, what is spent of it, who changed it; and for admins, the way to do it.

import { get, post, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { count, date, moment, short } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { isAdmin } from "../session.js";

const WHEN =
  "What was asked for is measured in any case. A study that ended because a limit was reached goes on, " +
  "if the new one is higher. The guarantee does not depend on limits.";

/**
 * What is spent and left, as sentences.
 *
 * @param {Api.Limits} limits
 * @param {number} samples
 */
export function spentAndLeft(limits, samples) {
  const said = [];
  if (limits.budget !== null)
    said.push(
      `${short(limits.spent)} of ${short(limits.budget)} spent` +
        `${limits.in_money ? "" : " (measurements)"}, ${short(limits.left ?? 0)} left.`,
    );
  if (limits.max_samples !== null)
    said.push(
      `${count(samples)} of at most ${count(limits.max_samples)} measurements, ` +
        `${count(limits.samples_left ?? 0)} left.`,
    );
  return said.join(" ") || "There is no limit: it ends when the question is answered.";
}

/**
 * @param {string} name
 * @param {import("../router.js").Scope} scope
 * @param {() => void} onChange
 * @returns {Card}
 */
export function limitsCard(name, scope, onChange) {
  let known = -1;
  const said = h("p", { class: "explain number" });
  const list = h("ul", {});
  const box = h(
    "div",
    { class: "log", tabindex: "0", role: "region", "aria-label": "Changed limits", hidden: true },
    list,
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Limits" },
    h("h2", {}, "Limits"),
    said,
    box,
    isAdmin() && form(),
  );

  /** @param {Api.LimitChangeRow} change */
  function line(change) {
    const parts = [
      change.max_samples !== null && `at most ${count(change.max_samples)} measurements`,
      change.budget !== null && `budget ${short(change.budget)}`,
    ].filter(Boolean);
    const by = change.by ? `, says ${change.by}` : "";
    const reason = change.reason ? `: ${change.reason}` : "";
    return h(
      "li",
      {},
      h("time", { datetime: date(change.at).toISOString() }, moment(change.at)),
      h("span", { class: "what" }, `${parts.join("; ") || "no limit"}${by}${reason}`),
    );
  }

  function form() {
    const budget = input({ type: "text", inputmode: "decimal" });
    const most = input({ type: "text", inputmode: "numeric" });
    const reason = input({ type: "text", maxlength: 2000 });
    const error = errorLine();
    const button = h("button", { class: "button small", type: "submit" }, "Change them");
    /** @param {SubmitEvent} event */
    function onsubmit(event) {
      event.preventDefault();
      return submit(button, error, async () => {
        const given = { budget: number(budget), max_samples: number(most) };
        if (given.budget === null && given.max_samples === null)
          return error.say("Give a number for the one that is to change.");
        await post(studyPath(name, "/limits"), { ...given, reason: reason.value.trim() });
        for (const control of [budget, most, reason]) control.value = "";
        return onChange();
      });
    }
    const all = h(
      "form",
      { class: "fields", onsubmit },
      field("Budget", budget, "What all measurements may cost, those so far too. Empty: as it is."),
      field("Most measurements", most, "Those so far too. Empty: as it is."),
      field("Reason", reason, "Everybody who sees the certificate can read it."),
      h("p", { class: "explain" }, WHEN),
      h("div", { class: "actions" }, button),
      error.element,
    );
    return h("details", {}, h("summary", {}, "Change limits"), all);
  }

  async function load() {
    try {
      /** @type {Api.LimitChangeList} */
      const found = await get(studyPath(name, "/limits"), { signal: scope.signal });
      box.hidden = !found.changes.length;
      put(list, found.changes.slice().reverse().map(line));
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = -1; // the page says elsewhere that the service is gone; the next status asks again
    }
  }

  return {
    element,
    update({ status }) {
      write(said, spentAndLeft(status.limits, status.samples));
      if (status.revision === known) return;
      known = status.revision;
      load();
    },
  };
}
