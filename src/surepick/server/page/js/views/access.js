// Tokens: who may come in, and what they may do.

import { get, post, remove } from "../api.js";
import { h, put } from "../dom.js";
import { day } from "../format.js";
import { confirm } from "../parts/confirm.js";
import { copyable } from "../parts/copyable.js";
import { errorLine, field, input, submit } from "../parts/field.js";
import { judgeInvitation, workerInvitation } from "../parts/invitation.js";
import { bones, failed, notice } from "../parts/states.js";

/** @type {Record<string, string>} */
const ROLES = {
  worker: "Worker: measures options of chosen studies",
  judge: "Judge: compares two options at a time, without their names",
  viewer: "Viewer: sees everything, changes nothing",
  admin: "Admin: everything",
};
const DAY = 86400;
const TIMES = [
  ["", "never"],
  [DAY, "in a day"],
  [7 * DAY, "in a week"],
  [30 * DAY, "in 30 days"],
  [365 * DAY, "in a year"],
];

/** @type {View} */
export const accessView = (scope) => {
  const list = h("div", {}, bones("", ""));
  const result = h("div", { "aria-live": "polite" });
  const error = errorLine();
  const role = h(
    "select",
    { class: "input", onchange: roleChanged },
    Object.entries(ROLES).map(([value, words]) => h("option", { value }, words)),
  );
  const expires = h(
    "select",
    { class: "input" },
    TIMES.map(([value, words]) => h("option", { value }, words)),
  );
  const note = input({ type: "text", maxlength: 200, placeholder: "lab 2, evening shift" });
  const ticks = h("div", { class: "tick-list", role: "group", "aria-label": "Studies" });
  const studyHint = h("span", { class: "hint" });
  const studiesField = h(
    "fieldset",
    { class: "field" },
    h("legend", {}, "Studies"),
    ticks,
    studyHint,
  );
  const button = h("button", { class: "button primary", type: "submit" }, "Make a token");

  const ticked = () => {
    /** @type {NodeListOf<HTMLInputElement>} */
    const found = ticks.querySelectorAll("input:checked");
    return [...found].map((one) => one.value);
  };

  const forStudies = () => ["worker", "judge"].includes(role.value);

  function roleChanged() {
    studiesField.hidden = role.value === "admin";
    put(
      studyHint,
      forStudies()
        ? `A ${role.value}'s token must be for at least one study.`
        : "None ticked: all studies, including future ones.",
    );
  }

  async function load() {
    try {
      /** @type {[Api.TokenList, Api.StudyList]} */
      const [tokens, studies] = await Promise.all([
        get("/tokens", { signal: scope.signal }),
        get("/studies", { signal: scope.signal }),
      ]);
      put(list, table(tokens.tokens));
      const kept = new Set(ticked());
      put(
        ticks,
        studies.studies.length
          ? studies.studies.map((one) =>
              h(
                "label",
                { class: "choice" },
                h("input", { type: "checkbox", value: one.name, checked: kept.has(one.name) }),
                h("span", { class: "breakable" }, one.name),
              ),
            )
          : h("p", { class: "muted" }, "There are no studies yet."),
      );
    } catch (problem) {
      if (problem.name !== "AbortError") put(list, failed(problem, load));
    }
  }

  /** @param {SubmitEvent} event */
  function make(event) {
    event.preventDefault();
    return submit(button, error, async () => {
      const studies = role.value === "admin" || !ticked().length ? null : ticked();
      if (forStudies() && !studies) {
        error.say(`Tick the studies that this ${role.value} is for.`);
        return;
      }
      /** @type {Api.TokenMade} */
      const made = await post("/tokens", {
        role: role.value,
        studies,
        note: note.value.trim(),
        expires_in: expires.value ? Number(expires.value) : null,
      });
      put(
        result,
        notice(
          "good",
          forStudies() && studies?.length === 1
            ? (made.role === "judge" ? judgeInvitation : workerInvitation)(studies[0], made.token)
            : shownOnce(made),
        ),
      );
      await load();
    });
  }

  /** @param {Api.TokenRow[]} tokens */
  function table(tokens) {
    return h(
      "table",
      { class: "plain-table stack-table" },
      h("caption", { class: "unseen" }, "Tokens"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Role", "Studies", "Note", "Made", "Expires"].map((head) =>
            h("th", { scope: "col" }, head),
          ),
          h("th", { scope: "col" }, h("span", { class: "unseen" }, "Revoke")),
        ),
      ),
      h("tbody", {}, tokens.map(row)),
    );
  }

  /** @param {Api.TokenRow} token */
  function row(token) {
    const act = h(
      "button",
      {
        class: "button small danger",
        type: "button",
        "aria-label": `Revoke the ${token.role}'s token made ${day(token.created)}`,
        onclick: () => revoke(token),
      },
      "Revoke",
    );
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: "badge bare" }, token.role)),
      h(
        "td",
        { "data-head": "Studies", class: "breakable" },
        h("span", {}, token.studies ? token.studies.join(", ") : "all"),
      ),
      h("td", { "data-head": "Note", class: "breakable" }, h("span", {}, token.note || "–")),
      h("td", { "data-head": "Made", class: "nowrap" }, day(token.created)),
      h(
        "td",
        { "data-head": "Expires", class: "nowrap" },
        token.expires ? day(token.expires) : "never",
      ),
      h("td", {}, act),
    );
  }

  /** @param {Api.TokenRow} token */
  async function revoke(token) {
    const sure = await confirm(
      "Revoke this token?",
      `Whoever uses this ${token.role}'s token is locked out immediately, on this page and in programs.`,
      "Revoke it",
    );
    if (!sure) return;
    error.clear();
    try {
      await remove(`/tokens/${encodeURIComponent(token.id)}`);
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      error.say(problem.message);
    }
    await load();
  }

  roleChanged();
  load();
  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", {}, "Access"),
        h(
          "p",
          {},
          "Tokens let people and workers in. Only their hashes are stored: a token is shown once, when it is created.",
        ),
      ),
    ),
    h(
      "div",
      { class: "two" },
      h(
        "div",
        { class: "main" },
        h("section", { class: "card", "aria-label": "Tokens" }, h("h2", {}, "Tokens"), list),
      ),
      h(
        "div",
        { class: "side" },
        h(
          "section",
          { class: "card", "aria-label": "New token" },
          h("h2", {}, "New token"),
          h(
            "form",
            { class: "main fields", onsubmit: make },
            field("Role", role),
            studiesField,
            field("Note", note),
            field("Expires", expires),
            h("div", {}, button),
            error.element,
          ),
        ),
        result,
      ),
    ),
  );
};

/** @type {(made: Api.TokenMade) => HTMLElement} */
const shownOnce = (made) =>
  h(
    "div",
    { class: "once", role: "group", "aria-label": "New token" },
    h(
      "p",
      {},
      h("strong", {}, "Shown only now. "),
      `This ${made.role}'s token cannot be looked up again.`,
    ),
    copyable(made.token, "the token"),
  );
