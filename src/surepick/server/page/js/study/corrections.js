// Rewards that were corrected or withdrawn, with who, when and why; and for admins, the way to do it.

import { get, post, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { count, date, moment, plural, short } from "../format.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { isAdmin } from "../session.js";

const CAUTION =
  "The guarantee stands if which rewards are looked at again depends neither on the rewards nor on " +
  "whom you favour: all of a day, of a device, of a worker. If you look again only because a reward " +
  "seems too high or too low, it does not.";

/**
 * @param {string} name
 * @param {import("../router.js").Scope} scope
 * @param {() => void} onChange
 * @returns {Card}
 */
export function correctionsCard(name, scope, onChange) {
  let known = -1;
  /** @type {string[]} */
  let labels = [];
  const said = h("p", { class: "explain" });
  const list = h("ul", {});
  const box = h(
    "div",
    { class: "log", tabindex: "0", role: "region", "aria-label": "Corrections", hidden: true },
    list,
  );
  const element = h(
    "section",
    { class: "card", "aria-label": "Corrections" },
    h("h2", {}, "Corrections"),
    said,
    box,
    isAdmin() && form(),
  );

  /** @param {Api.ChangeRow[]} changes */
  function show(changes) {
    element.hidden = !changes.length && !isAdmin();
    box.hidden = !changes.length;
    write(
      said,
      changes.length
        ? `${plural(changes.length, "reward")} changed after being told.`
        : "A reward that was told wrongly can be corrected, or withdrawn.",
    );
    put(list, changes.slice().reverse().map(line));
  }

  /** @param {Api.ChangeRow} change */
  function line(change) {
    const old = change.old === null ? "a withdrawn reward" : short(change.old);
    const what =
      change.new === null ? `${old} does not count` : `${short(change.new)} counts instead of ${old}`;
    const by = change.by ? `, says ${change.by}` : "";
    return h(
      "li",
      {},
      h("time", { datetime: date(change.at).toISOString() }, moment(change.at)),
      h(
        "span",
        { class: "what" },
        h("strong", {}, labels[change.arm] ?? ""),
        ` (pull ${count(change.pull)}): ${what}${by}: ${change.reason}`,
      ),
    );
  }

  async function load() {
    try {
      /** @type {Api.ChangeList} */
      const found = await get(studyPath(name, "/corrections"), { signal: scope.signal });
      show(found.changes);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (problem.status === undefined) throw problem;
      known = -1; // the page says elsewhere that the service is gone; the next status asks again
    }
  }

  function form() {
    const pull = input({ type: "text", inputmode: "numeric" });
    const reward = input({ type: "text", inputmode: "decimal" });
    const reason = input({ type: "text", maxlength: 2000 });
    const error = errorLine();
    const button = h("button", { class: "button small", type: "submit" }, "Change the reward");
    const fields = h(
      "form",
      { class: "fields", onsubmit: send },
      field("Pull", pull, "Its number, as in the list of measurements."),
      field("Reward", reward, "What was really measured. Empty: the reward does not count."),
      field("Reason", reason, "Everybody who sees the certificate can read it."),
      h("p", { class: "explain" }, CAUTION),
      h("div", { class: "actions" }, button),
      error.element,
    );

    /** @param {SubmitEvent} event */
    function send(event) {
      event.preventDefault();
      const [which, value] = [number(pull), number(reward)];
      if (which === null || !Number.isInteger(which)) return error.say("Which pull? Its number.");
      if (reward.value.trim() && value === null) return error.say("The reward is not a number.");
      if (!reason.value.trim()) return error.say("Say why: it is kept, and part of the certificate.");
      return submit(button, error, async () => {
        const about = { pull: which, reason: reason.value.trim() };
        if (value === null) await post(studyPath(name, "/withdraw"), about);
        else await post(studyPath(name, "/correct"), { ...about, reward: value });
        for (const one of [pull, reward, reason]) one.value = "";
        onChange();
      });
    }
    return h("details", {}, h("summary", {}, "Correct or withdraw a reward"), fields);
  }

  return {
    element,
    update({ status }) {
      labels = status.labels;
      if (status.revision === known) return;
      known = status.revision;
      load();
    },
  };
}
