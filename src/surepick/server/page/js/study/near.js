// Two options that are nearly equal: what that is, and three ways out, with what each costs.

import { get, post, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { confirm } from "../parts/confirm.js";
import { errorLine, field, input, submit } from "../parts/field.js";
import { isAdmin } from "../session.js";

const ACCEPTING =
  "The answer may then be worse than the best by so much, and promises no more. The guarantee stands, whatever you have " +
  "seen so far. It can be made larger later, but not smaller.";

/**
 * @param {string} name
 * @param {() => void} onChange
 * @returns {Card}
 */
export function nearCard(name, onChange) {
  const message = h("p", {});
  const refused = h("p", { class: "explain" });
  const error = errorLine();
  const costs = { accept: h("span", {}), go: h("span", {}) };
  const within = input({ type: "text", inputmode: "decimal", maxlength: 40 });
  const reason = input({ type: "text", maxlength: 2000 });
  const accept = h("button", { class: "button small", type: "submit" }, "Accept");
  const go = h("button", { class: "button small", type: "button", onclick: hide }, "Go on");
  const stop = h("button", { class: "button small", type: "button", onclick: end }, "End undecided");
  const form = h(
    "form",
    { class: "fields", onsubmit: send },
    field("Accept what is within … of the best", within, "In the unit of rewards."),
    field("Why that is enough", reason, "Anyone who sees the certificate can read this."),
    h("p", { class: "explain wide" }, ACCEPTING),
    h("div", { class: "actions wide" }, accept),
  );
  const element = h(
    "section",
    { class: "card near", "aria-label": "Nearly equal", hidden: true },
    h("h2", {}, "Nearly equal"),
    message,
    h(
      "ul",
      {},
      h("li", {}, h("strong", {}, "Accept either. "), costs.accept),
      h("li", {}, h("strong", {}, "Go on. "), costs.go),
      h("li", {}, h("strong", {}, "End undecided. "), "No more measurements, and nothing is proven of these options."),
    ),
    refused,
    form,
    h("div", { class: "actions" }, go, stop),
    error.element,
  );
  let hidden = false;
  let asked = "";

  function hide() {
    hidden = true;
    element.hidden = true;
  }

  async function end() {
    const question = `No option is proven to be the best of those left. This cannot be undone.`;
    if (!(await confirm(`End ${name} undecided?`, question, "End it"))) return;
    await submit(stop, error, async () => {
      await post(studyPath(name, "/acts/stop"), {});
      onChange();
    });
  }

  /** @param {SubmitEvent} event */
  function send(event) {
    event.preventDefault();
    const epsilon = Number(within.value.trim().replace(",", "."));
    if (!(epsilon > 0)) return error.say("Give a number above 0.");
    if (!reason.value.trim()) return error.say("Give a reason; it is stored and appears in the certificate.");
    return submit(accept, error, async () => {
      await post(studyPath(name, "/acts/accept"), { epsilon, reason: reason.value.trim() });
      asked = "";
      onChange();
    });
  }

  /** @param {number} epsilon */
  async function price(epsilon) {
    write(costs.accept, "…");
    try {
      const found = await get(studyPath(name, `/forecast?epsilon=${epsilon}`));
      write(costs.accept, `${found.text}, if what is within ${epsilon} of the best is accepted from now on.`);
    } catch {
      write(costs.accept, "What it takes is not known.");
    }
  }

  return {
    element,
    update({ status, forecast }) {
      const near = status.finished ? null : status.near;
      element.hidden = hidden || !near;
      if (!near) return;
      write(message, near.message.replace("Nearly equal: ", "")); // the heading says it
      write(costs.go, forecast ? `${forecast.text}.` : "Until they are told apart, or a limit is reached.");
      const can = isAdmin() && !near.refused;
      form.hidden = !can;
      stop.hidden = !isAdmin();
      put(refused, near.refused && `Accepting is not possible here: ${near.refused}.`);
      const key = `${status.batch.number} ${status.revision} ${near.epsilon}`;
      if (key === asked) return;
      asked = key;
      if (!within.value) within.value = String(near.epsilon);
      if (near.refused) write(costs.accept, "Not in this study.");
      else price(near.epsilon);
    },
  };
}
