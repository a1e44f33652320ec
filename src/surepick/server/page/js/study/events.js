// The log of what did not count: failures, leases that ran out, repeats, contradictions.

import { get, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { count, date, moment, plural, short } from "../format.js";

const SHOWN = 100;
/** @type {Record<string, string>} */
const WORDS = {
  failed: "failed",
  expired: "got no result in time",
  duplicate: "was reported twice with the same reward",
  late: "was reported again, too late",
  hedged: "was handed out to a second worker",
  again: "was far from all earlier readings and is measured again",
  conflict: "was reported again with a different result; the first one counts",
};
const time = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/**
 * @param {string} name
 * @param {import("../router.js").Scope} scope
 * @returns {Card}
 */
export function eventsCard(name, scope) {
  let next = 0;
  /** @type {Api.EventRow[]} */
  let events = [];
  /** @type {string[]} */
  let labels = [];
  let asking = false;
  const list = h("ul", {});
  const box = h(
    "div",
    { class: "log", tabindex: "0", role: "region", "aria-label": "Log of events" },
    list,
  );
  const said = h(
    "p",
    { class: "explain" },
    "Only measurements so far: no failures, no repeats.",
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Event log" },
    h("h2", {}, "Event log"),
    said,
    box,
  );
  box.hidden = true;

  async function load() {
    if (asking) return;
    asking = true;
    try {
      /** @type {Api.EventLog} */
      const found = await get(studyPath(name, `/events?after=${next}`), { signal: scope.signal });
      next = found.next;
      if (!found.events.length) return;
      events = events.concat(found.events);
      show();
    } catch (problem) {
      if (problem.status === undefined && problem.name !== "AbortError") throw problem;
      // The page says elsewhere that the service is gone; the next batch asks again.
    } finally {
      asking = false;
    }
  }

  function show() {
    box.hidden = false;
    const kinds = Object.entries(Object.groupBy(events, (one) => one.kind)).map(
      ([kind, all]) => `${count(all?.length ?? 0)} ${kind}`,
    );
    write(
      said,
      `${plural(events.length, "event")}: ${kinds.join(", ")}.${events.length > SHOWN ? ` The newest ${SHOWN} are shown.` : ""}`,
    );
    put(list, events.slice(-SHOWN).reverse().map(line));
  }

  /** @param {Api.EventRow} event */
  function line(event) {
    const value = event.value === null ? "" : ` (${short(event.value)})`;
    const by = event.worker && !event.worker.startsWith("~") ? ` by ${event.worker}` : "";
    const note = event.note && event.kind !== "expired" ? `: ${event.note}` : "";
    const often = event.count > 1 ? `, ${count(event.count)} times` : "";
    return h(
      "li",
      {},
      h(
        "time",
        { datetime: date(event.at).toISOString(), title: moment(event.at) },
        time.format(date(event.at)),
      ),
      h(
        "span",
        { class: "what" },
        h("strong", {}, labels[event.arm] ?? ""),
        ` (measurement ${count(event.pull)}) ${WORDS[event.kind] ?? event.kind}${value}${by}${often}${note}`,
      ),
    );
  }

  return {
    element,
    update({ status }) {
      labels = status.labels;
      load();
    },
  };
}
