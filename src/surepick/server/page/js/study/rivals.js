// The evidence against each remaining rival, as progress to the boundary where it is ruled out.

import { h, put, write } from "../dom.js";
import { aligned, count, percent, plural } from "../format.js";

const MOST = 7;

/** @returns {Card} */
export function rivalsCard() {
  const title = h("h2", {}, "Closest rivals");
  const list = h("ul", { class: "rivals" });
  const rest = h("p", { class: "explain" });
  const about = h("p", { class: "explain" });
  const element = h(
    "section",
    { class: "card", "aria-label": "Closest rivals" },
    title,
    about,
    list,
    rest,
  );
  /** @type {ReturnType<typeof row>[]} */
  const rows = [];

  function row() {
    const name = h("span", { class: "name" });
    const said = h("span", { class: "said number" });
    const fill = h("span");
    const bar = h("div", { class: "bar" }, fill);
    const progress = h(
      "div",
      { class: "to-boundary", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" },
      bar,
    );
    const line = h("li", { class: "rival" }, name, said, progress);
    return { name, said, fill, progress, line };
  }

  return {
    element,
    update(model) {
      const { status } = model;
      element.hidden = status.finished;
      if (status.finished) return;
      const rivals = model.rivals();
      write(title, model.compared ? "Undecided" : "Closest rivals");
      write(about, explain(model));
      const shown = status.behind || status.wins ? rivals.slice(0, MOST) : [];
      while (rows.length < shown.length) rows.push(row());
      shown.forEach((i, place) => fill(rows[place], model, i));
      if (list.childElementCount !== shown.length)
        put(
          list,
          rows.slice(0, shown.length).map((one) => one.line),
        );
      const more = rivals.length - shown.length;
      write(rest, shown.length && more > 0 ? `and ${count(more)} more, in the table below` : "");
    },
  };
}

/**
 * @param {Record<"name" | "said" | "fill" | "progress", HTMLElement>} row
 * @param {import("./model.js").Model} model
 * @param {number} i
 */
function fill(row, model, i) {
  const share = model.evidence(i);
  const label = model.labels[i];
  write(row.name, label);
  row.name.title = label;
  const [lift] = model.lift(i);
  const behind = model.compared
    ? `${aligned(Math.abs(lift ?? 0))(lift)} ${model.minimise ? "against" : "over"} the baseline`
    : model.status.wins
      ? wins(model.lost(i))
      : `${aligned(model.span)(model.behind(i))} behind`;
  // Where two are compared, the shares of wins below say how far.
  const far = model.status.pairs && share !== null ? "" : behind;
  write(row.said, share === null ? behind : [far, percent(share)].filter(Boolean).join(" · "));
  row.progress.hidden = share === null;
  row.fill.style.width = `${100 * (share ?? 0)}%`;
  row.progress.setAttribute("aria-valuenow", String(Math.floor(100 * (share ?? 0))));
  row.progress.setAttribute("aria-label", `Evidence ${model.compared ? "on" : "against"} ${label}`);
}

/** @param {number | null} share */
const wins = (share) => (share === null ? "" : `the leader wins ${Math.round(100 * share)} %`);

/** @param {import("./model.js").Model} model */
function explain(model) {
  const { status } = model;
  if (status.wins)
    return `${status.leader} leads. Bets on direct comparisons decide, at the end of a batch; the shares say how many of them the leader wins, so far as is known.`;
  if (!status.behind) return "Rivals appear once the first batch is complete.";
  if (model.compared)
    return `${plural(model.rivals().length, "option")} undecided; each is decided when its bar reaches the line.`;
  const named = [...model.named].map((i) => model.labels[i]);
  const leads = named.length > 1 ? `${named.join(", ")} lead. ` : `${status.leader} leads. `;
  if (!status.evidence)
    return `${leads}This algorithm decides by its own bounds at the end of a batch; the bars show how far behind each rival is.`;
  const n = model.rivals().length;
  return `${leads}${plural(n, "rival")} left; each is out when its bar reaches the line.`;
}
