// Who judged: how often, how far judges agree, and who seems to prefer a side.

import { h, put, write } from "../../dom.js";
import { count, date, moment, plural } from "../../format.js";
import { notice } from "../../parts/states.js";

/** @type {(share: number | null) => string} */
const percent = (share) => (share === null ? "–" : `${Math.round(100 * share)} %`);

/** @type {(name: string | null) => string} */
const called = (name) => name ?? "without a name";

export function judgesCard() {
  const warned = h("div", { class: "warned" });
  const agreed = h("p", { class: "explain" });
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Judges, as a table" });
  const lines = h("ul", {});
  const element = h(
    "section",
    { class: "card", "aria-label": "Judges", hidden: true },
    h("h2", {}, "Judges"),
    warned,
    table,
    agreed,
    h(
      "details",
      { class: "fold" },
      h("summary", {}, "Who said what, the latest first"),
      h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Latest comparisons" }, lines),
    ),
  );
  return {
    element,
    /** @param {Api.JudgementsOf} found */
    show({ judges, agreement, latest, comparisons }) {
      element.hidden = comparisons === 0;
      put(warned, judges.filter((one) => one.said).map((one) => notice("caution", one.said)));
      put(table, judgesTable(judges));
      write(
        agreed,
        agreement.share === null
          ? judges.length > 1
            ? "No two judges have compared the same two options yet."
            : "Agreement shows once a second judge compares the same options."
          : `Judges who compared the same two options said the same in ${percent(agreement.share)} of cases (${plural(agreement.comparisons, "comparison")}; by chance it would be about 50 %).`,
      );
      put(lines, latest.map(line));
    },
  };
}

/** @param {Api.JudgeOf[]} judges */
function judgesTable(judges) {
  const names = judges.map((one) => one.name);
  const heads = ["Judge", "Comparisons", "Left", "Right", "Ties", "Agrees with others"];
  return h(
    "table",
    { class: "plain-table tight" },
    h("caption", { class: "unseen" }, "Judges"),
    h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: i && "number" }, text)))),
    h(
      "tbody",
      {},
      judges.map((one) =>
        h(
          "tr",
          {},
          h(
            "th",
            { scope: "row", class: "breakable" },
            called(one.name),
            // Two may have the same name, but not the same token.
            names.filter((name) => name === one.name).length > 1 &&
              h("span", { class: "muted" }, ` (token ${one.token ?? "of this machine"})`),
          ),
          [one.comparisons, one.first, one.second, one.ties].map((n) =>
            h("td", { class: "number" }, count(n)),
          ),
          h("td", { class: "number" }, percent(one.agreement)),
        ),
      ),
    ),
  );
}

/** @param {Api.JudgementOf} one */
function line(one) {
  const other = one.better === one.first ? one.second : one.first;
  const said = one.better === null ? `${one.first} and ${one.second}: a tie` : `${one.better} over ${other}`;
  const item = one.item === null ? "" : ` (item ${one.item})`;
  return h(
    "li",
    {},
    h("time", { datetime: date(one.at).toISOString() }, moment(one.at)),
    h("span", { class: "what" }, `${called(one.judge)}: ${said}${item}`),
  );
}
