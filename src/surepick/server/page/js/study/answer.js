// The answer with how sure it is in plain words, the certificate, and its independent check.

import { announce } from "../announce.js";
import { download, post, studyPath } from "../api.js";
import { h, icon, put } from "../dom.js";
import { count, countedBy, plural, short } from "../format.js";
import { errorLine, submit } from "../parts/field.js";
import { notice } from "../parts/states.js";
import { liftEnds, PROVEN } from "./model.js";

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
      put(verdict, h("p", { class: "muted" }, "Checking every comparison…"));
      try {
        put(verdict, shown(await post(studyPath(name, "/verify"), {})));
      } catch (problem) {
        put(verdict);
        throw problem;
      }
    });
  }

  const labels = answer.labels ?? [answer.label];
  announce(compared ? "Finished." : `Finished. ${ending(answer, labels)}`);
  return h(
    "section",
    { class: `card answer ${sure ? "" : "unsure"}`, "aria-label": "The answer" },
    compared
      ? comparison(answer)
      : [
          h("p", { class: "over" }, found(answer, labels.length, model.status)),
          // In a circle each beats the next one, so that none should be taken for the best.
          (nobody(answer) ? [circle(answer)] : labels).map((label) => h("p", { class: "name" }, label)),
        ],
    h("p", { class: "promise" }, answer.guarantee.plain),
    !compared &&
      same.length > 0 &&
      h("p", {}, `Just as good, because they have the same features: ${same.join(", ")}.`),
    h(
      "p",
      { class: "exact" },
      `It took ${plural(answer.samples, countedBy(model.status).unit)} of ${plural(measured(answer, model), "option")}.`,
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
 * How many options were measured; of pairs, all are.
 *
 * @param {Api.AnswerOf} answer
 * @param {import("./model.js").Model} model
 */
const measured = (answer, model) =>
  model.status.pairs ? model.size : answer.pulls.filter((n) => n > 0).length;

/**
 * What the options that are named turned out to be.
 *
 * @param {Api.AnswerOf} answer
 * @param {number} named
 * @param {Api.Status} status
 */
function found(answer, named, { standing, promise: { close } }) {
  const options = named > 1 ? `${named} options` : "option";
  if (nobody(answer))
    return standing.question === "cheapest" ? "No option is good enough" : "No option beats every other";
  if (answer.guarantee.kind === "if-any") return "Not shown to be the best, but only if any option is";
  if (!PROVEN.includes(answer.guarantee.kind))
    return `The ${options} that look${named > 1 ? "" : "s"} best`;
  if (answer.guarantee.kind === "eps-pac") return close.charAt(0).toUpperCase() + close.slice(1);
  return `The best ${options}`;
}

/** @type {(answer: Api.AnswerOf, labels: string[]) => string} */
function ending(answer, labels) {
  if (answer.guarantee.kind === "if-any") return `If any option is the best, it is ${labels.join(", ")}.`;
  return `The answer is ${nobody(answer) ? "nobody" : labels.join(", ")}.`;
}

/** @type {(answer: Api.AnswerOf) => boolean} */
const nobody = (answer) => answer.guarantee.kind === "nobody";

/** @param {Api.AnswerOf} answer */
const circle = ({ circle: found }) =>
  found?.length ? [...found, found[0]].join(" beats ") : "nobody";

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
    answer.ruled_out ? ["Ruled out", answer.ruled_out] : ["Worse", answer.worse ?? []],
  ];
  const close = answer.close ?? [];
  if (close.length) groups.push(["As good", close]);
  groups.push(["Undecided", (answer.undecided ?? []).filter((label) => !close.includes(label))]);
  /** @type {(label: string, group: string) => string} */
  const said = (label, group) => {
    const [estimate, low, high] = lifts[label];
    const ends = liftEnds(group.toLowerCase(), low, high, short, Boolean(answer.minimise));
    return `${label} (${(estimate ?? 0) > 0 ? "+" : ""}${short(estimate ?? 0)}${ends && `; ${ends}`})`;
  };
  return h(
    "dl",
    { class: "facts" },
    groups.map(([title, labels]) => [
      h("dt", {}, `${title}: ${labels.length}`),
      h("dd", {}, labels.map((label) => said(label, title)).join("; ") || "none"),
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
    ["Comparisons recomputed", count(result.checked)],
  ];
  return notice(
    proven ? "good" : "caution",
    h(
      "strong",
      {},
      proven
        ? "The certificate holds."
        : "The record is valid, but it does not prove the answer.",
    ),
    " An independent program, which shares no code with the algorithms, recomputed everything from the measurements.",
    h(
      "dl",
      { class: "facts" },
      facts.map(([term, said]) => [h("dt", {}, term), h("dd", {}, said)]),
    ),
  );
}
