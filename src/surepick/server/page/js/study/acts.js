// What people did to a study on the way: what, who, when and why; and forms to do it.

import { get, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { date, moment, plural } from "../format.js";
import { isAdmin } from "../session.js";

/**
 * @param {string} name of the study
 * @param {import("../router.js").Scope} scope
 * @param {HTMLElement[]} forms which only admins see; others see the card when something was done
 * @returns {Card}
 */
export function actsCard(name, scope, forms) {
  let known = -1;
  const sentence = h("p", { class: "explain number" });
  const lines = h("ul", {});
  const box = h(
    "div",
    { class: "log", tabindex: "0", role: "region", "aria-label": "Acts", hidden: true },
    lines,
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "What was done" },
    h("h2", {}, "What was done"),
    sentence,
    box,
    isAdmin() && forms,
  );

  /** @param {Api.ActRow[]} acts */
  function show(acts) {
    element.hidden = !acts.length && !isAdmin();
    box.hidden = !acts.length;
    const none = "Mistakes can be corrected while the study is under way, and afterwards.";
    write(sentence, acts.length ? `${plural(acts.length, "act")} since the study began.` : none);
    put(lines, acts.slice().reverse().map(line));
  }

  async function load() {
    try {
      /** @type {Api.ActList} */
      const found = await get(studyPath(name, "/acts"), { signal: scope.signal });
      show(found.acts);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = -1; // the page says elsewhere that the service is gone; the next status asks again
    }
  }

  show([]);
  return {
    element,
    update({ status }) {
      const links = status.chain?.links ?? 0; // every act adds one
      if (links === known) return;
      known = links;
      load();
    },
  };
}

/** @param {Api.ActRow} act */
function line(act) {
  const why = [act.by, act.reason].filter(Boolean).join(": ");
  const said = why ? `${act.said.replace(/\.$/, "")} (${why}).` : act.said;
  return h(
    "li",
    {},
    h("time", { datetime: date(act.at).toISOString() }, moment(act.at)),
    h("span", { class: "what" }, said),
  );
}
