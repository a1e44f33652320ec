// The answer with its guarantee in plain words, the certificate, and its independent check.

import { announce } from "../announce.js";
import { download, post, studyPath } from "../api.js";
import { h, icon, put } from "../dom.js";
import { count, oneIn, plural, short, sureness } from "../format.js";
import { errorLine, submit } from "../parts/field.js";
import { notice } from "../parts/states.js";

/** Kinds of guarantees that have a theorem behind them. */
const PROVEN = ["pac", "eps-pac", "claims", "fdr"];

/**
 * What the guarantee means, for somebody who has never heard of one.
 *
 * @param {Api.AnswerOf} answer
 */
export function promise(answer) {
  const sure = sureness(answer.delta);
  const several = answer.labels?.length ?? 0;
  if (several) return promiseOfSeveral(answer, several);
  switch (answer.guarantee.kind) {
    case "pac":
      return `With probability at least ${sure}, this is the best option: at most ${oneIn(answer.delta)} such studies ends with a worse one.`;
    case "eps-pac":
      return `With probability at least ${sure}, no other option is better than this one by more than ${short(answer.epsilon)}.`;
    case "claims":
      return `With probability at least ${sure}, everything said here is right, at whatever moment one looks.`;
    case "fdr":
      return `Of what is said to be better or worse here, at most ${oneIn(answer.delta)} is wrong on average.`;
    case "heuristic":
      return "This option looks best, but there is no proven guarantee. The exact wording below says why.";
    default:
      return "The study ended before the evidence was complete: this option looks best so far, and nothing is promised.";
  }
}

/**
 * The same where several were asked for.
 *
 * @param {Api.AnswerOf} answer
 * @param {number} n
 */
function promiseOfSeveral(answer, n) {
  const sure = sureness(answer.delta);
  switch (answer.guarantee.kind) {
    case "pac":
      return `With probability at least ${sure}, these are the ${n} best options: at most ${oneIn(answer.delta)} such studies ends with another set. Which of them is better than which is not promised.`;
    case "eps-pac":
      return `With probability at least ${sure}, none of these is more than ${short(answer.epsilon)} below the lowest of the ${n} best.`;
    case "heuristic":
      return "These options look best, but there is no proven guarantee. The exact wording below says why.";
    default:
      return "The study ended before the evidence was complete: these options look best so far, and nothing is promised.";
  }
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
    h("p", { class: "promise" }, promise(answer)),
    !compared &&
      same.length > 0 &&
      h("p", {}, `Just as good, as they have the same features: ${same.join(", ")}.`),
    h(
      "p",
      { class: "exact" },
      `Exactly: ${answer.guarantee.text}. It took ${plural(answer.samples, "measurement")} of ${plural(answer.pulls.filter((n) => n > 0).length, "option")}.`,
    ),
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

/** @param {Api.Verdict} result */
function shown(result) {
  if (!result.valid)
    return notice("bad", h("strong", {}, "The certificate does not hold. "), result.message);
  const proven = PROVEN.includes(result.guarantee);
  const facts = [
    [result.labels.length > 1 ? "Options" : "Option", result.labels.join(", ")],
    ["Statement", result.statement],
    ["Comparisons recomputed", count(result.checked)],
    ["Error probability spent", `${short(result.risk)} of ${result.delta}`],
  ];
  return notice(
    proven ? "good" : "caution",
    h(
      "strong",
      {},
      proven ? "The certificate holds." : "The record is sound, but it promises nothing.",
    ),
    " An independent verifier, which shares no code with the algorithm, worked out again why every other option is ruled out.",
    h(
      "dl",
      { class: "facts" },
      facts.map(([term, said]) => [h("dt", {}, term), h("dd", {}, said)]),
    ),
  );
}
