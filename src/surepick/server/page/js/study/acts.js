// A card of what somebody did to a study on the way: what, who, when and why; and forms to do it.

import { get, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { date, moment } from "../format.js";
import { isAdmin } from "../session.js";

/**
 * @template {{at: number, by: string | null, reason: string}} Act
 * @param {string} name of the study
 * @param {import("../router.js").Scope} scope
 * @param {{
 *   title: string,
 *   list: string,
 *   route: string,
 *   about(act: Act): {strong?: string, text: string},
 *   said(acts: Act[], status: Api.Status): string,
 *   forms: HTMLElement[],
 *   always?: boolean,
 * }} what `list` is what the list of them is called, `about` what was done in one of them, `said`
 *   the sentence above it. Only admins see `forms`; others see the card when there is something in
 *   it, or `always`.
 * @returns {Card}
 */
export function actsCard(name, scope, { title, list, route, about, said, forms, always = false }) {
  let known = -1;
  /** @type {Act[]} */
  let acts = [];
  const sentence = h("p", { class: "explain number" });
  const lines = h("ul", {});
  const box = h(
    "div",
    { class: "log", tabindex: "0", role: "region", "aria-label": list, hidden: true },
    lines,
  );
  const element = h(
    "section",
    { class: "card", "aria-label": title },
    h("h2", {}, title),
    sentence,
    box,
    isAdmin() && forms,
  );

  /** @param {Act} act */
  function line(act) {
    const { strong, text } = about(act);
    const by = act.by ? `, says ${act.by}` : "";
    const reason = act.reason ? `: ${act.reason}` : "";
    return h(
      "li",
      {},
      h("time", { datetime: date(act.at).toISOString() }, moment(act.at)),
      h("span", { class: "what" }, strong && h("strong", {}, strong), `${text}${by}${reason}`),
    );
  }

  /** @param {Api.Status} status */
  function show(status) {
    element.hidden = !acts.length && !isAdmin() && !always;
    box.hidden = !acts.length;
    write(sentence, said(acts, status));
  }

  /** @param {Api.Status} status */
  async function load(status) {
    try {
      /** @type {{changes: Act[]}} */
      const found = await get(studyPath(name, route), { signal: scope.signal });
      acts = found.changes;
      put(lines, acts.slice().reverse().map(line));
      show(status);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = -1; // the page says elsewhere that the service is gone; the next status asks again
    }
  }

  return {
    element,
    update({ status }) {
      show(status);
      if (status.revision === known) return;
      known = status.revision;
      load(status);
    },
  };
}
