// What a judge sees of an option: texts, pictures, links. Whatever a text says is shown as a text.

import { download } from "../api.js";
import { h } from "../dom.js";

const LINK = /^https?:\/\//i;

/**
 * @param {string} study
 * @param {Api.Thing} thing
 */
const address = (study, { kind, content }) =>
  kind === "file" ? download(study, `/shown?file=${encodeURIComponent(content)}`) : content;

/**
 * @param {string} study
 * @param {Api.Thing[]} things
 * @param {string} who "A" or "B"; empty for what both are about
 */
export function shownThings(study, things, who) {
  return things.map((thing) =>
    h(
      "div",
      { class: `thing ${thing.kind}` },
      things.length > 1 && h("p", { class: "thing-name" }, thing.name),
      content(study, thing, who),
    ),
  );
}

/**
 * @param {string} study
 * @param {Api.Thing} thing
 * @param {string} who
 */
function content(study, thing, who) {
  if (thing.kind === "file" || thing.kind === "picture") {
    const src = address(study, thing);
    return h("img", { src, alt: who ? `Picture of ${who}` : "Picture", referrerpolicy: "no-referrer" });
  }
  if (thing.kind === "link" && LINK.test(thing.content)) {
    // Where it leads may give away which option it is, so that is not written out.
    const away = { target: "_blank", rel: "noopener noreferrer" };
    return h("a", { class: "button", href: thing.content, ...away }, who ? `Open ${who}` : "Open");
  }
  return h("p", { class: "said" }, thing.content || "(empty)");
}

/**
 * Have the pictures of a pair loaded before it is shown.
 *
 * @param {string} study
 * @param {Api.Shown | null | undefined} shown
 */
export function preload(study, shown) {
  if (!shown) return;
  for (const thing of [...shown.both, ...shown.first, ...shown.second])
    if (thing.kind === "file" || thing.kind === "picture") new Image().src = address(study, thing);
}
