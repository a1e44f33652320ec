// The answer with how sure it is in plain words, the certificate, and its independent check.

import { announce } from "../announce.js";
import { download, post, studyPath } from "../api.js";
import { h, icon, put } from "../dom.js";
import { count, countedBy, plural, short } from "../format.js";
import { errorLine, submit } from "../parts/field.js";
import { notice } from "../parts/states.js";

/** Kinds of guarantees that have a theorem behind them. */
const PROVEN = ["pac", "eps-pac", "claims", "fdr"];

/**
 * How sure an answer is that is not proven.
 *
 * @param {number} p
 */
function sureness(p) {
  if (p >= 1) return "Nothing speaks against each of the others yet (p-value 1).";
  return `If another option is the best, so much speaks for this one with a chance of at most ${short(p)}, however often one looks.`;
}

/**
 * The card at the top of a finished study.
 *
 * @param {string} name
 * @param {Api.AnswerOf} answer
 * @param {import("./model.js").Model} model
 */
export function answerCard(name, answer, model) {
  const sure = PROVEN.includes(answer.guarantee.kind);
  const compared = Boolean(answer.lifts);
  const verdict = h("div", { "aria-live": "polite" });
  const error = errorLine();
  const verify = h(
    "button",
    { class: "button primary", type: "button", onclick: check },
    icon("check"),
    "Verify",
  );
  const same = answer.equivalent.map((i) => model.labels[i]);

  function check() {
    return submit(verify, error, async () => {
      put(verdict, h("p", { class: "muted" }, "Checking every comparison again…"));
      try {
        put(verdict, shown(await post(studyPath(name, "/verify"), {})));
      } catch (problem) {
        put(verdict);
        throw problem;
      }
    });
  }

  const labels = answer.labels ?? [answer.label];
  const options = labels.length > 1 ? `${labels.length} options` : "option";
  announce(compared ? "Finished." : `Finished. The answer is ${labels.join(", ")}.`);
  return h(
    "section",
    { class: `card answer ${sure ? "" : "unsure"}`, "aria-label": "The answer" },
    compared
      ? comparison(answer)
      : [
          h(
            "p",
            { class: "over" },
            sure ? `The best ${options}` : `The ${options} that look${labels.length > 1 ? "" : "s"} best`,
          ),
          labels.map((label) => h("p", { class: "name" }, label)),
        ],
    h("p", { class: "promise" }, answer.guarantee.plain),
    !sure && typeof answer.p_value === "number" && h("p", {}, sureness(answer.p_value)),
    !compared &&
      same.length > 0 &&
      h("p", {}, `Just as good, as they have the same features: ${same.join(", ")}.`),
    h(
      "p",
      { class: "exact" },
      `It took ${plural(answer.samples, countedBy(model.status).unit)} of ${plural(answer.pulls.filter((n) => n > 0).length, "option")}.`,
    ),
    exactly(answer.guarantee.text),
    h(
      "div",
      { class: "actions" },
      verify,
      h(
        "a",
        { class: "button", href: download(name, "/certificate"), download: "" },
        icon("down"),
        "Certificate",
      ),
    ),
    error.element,
    verdict,
  );
}

/**
 * What is better than the baseline, what is worse, and what is neither, with lifts.
 *
 * @param {Api.AnswerOf} answer
 */
function comparison(answer) {
  const lifts = answer.lifts ?? {};
  /** @type {[string, string[]][]} */
  const groups = [
    ["Better", answer.better ?? []],
    ["Worse", answer.worse ?? []],
    ["Undecided", answer.undecided ?? []],
  ];
  /** @param {string} label */
  const said = (label) => {
    const [estimate, low, high] = lifts[label];
    const ends = low !== null && high !== null ? `, between ${short(low)} and ${short(high)}` : "";
    return `${label} (${(estimate ?? 0) > 0 ? "+" : ""}${short(estimate ?? 0)}${ends})`;
  };
  return h(
    "dl",
    { class: "facts" },
    groups.map(([title, labels]) => [
      h("dt", {}, `${title}: ${labels.length}`),
      h("dd", {}, labels.map(said).join("; ") || "none"),
    ]),
  );
}

/**
 * The sentence of the certificate, with its theorem, for those who ask for it.
 *
 * @param {string} text
 */
const exactly = (text) =>
  h(
    "details",
    { class: "fold exact" },
    h("summary", {}, "Exactly, with the theorem"),
    h("p", {}, `${text}.`),
  );

/** @param {Api.Verdict} result */
function shown(result) {
  if (!result.valid)
    return notice("bad", h("strong", {}, "The certificate does not hold. "), result.message);
  const proven = PROVEN.includes(result.guarantee);
  const facts = [
    ["Answer", result.labels.join(", ")],
    ["How sure", result.plain],
    ["Comparisons worked out again", count(result.checked)],
  ];
  return notice(
    proven ? "good" : "caution",
    h(
      "strong",
      {},
      proven
        ? "The certificate holds."
        : "The record is in order, but it does not prove the answer.",
    ),
    " An independent program, which shares nothing with the one that chose, worked out everything again from what was measured.",
    h(
      "dl",
      { class: "facts" },
      facts.map(([term, said]) => [h("dt", {}, term), h("dd", {}, said)]),
    ),
  );
}
