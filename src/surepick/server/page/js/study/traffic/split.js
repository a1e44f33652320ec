// By which shares to send the visitors of the period that runs, or of the next one.

import { announce } from "../../announce.js";
import { post, studyPath } from "../../api.js";
import { h, icon, put, write } from "../../dom.js";
import { count, moment } from "../../format.js";
import { errorLine, field, input, number, submit } from "../../parts/field.js";
import { role } from "../../session.js";

const MOST = 12; // options that are listed; the file has all

/**
 * @param {string} name
 * @param {() => void} onChange
 * @returns {Card}
 */
export function splitCard(name, onChange) {
  const mayAsk = role() !== "viewer";
  /** @type {Api.SplitOf | null} what the service said last */
  let known = null;
  const about = h("p", { class: "explain" });
  const body = h("tbody", {});
  const last = h("th", { scope: "col", class: "number" }, "Visits");
  const more = h("p", { class: "explain" });
  const table = h(
    "table",
    { class: "plain-table tight" },
    h("caption", { class: "unseen" }, "Shares of the period"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Option"),
        h("th", { scope: "col", class: "number" }, "Share"),
        last,
      ),
    ),
    body,
  );
  const error = errorLine();
  const visits = input({ type: "text", inputmode: "numeric", placeholder: "10000" });
  const called = input({ type: "text", maxlength: 200, placeholder: "tuesday" });
  const button = h("button", { class: "button primary small", type: "submit" });
  const begin = h("button", { class: "button small", type: "submit" }, "Begin it");
  const copy = h(
    "button",
    { class: "button small", type: "button", onclick: () => submit(copy, error, copied) },
    icon("copy"),
    "Copy as CSV",
  );
  const save = h(
    "button",
    { class: "button small", type: "button", onclick: () => submit(save, error, saved) },
    icon("down"),
    "Download CSV",
  );
  const earlier = h("summary", {});
  const another = h(
    "details",
    { class: "fold" },
    earlier,
    h(
      "form",
      { class: "fields", onsubmit: (/** @type {SubmitEvent} */ event) => send(event, begin, true) },
      field("Its name", called, "Periods are recorded in the order in which they began."),
      h("div", { class: "actions" }, begin),
    ),
  );
  const files = h("div", { class: "actions" }, copy, save);
  const form = h(
    "form",
    { class: "fields", onsubmit: (/** @type {SubmitEvent} */ event) => send(event, button, false) },
    field("Visitors", visits, "Also show whole numbers for this many visitors. Empty: shares only."),
    h("div", { class: "actions" }, button),
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Shares" },
    h("h2", {}, "Where to send visitors"),
    about,
    table,
    more,
    mayAsk && form,
    mayAsk && files,
    mayAsk && another,
    error.element,
  );

  /**
   * The shares of the period, with whole numbers of so many visitors; they are stored by now.
   *
   * @param {string} [period]
   */
  async function ask(period) {
    const some = visits.value.trim();
    const total = number(visits);
    if (some && (total === null || !Number.isInteger(total) || total < 1)) {
      error.say("The number of visitors is a whole number, such as 10000.");
      return null;
    }
    known = await post(studyPath(name, "/split"), {
      ...(total === null ? {} : { visits: total }),
      ...(period ? { period } : {}),
    });
    return known;
  }

  /**
   * @param {SubmitEvent} event
   * @param {HTMLButtonElement} pressed
   * @param {boolean} named
   */
  function send(event, pressed, named) {
    event.preventDefault();
    const period = called.value.trim();
    if (named && !period) return error.say("Give the period a name.");
    return submit(pressed, error, async () => {
      if (!(await ask(named ? period : undefined))) return;
      if (named) {
        called.value = "";
        another.open = false;
      }
      onChange();
    });
  }

  async function copied() {
    const found = await ask();
    if (!found) return;
    await navigator.clipboard.writeText(found.csv).catch(() => {
      error.say("Your browser does not allow copying here; download the file instead.");
    });
    announce("Shares copied");
    onChange();
  }

  async function saved() {
    const found = await ask();
    if (!found) return;
    const url = URL.createObjectURL(new Blob([found.csv], { type: "text/csv" }));
    const plain = name.replace(/[^\w.-]/g, "_");
    h("a", { href: url, download: `${plain}.shares-${found.number + 1}.csv` }).click();
    URL.revokeObjectURL(url);
    onChange();
  }

  return {
    element,
    update({ status }) {
      const at = /** @type {Api.Traffic} */ (status.traffic);
      const newest = at.open.at(-1);
      element.hidden = status.finished;
      if (status.finished) return;
      if (known && known.number !== newest?.number) known = null;
      write(button, newest ? "Show" : "Get the shares of the next period");
      files.hidden = table.hidden = another.hidden = !newest;
      write(about, newest ? running(newest) : FIRST);
      write(earlier, at.window ? WITH_WINDOW : "Start another period before this one is recorded");
      const whole = known?.visits ?? null;
      last.hidden = whole === null;
      const sent = status.labels.map((_, i) => i).filter((i) => at.shares?.[i]);
      sent.sort((a, b) => (at.shares?.[b] ?? 0) - (at.shares?.[a] ?? 0) || a - b);
      put(
        body,
        sent.slice(0, MOST).map((i) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, status.labels[i]),
            h("td", { class: "number" }, `${(100 * (at.shares?.[i] ?? 0)).toFixed(2)} %`),
            whole && h("td", { class: "number" }, count(whole[status.labels[i]])),
          ),
        ),
      );
      write(more, newest ? rest(sent.length, status.labels.length) : "");
    },
  };
}

const FIRST =
  "Shares are fixed before visitors come, and stay the same until the period is recorded. End a " +
  "period at a set time or after a set number of visitors, never because of how it looks.";

const SHORT =
  " A few hundred visitors per option are enough for the first period: a tenth of them guides, and " +
  "the rest counts (with guardrails, or rewards other than yes or no, all of them guide).";

const WITH_WINDOW = "Start the next period; visitors of this one still have time to respond";

/** @param {Api.OpenPeriod} period */
function running(period) {
  const called = period.period === null ? "" : ` (${period.period})`;
  const short = period.number === 0 ? SHORT : "";
  return (
    `Period ${count(period.number + 1)}${called}, since ${moment(period.since)}. Assign each visitor ` +
    `at random by these shares, until the period is recorded.${short}`
  );
}

/**
 * @param {number} sent
 * @param {number} all
 */
function rest(sent, all) {
  const hidden = sent > MOST ? `${count(sent - MOST)} more have smaller shares: see the file. ` : "";
  const others = all - sent === 1 ? "one gets" : `${count(all - sent)} get`;
  const out = all > sent ? `The other ${others} no more visitors: that is decided.` : "";
  return hidden + out;
}
