// The door: a token opens it.

import { h } from "../dom.js";
import { brand } from "../parts/brand.js";
import { errorLine, field, input, submit } from "../parts/field.js";
import { logIn } from "../session.js";

/** @type {(onEntered: () => void, said: string) => View} */
export const loginView = (onEntered, said) => () => {
  const token = input({
    type: "password",
    name: "token",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
  });
  const error = errorLine();
  const button = h("button", { class: "button primary", type: "submit" }, "Log in");
  if (said) error.say(said);

  /** @param {SubmitEvent} event */
  function enter(event) {
    event.preventDefault();
    return submit(button, error, async () => {
      await logIn(token.value.trim());
      onEntered();
    });
  }

  return h(
    "div",
    { class: "door" },
    h(
      "section",
      { class: "card", "aria-labelledby": "door-title" },
      h("p", { class: "brand" }, brand()),
      h("h1", { id: "door-title" }, "Log in"),
      h("p", { class: "muted" }, "Find the best of many options, and prove it."),
      h("form", { onsubmit: enter }, field("Access token", token), error.element, button),
      h(
        "p",
        { class: "foot muted" },
        "The first admin token is printed once, when ",
        h("code", {}, "surepick serve"),
        " starts with a new database. Others are made on the page “Access”.",
      ),
    ),
  );
};
