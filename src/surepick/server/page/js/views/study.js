// A study, live.

import { announce } from "../announce.js";
import { get, studyPath } from "../api.js";
import { h, put, write } from "../dom.js";
import { algorithmName, short } from "../format.js";
import { watch } from "../live.js";
import { bones, failed, notice } from "../parts/states.js";
import { isAdmin } from "../session.js";
import { actsCard } from "../study/acts.js";
import { answerCard } from "../study/answer.js";
import { batchCard } from "../study/batch.js";
import { checksCard, warningList } from "../study/checks.js";
import { asideForm } from "../study/aside.js";
import { correctionForm } from "../study/corrections.js";
import { eventsCard } from "../study/events.js";
import { exportCard, judgesToken, workersCard } from "../study/exports.js";
import { headline, pieces } from "../study/headline.js";
import { keptCard } from "../study/kept.js";
import { limitsCard } from "../study/limits.js";
import { measurementsCard } from "../study/measurements.js";
import { nearCard } from "../study/near.js";
import { Model } from "../study/model.js";
import { pairCards } from "../study/pairs/cards.js";
import { optionForms } from "../study/option_changes.js";
import { optionsCard } from "../study/options.js";
import { rivalsCard } from "../study/rivals.js";
import { samplesCard } from "../study/samples.js";
import { shrinkCard } from "../study/shrink.js";
import { steeringCard } from "../study/steering.js";
import { reportCorrectionForm } from "../study/traffic/corrections.js";
import { morningCard } from "../study/traffic/morning.js";
import { reportCard } from "../study/traffic/report.js";
import { splitCard } from "../study/traffic/split.js";

const STATES = {
  connecting: ["badge", "Connecting"],
  live: ["badge live pulse", "Live"],
  waiting: ["badge", "Waiting for workers"],
  unjudged: ["badge", "Waiting for judges"],
  period: ["badge live", "Period under way"],
  between: ["badge", "Between periods"],
  paused: ["badge caution", "Paused"],
  retrying: ["badge caution", "Disconnected"],
  finished: ["badge good", "Finished"],
};

/** @type {(name: string) => View} */
export const studyView = (name) => (scope) => {
  const offline = h("div", { class: "offline", hidden: true });
  const page = h("div", {}, head(name), offline, bones("", "tall", "tall"));
  const parts = {
    warnings: warningList(),
    near: nearCard(name, () => again()),
    rivals: rivalsCard(),
    options: optionsCard(),
    checks: checksCard(),
    exports: exportCard(name),
    steering: steeringCard(name, () => again()),
  };
  /** @type {Record<string, Card>} made when it is known what kind of study this is */
  let own = {};
  const shrink = shrinkCard();
  const badge = h("span", {});
  const settings = h("p", { class: "number" });
  const answer = h("div", { hidden: true });
  const places = {
    right: h("div", { class: "column" }),
    lower: h("div", { class: "column" }),
    log: h("div", { class: "column" }),
  };
  /** @type {boolean | null} */
  let arranged = null;
  /** @type {Model | null} */
  let model = null;
  /** @type {Api.ForecastOf | null} */
  let forecast = null;
  let wanted = false;
  let asking = false;
  let seen = "";
  /** @type {keyof typeof STATES} what the study is doing while it is not finished */
  let doing = "waiting";
  let connected = false;

  /** @param {Api.Status} status */
  function show(status) {
    if (scope.left) return;
    if (!model) put(page, built(status));
    model = new Model(status, forecast);
    doing = doingNow(status);
    if (connected && !status.finished) state("live");
    write(settings, describe(status));
    arrange(status);
    for (const part of Object.values({ ...parts, ...own })) part.update(model);
    // A correction may change the past, and even take back the end.
    const now = `${status.batch.number} ${status.revision} ${status.finished}`;
    if (now !== seen) {
      seen = now;
      announce(status.traffic?.headline ?? pieces(status, forecast).join(", "));
      history(status);
      if (!status.finished && !status.traffic) lookAhead();
      answer.hidden = !status.finished;
      if (status.finished) conclude();
    }
  }

  /** @param {Api.Status} status */
  async function history(status) {
    try {
      /** @type {Api.HistoryOf} */
      const found = await get(studyPath(name, "/history"), { signal: scope.signal });
      shrink.update(found.batches, status);
    } catch (problem) {
      if (problem.name !== "AbortError") shrink.update([], status);
    }
  }

  /** Asks for a forecast, one at a time; batches that come meanwhile share the next one. */
  async function lookAhead() {
    wanted = true;
    if (asking) return;
    asking = true;
    while (wanted && !scope.left) {
      wanted = false;
      try {
        forecast = await get(studyPath(name, "/forecast"), { signal: scope.signal });
      } catch {
        forecast = null; // the page does without; what is wrong shows elsewhere
      }
      if (model && !scope.left) show(model.status);
    }
    asking = false;
  }

  async function conclude() {
    try {
      /** @type {Api.AnswerOf} */
      const found = await get(studyPath(name, "/answer"), { signal: scope.signal });
      put(answer, answerCard(name, found, /** @type {Model} */ (model)));
    } catch (problem) {
      if (problem.name === "AbortError") return;
      put(answer, notice("bad", problem.message));
    }
    answer.hidden = false;
  }

  /**
   * @param {keyof typeof STATES} kind
   * @param {number} [seconds]
   */
  function state(kind, seconds) {
    connected = kind === "live";
    // "Live" is only said when somebody measures.
    const [className, text] = STATES[connected && model ? doing : kind];
    badge.className = className;
    write(badge, text);
    offline.hidden = kind !== "retrying";
    if (kind === "retrying") {
      put(
        offline,
        notice(
          "caution",
          h("strong", {}, "The service does not answer. "),
          `What you see may be out of date. Trying again in ${seconds} s.`,
        ),
      );
    }
  }

  /**
   * A finished study has no rivals and no batch: the checks take their place.
   *
   * @param {Api.Status} status
   */
  function arrange({ finished }) {
    if (arranged === finished) return;
    arranged = finished;
    put(places.right, parts.rivals.element, finished && parts.checks.element);
    put(places.lower, finished ? own.events?.element : parts.checks.element);
    put(places.log, !finished && own.events?.element);
  }

  /** @param {Api.Status} status */
  function built(status) {
    return status.traffic ? builtForTraffic() : builtForWorkers(status);
  }

  /** @param {Api.Status} status */
  function builtForWorkers({ samples, pairs, finished, options_change, numbers, strata, items }) {
    const first = {
      headline: headline(),
      batch: batchCard(),
      // Pairs are judged on a page of their own.
      ...(pairs ? {} : { samples: samplesCard(name, () => again()) }),
    };
    const correction = correctionForm(name, () => again(), pairs, numbers);
    const log = {
      events: eventsCard(name, scope),
      acts: actsCard(name, scope, [
        correction.element,
        ...(items === null ? [asideForm(name, () => again(), strata ?? "batch")] : []),
        ...(options_change ? optionForms(name, () => again()) : []),
      ]),
      limits: limitsCard(name, () => again()),
      ...(pairs ? {} : { measured: measurementsCard(name, scope, correction.open) }),
    };
    const judged = pairs ? pairCards(name, scope) : null;
    const kept = keptCard();
    own = { ...first, ...log, kept, ...(judged && { wins: judged.wins }) };
    const workers = isAdmin() && (pairs ? judgesToken(name) : workersCard(name));
    const waiting = samples === 0; // then a worker is what is needed most
    return [
      head(name, settings, badge, pairs && !finished && isAdmin() && judgeLink(name)),
      offline,
      h("div", { class: "study-top" }, first.headline.element, parts.near.element, parts.warnings.element, answer),
      h(
        "div",
        { class: "study-grid" },
        h(
          "div",
          { class: "column" },
          first.samples?.element,
          waiting && workers,
          first.batch.element,
          shrink.element,
        ),
        places.right,
        !judged && kept.element,
        judged ? judged.wins.element : parts.options.element,
        judged ? h("div", { class: "column" }, judged.judges, places.lower) : places.lower,
        h(
          "div",
          { class: "column" },
          places.log,
          log.measured?.element,
          log.acts.element,
          parts.exports.element,
          !waiting && workers,
          log.limits.element,
          isAdmin() && parts.steering.element,
        ),
      ),
    ];
  }

  function builtForTraffic() {
    const split = splitCard(name, () => again());
    const report = reportCard(name, () => again());
    const morning = morningCard();
    const acts = actsCard(name, scope, [
      reportCorrectionForm(name, () => again()),
      asideForm(name, () => again(), "period"),
    ]);
    own = { morning, split, report, acts };
    return [
      head(name, settings, badge),
      offline,
      h("div", { class: "study-top" }, answer, parts.near.element, parts.warnings.element, morning.element),
      h(
        "div",
        { class: "study-grid" },
        h("div", { class: "column" }, split.element),
        h("div", { class: "column" }, report.element),
        parts.options.element,
        h("div", { class: "column" }, shrink.element, places.lower),
        h(
          "div",
          { class: "column" },
          places.right,
          acts.element,
          parts.exports.element,
          isAdmin() && parts.steering.element,
        ),
      ),
    ];
  }

  state("connecting");
  const again = watch(name, scope, {
    onStatus: show,
    onNews: () => {},
    onState: state,
    onRefused(error) {
      const there = error.status !== 403 && error.status !== 404;
      put(page, head(name), failed(error), there && isAdmin() && steeringCard(name, () => {}).element);
    },
  });
  return page;
};

/** @type {(name: string) => HTMLElement} */
const judgeLink = (name) =>
  h("a", { class: "button primary", href: `#/judge/${encodeURIComponent(name)}` }, "Judge");

/** @type {(name: string, settings?: HTMLElement, badge?: HTMLElement, more?: any) => HTMLElement} */
const head = (name, settings, badge, more) =>
  h(
    "div",
    { class: "view-head" },
    h(
      "div",
      {},
      h("p", { class: "crumb" }, h("a", { href: "#/studies" }, "Studies")),
      h("h1", {}, name),
      settings,
    ),
    more,
    badge,
  );

/**
 * @param {Api.Status} status
 * @returns {keyof typeof STATES}
 */
function doingNow({ traffic, pairs, paused, batch }) {
  if (traffic) return traffic.open.length ? "period" : "between";
  return paused ? "paused" : batch.leased ? "live" : pairs ? "unjudged" : "waiting";
}

/** @param {Api.Status} status */
function describe(status) {
  const rewards = status.pairs ? `judged: ${status.rewards}` : `rewards: ${status.rewards}`;
  const parts = [algorithmName(status.algorithm), rewards];
  if (status.epsilon)
    parts.push(
      status.pairs
        ? `close enough: loses at most ${short(100 * (0.5 + status.epsilon))} % to the best`
        : `${short(status.epsilon)} is close enough`,
    );
  // What a finished study promises stands with its answer.
  if (!status.finished) parts.push(status.promise.text);
  return parts.join(" · ");
}
