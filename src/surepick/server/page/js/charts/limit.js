// Two numbers of every option as axes, with the limit on one of them.

import { put, s } from "../dom.js";
import { short } from "../format.js";
import { chartFrame } from "./frame.js";
import { linear } from "./scale.js";

const HEIGHT = 280;
const EDGE = { left: 56, right: 20, top: 14, bottom: 44 };

/** @typedef {import("../study/model.js").Model} Model */

/** The chart; update it with a model and one of its limits. */
export function limitChart() {
  /** @type {{model: Model, limit: string} | null} */
  let state = null;
  const frame = chartFrame(draw, () => HEIGHT);
  frame.element.classList.add("two-numbers");

  /**
   * @param {SVGSVGElement} svg
   * @param {number} width
   */
  function draw(svg, width) {
    if (!state) return;
    const { model, limit } = state;
    const columns = model.status.standing.columns;
    const { limits, marks } = model.status.standing;
    const { mark, above, about } = marks[limits.indexOf(limit)];
    const dots = model.labels
      .map((label, i) => ({
        label,
        i,
        reward: model.estimate(i) ?? model.status.means[i],
        value: /** @type {number | null} */ (columns[`${limit}: mean`]?.[i] ?? null),
        low: /** @type {number | null} */ (columns[`${limit}: low`]?.[i] ?? null),
        high: /** @type {number | null} */ (columns[`${limit}: high`]?.[i] ?? null),
        front: Boolean(columns.front?.[i]),
      }))
      .filter((one) => one.reward !== null && one.value !== null);
    if (!dots.length) return put(svg);
    const x = linear(...spread(dots.map((one) => one.reward ?? 0)), EDGE.left, width - EDGE.right);
    const y = linear(...spread([mark, ...dots.map((one) => one.value ?? 0)]), HEIGHT - EDGE.bottom, EDGE.top);
    const [top, bottom] = above ? [y(mark), HEIGHT - EDGE.bottom] : [EDGE.top, y(mark)];
    const within = (/** @type {number} */ at) => Math.min(HEIGHT - EDGE.bottom, Math.max(EDGE.top, at));
    put(
      svg,
      s("rect", { class: "broken", x: EDGE.left, y: top, width: width - EDGE.left - EDGE.right, height: Math.max(0, bottom - top) }),
      s("line", { class: "limit", x1: EDGE.left, x2: width - EDGE.right, y1: y(mark), y2: y(mark) }),
      s("text", { class: "tick", x: EDGE.left - 6, y: y(mark) + 4, "text-anchor": "end" }, short(mark, 3)),
      s("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: HEIGHT - EDGE.bottom, y2: HEIGHT - EDGE.bottom }),
      s("line", { class: "axis", x1: EDGE.left, x2: EDGE.left, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
      ticksOf(dots.map((one) => one.reward ?? 0)).map((value) =>
        s("text", { class: "tick", x: x(value), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, short(value, 3)),
      ),
      ticksOf(dots.map((one) => one.value ?? 0))
        .filter((value) => Math.abs(y(value) - y(mark)) > 14)
        .map((value) => s("text", { class: "tick", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value, 3))),
      s("text", { class: "tick", x: (EDGE.left + width - EDGE.right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "reward"),
      s("text", { class: "tick", x: EDGE.left + 6, y: EDGE.top + 12 }, about),
      dots.map((one) => [
        s("line", { class: "ends", x1: x(one.reward ?? 0), x2: x(one.reward ?? 0), y1: within(y(one.low ?? -1e300)), y2: within(y(one.high ?? 1e300)) }),
        s("circle", { class: model.isOut(one.i) ? "dot out" : "dot", cx: x(one.reward ?? 0), cy: y(one.value ?? 0), r: 5 }),
        one.front && s("circle", { class: "front", cx: x(one.reward ?? 0), cy: y(one.value ?? 0), r: 9 }),
        s(
          "text",
          {
            class: "name",
            x: x(one.reward ?? 0) + (x(one.reward ?? 0) > width / 2 ? -12 : 12),
            y: y(one.value ?? 0) - 8,
            "text-anchor": x(one.reward ?? 0) > width / 2 ? "end" : "start",
          },
          one.label,
        ),
      ]),
    );
  }

  return {
    element: frame.element,
    /**
     * @param {Model} model
     * @param {string} limit
     */
    update(model, limit) {
      state = { model, limit };
      const columns = model.status.standing.columns;
      const said = model.labels.map((label, i) => `${label} ${columns[limit]?.[i] ?? "is not known"}`);
      frame.describe(`Reward and ${limit}: ${said.join(", ")}.`);
      frame.redraw();
    },
  };
}

/** @param {number[]} values @returns {[number, number]} a range with some room around them */
function spread(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.12 * (high - low) || Math.abs(high) || 1;
  return [low - room, high + room];
}

/** @param {number[]} values @returns {number[]} the least and the largest */
const ticksOf = (values) => [...new Set([Math.min(...values), Math.max(...values)])];
