// A page to judge on: two things side by side, and which of them is better.

import { announce } from "../announce.js";
import { get } from "../api.js";
import { h, put, write } from "../dom.js";
import { plural } from "../format.js";
import { Line } from "../judge/line.js";
import { preload, shownThings } from "../judge/thing.js";
import { errorLine, field, input } from "../parts/field.js";
import { blank, bones, failed, notice } from "../parts/states.js";
import { Scope } from "../router.js";
import { onlyWorks } from "../session.js";

const KEY = "surepick-judge"; // the name under which somebody judges
const [FIRST, SECOND, TIE] = [1, 0, 0.5];
/** @type {Record<string, number>} */
const KEYS = { ArrowLeft: FIRST, ArrowRight: SECOND, " ": TIE };
const UNDO = ["Backspace", "u", "U"];

function kept() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name */
function keep(name) {
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // Storage may be forbidden: one says it again after a reload.
  }
}

/** @type {(name: string) => View} */
export const judgeView = (name) => (scope) => {
  const page = h("div", { class: "judging" }, bones("tall"));

  async function begin() {
    try {
      /** @type {Api.StudyList} */
      const { studies } = await get("/studies", { signal: scope.signal });
      const study = studies.find((one) => one.name === name);
      if (!study) return put(page, failed({ status: 404, message: `There is no study “${name}”.` }));
      if (!study.pairs)
        return put(
          page,
          blank("unknown", "Nothing to judge", "In this study options are measured one by one, not compared two at a time."),
        );
    } catch (problem) {
      if (problem.name === "AbortError") return;
      return put(page, failed(problem, begin));
    }
    const judge = kept();
    if (judge) judging(judge);
    else introduce("");
  }

  /**
   * Who is going to judge?
   *
   * @param {string} wrong what was wrong with the name that was given
   */
  function introduce(wrong) {
    const who = input({ type: "text", required: true, maxlength: 100, autocomplete: "nickname", value: kept() });
    const error = errorLine();
    if (wrong) error.say(wrong);
    /** @param {SubmitEvent} event */
    const start = (event) => {
      event.preventDefault();
      const given = who.value.trim();
      if (!given) return error.say("Give a name, so that others know who judged what.");
      keep(given);
      judging(given);
    };
    put(
      page,
      h(
        "section",
        { class: "card judge-start", "aria-label": "Start judging" },
        h("h1", {}, name),
        h("p", {}, "You see two things at a time. Say which one is better, or that neither is. Which of them comes first is drawn at random; judge each pair by itself."),
        h(
          "form",
          { class: "fields", onsubmit: start },
          field("Your name", who, "Those who run the study see who judged what."),
          error.element,
          h("div", { class: "actions" }, h("button", { class: "button primary", type: "submit" }, "Start")),
        ),
      ),
    );
    who.focus();
  }

  /** @param {string} judge */
  function judging(judge) {
    const own = new Scope(); // ends when somebody else judges on
    scope.atEnd(() => own.end());
    /** @type {Api.PullOut | null} */
    let seen = null;
    let troubled = 0;
    const trouble = h("div", { "aria-live": "polite" });
    const about = h("div", { class: "judge-about" });
    const sides = [h("div", { class: "side-body" }), h("div", { class: "side-body" })];
    const counted = h("span", { class: "number" });
    const saving = h("span", { class: "muted" });
    const undo = button("Undo", "⌫", () => line.undo(), "plain");
    const choices = [
      button("A is better", "←", () => say(FIRST), "primary"),
      button("Neither", "space", () => say(TIE), ""),
      button("B is better", "→", () => say(SECOND), "primary"),
    ];
    const pair = h(
      "div",
      { class: "pair" },
      sides.map((body, i) =>
        h("section", { class: "card side", "aria-label": "AB"[i] }, h("h2", { class: "which" }, "AB"[i]), body),
      ),
    );
    const bar = h("div", { class: "judge-bar" }, choices);
    const state = h("div", { class: "judge-state", hidden: true });
    put(
      page,
      h(
        "div",
        { class: "judge-head" },
        h("h1", {}, "Which one is better?"),
        h(
          "p",
          { class: "muted" },
          `${name} · `,
          counted,
          ` by ${judge} `,
          h("button", { class: "button small plain", type: "button", onclick: () => (own.end(), introduce("")) }, "Not you?"),
          saving,
        ),
        undo,
      ),
      trouble,
      about,
      pair,
      state,
      bar,
    );

    /** @type {(words: string, key: string, act: () => void, look: string) => HTMLButtonElement} */
    function button(words, key, act, look) {
      const made = h(
        "button",
        {
          class: `button ${look}`,
          type: "button",
          // Whoever clicks, and then takes the keys, means a tie by the space bar.
          onclick: (/** @type {MouseEvent} */ event) => (act(), event.detail && made.blur()),
        },
        words,
        h("kbd", { "aria-hidden": "true" }, key),
      );
      return made;
    }

    /** @param {number} value */
    function say(value) {
      if (!line.current) return;
      if (Date.now() > troubled) put(trouble);
      line.say(value);
    }

    /** @param {KeyboardEvent} event */
    function typed(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      const on = /** @type {HTMLElement} */ (event.target);
      if (on.closest("input, textarea, select")) return;
      if (event.key === " " && on.closest("button, a, summary")) return;
      if (event.key in KEYS && line.current) {
        event.preventDefault();
        say(KEYS[event.key]);
      } else if (UNDO.includes(event.key) && line.canUndo) {
        event.preventDefault();
        line.undo();
      }
    }

    function show() {
      if (own.left) return;
      const pull = line.current;
      write(counted, `${plural(line.count, "comparison")}`);
      write(saving, line.offline ? " The service does not answer; nothing is lost, it is tried again." : "");
      undo.disabled = !line.canUndo;
      pair.hidden = bar.hidden = about.hidden = !pull;
      state.hidden = Boolean(pull);
      if (!pull) put(state, idle(line));
      if (pull === seen) return;
      seen = pull;
      if (!pull) return;
      const shown = pull.shown ?? { both: [], first: [], second: [] };
      put(about, shown.both.length > 0 && h("section", { class: "card", "aria-label": "About both" }, shownThings(name, shown.both, "")));
      put(sides[0], shownThings(name, shown.first, "A"));
      put(sides[1], shownThings(name, shown.second, "B"));
      for (const body of sides) body.scrollTop = 0;
      scrollTo(0, 0);
      preload(name, line.next?.shown);
      announce("The next pair is shown.");
    }

    const line = new Line(name, judge, own, {
      onChange: show,
      onTrouble(text) {
        troubled = Date.now() + 2000; // to be read
        put(trouble, notice("caution", text));
      },
      onRefused(problem) {
        own.end();
        if (problem.status === 422) introduce(problem.message);
        else put(page, failed(problem));
      },
    });
    document.addEventListener("keydown", typed);
    own.atEnd(() => document.removeEventListener("keydown", typed));
    show();
  }

  begin();
  return page;
};

/** @param {Line} line */
function idle(line) {
  const readers = !onlyWorks();
  if (line.finished)
    return blank(
      "fine",
      "Done, thank you",
      `The study is finished. You judged ${plural(line.count, "pair")}.`,
      readers && h("a", { class: "button", href: `#/studies/${encodeURIComponent(line.study)}` }, "The answer"),
    );
  if (line.paused) return blank("dots", "Paused", "The study is paused. It goes on here by itself.");
  if (line.offline) return blank("alarm", "The service does not answer", "Nothing is lost. It is tried again.");
  return blank("dots", "One moment", "The other pairs of this round are with other judges. The next ones appear here by themselves.");
}
