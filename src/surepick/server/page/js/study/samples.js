// For those who measure by hand: the next measurements, a box for each result, a sheet to print.

import { announce } from "../announce.js";
import { newId, post, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { errorLine, field, input, number, submit } from "../parts/field.js";
import { role } from "../session.js";

const NAME = "surepick-who-measures"; // where the browser remembers it
const LEASE = 3600; // seconds for which samples are kept for somebody

/** Whether whoever is logged in may measure. */
const mayMeasure = () => role() === "admin" || role() === "worker";

/**
 * @param {string} name of the study
 * @param {() => void} onChange
 * @returns {Card}
 */
export function samplesCard(name, onChange) {
  const who = input({ type: "text", maxlength: 200, value: remembered() });
  const many = input({ type: "number", min: 1, max: 1000, value: "6", inputmode: "numeric" });
  const error = errorLine();
  const button = h("button", { class: "button primary", type: "submit" }, "Get the next measurements");
  const print = h("button", { class: "button small", type: "button", onclick: printed }, "Print this sheet");
  const rows = h("tbody", {});
  const heads = h("tr", {});
  /** @type {string[]} further numbers that every measurement has */
  let numbers = [];
  const saved = h("p", { class: "explain", role: "status" });
  const title = h("caption", {});
  const list = h(
    "div",
    { hidden: true, class: "samples" },
    h(
      "table",
      { class: "plain-table" },
      title,
      h("thead", {}, heads),
      rows,
    ),
    saved,
    h("div", { class: "actions" }, print),
  );
  const element = h(
    "section",
    { class: "card sheet", "aria-label": "Measure", hidden: !mayMeasure() },
    h("h2", {}, "Measure"),
    h(
      "form",
      { class: "fields", onsubmit: ask },
      field("Your name", who, "Whoever asks again first gets what is still open."),
      field("How many", many),
      h("div", { class: "actions" }, button),
      error.element,
    ),
    list,
  );

  let request = newId(); // the same until it was answered

  /** @param {SubmitEvent} event */
  function ask(event) {
    event.preventDefault();
    const n = number(many);
    if (!who.value.trim()) return error.say("Give your name; it is kept with the results.");
    if (n === null || n < 1 || !Number.isInteger(n)) return error.say("How many? Give a whole number.");
    remember(who.value.trim());
    return submit(button, error, async () => {
      const asked = { n, worker: who.value.trim(), lease: LEASE, request };
      /** @type {Api.AskReply} */
      const found = await post(studyPath(name, "/ask"), asked);
      request = newId();
      list.hidden = !found.pulls.length;
      if (found.finished) error.say("The study is finished: there is nothing left to measure.");
      else if (!found.pulls.length) error.say("Nothing to measure now: the others have it all. Try again later.");
      write(title, `Measurements for ${asked.worker}, ${name}`);
      const titles = ["Measurement", "Option", numbers.length ? "Reward" : "Result", ...numbers];
      put(heads, titles.map((text) => h("th", { scope: "col" }, text)));
      list.classList.toggle("several", numbers.length > 0);
      put(rows, found.pulls.map(row));
      write(saved, "");
      boxes()[0]?.focus();
    });
  }

  /** @param {Api.PullOut} pull */
  function row(pull) {
    const option = pull.first === null ? pull.label : `${pull.first} or ${pull.second}`;
    const item = pull.item === null ? "" : `, item ${pull.item}`;
    /** @param {string} what */
    const made = (what) => {
      const one = input({
        type: "text",
        inputmode: "decimal",
        "aria-label": `${what} of measurement ${pull.id}, ${option}`,
        onkeydown(/** @type {KeyboardEvent} */ event) {
          if (event.key === "Enter") entered(one);
          if (event.key === "ArrowDown") beside(one, step)?.focus();
          if (event.key === "ArrowUp") beside(one, -step)?.focus();
        },
        onchange: () => save(),
      });
      return one;
    };
    const box = made("Result");
    const more = numbers.map(made); // told with the result, once all are there
    const all = [box, ...more];
    const step = all.length;
    const last = all[step - 1];
    const state = h("span", { class: "hint", role: "status" });
    let sending = false;

    /** @param {HTMLInputElement} one Where somebody went on: to what is still empty, or it is saved. */
    function entered(one) {
      const empty = one.value.trim() && all.find((other) => !other.value.trim());
      if (empty) empty.focus();
      else save();
    }

    async function save() {
      if (sending || box.disabled || all.some((one) => !one.value.trim())) return;
      const values = all.map((one) => (pull.first === null ? number(one) : one.value.trim()));
      if (values.includes(null)) return write(state, "Not a number; type 4.56 or 4,56.");
      sending = true;
      try {
        const told_numbers = Object.fromEntries(numbers.map((name, i) => [name, values[i + 1]]));
        const one = {
          pull: pull.id,
          reward: values[0],
          label: pull.label,
          ...(numbers.length ? { numbers: told_numbers } : {}),
        };
        /** @type {Api.ToldAll} */
        const { told } = await post(studyPath(name, "/tell"), { rewards: [one], worker: who.value.trim() });
        all.forEach((each) => (each.disabled = told[0].status !== "again"));
        write(state, SAID[told[0].status] + (told[0].warning ? ` ${asked(told[0].warning)}` : ""));
        announce(`Measurement ${pull.id}: ${SAID[told[0].status]}`);
        const left = boxes();
        if (left.length) beside(last, 1, true)?.focus();
        else write(saved, "All results are saved. Get the next measurements.");
        if (!left.length) button.focus();
        onChange();
      } catch (problem) {
        if (problem.status === undefined) throw problem;
        write(state, problem.message);
      } finally {
        sending = false;
      }
    }
    return h(
      "tr",
      {},
      h("td", { class: "number" }, pull.id),
      h("td", { class: "option" }, option, item),
      all.map((one, i) => h("td", {}, one, i === step - 1 && state)),
    );
  }

  const boxes = () =>
    /** @type {HTMLInputElement[]} */ ([...rows.querySelectorAll("input")]).filter((one) => !one.disabled);

  /**
   * The box above or below; after the last one comes the first that is still empty.
   *
   * @param {HTMLInputElement} box
   * @param {number} step
   * @param {boolean} [around]
   */
  function beside(box, step, around = false) {
    const all = /** @type {HTMLInputElement[]} */ ([...rows.querySelectorAll("input")]);
    for (let i = all.indexOf(box) + step; i >= 0 && i < all.length; i += step)
      if (!all[i].disabled) return all[i];
    return around ? boxes()[0] : null;
  }

  function printed() {
    document.body.classList.add("prints-sheet");
    window.addEventListener("afterprint", () => document.body.classList.remove("prints-sheet"), { once: true });
    window.print();
  }

  return {
    element,
    update({ status }) {
      numbers = status.numbers ?? [];
      element.hidden = !mayMeasure() || status.finished;
    },
  };
}

/** @type {(warning: string) => string} What to look at again; most are questions. */
const asked = (warning) => (warning.endsWith("?") ? warning : `Please check: ${warning}.`);

/** @type {Record<Api.Told["status"], string>} */
const SAID = {
  accepted: "Saved.",
  duplicate: "It was saved before.",
  late: "Somebody else was faster; theirs counts.",
  conflict: "There is another result already, which counts.",
  again: "Far from all before: measure it again.",
};

function remembered() {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name */
function remember(name) {
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // Storage may be forbidden: the name is typed again.
  }
}
