// Options still in against measurements: a step for every batch.

import { h, put, s } from "../dom.js";
import { count, countedBy, plural } from "../format.js";
import { chartFrame } from "./frame.js";
import { linear, ticks } from "./scale.js";

const HEIGHT = 230;
const EDGE = { left: 44, right: 12, top: 12, bottom: 42 };
const MOST_POINTS = 600; // more batches than that are thinned out: a pixel shows one anyway

/** @typedef {Pick<Api.HistoryRow, "samples" | "survivors">} Point */
/** @typedef {Pick<Api.Status, "started_with" | "samples" | "standing" | "traffic" | "pairs">} Status */
/** @typedef {Status & {history: Point[]}} State */

/** The chart; update it with the history and the present status. */
export function survivorsChart() {
  const cursor = s("line", { class: "cursor" });
  const tip = h("div", { class: "tip number", "aria-hidden": "true" });
  /** @type {Point[]} */
  let points = [];
  /** @type {State | null} */
  let state = null;
  /** @type {Scale} */
  let x = () => 0;
  const frame = chartFrame(draw, () => HEIGHT);
  frame.element.classList.add("survivors");
  frame.element.append(tip);
  frame.element.addEventListener("pointermove", point);
  frame.element.addEventListener("pointerleave", () => frame.element.classList.remove("hover"));

  /**
   * @param {SVGSVGElement} svg
   * @param {number} width
   */
  function draw(svg, width) {
    if (!state) return;
    const { history, samples } = state;
    points = thinned([{ samples: 0, survivors: state.started_with }, ...history]);
    // Options may come later, and claims may be taken back.
    const options = points.reduce((most, one) => Math.max(most, one.survivors), 1);
    const now = Math.max(samples, last(points).samples, 1);
    x = linear(0, now, EDGE.left, width - EDGE.right);
    const y = linear(0, options, HEIGHT - EDGE.bottom, EDGE.top);
    const title = `${countedBy(state).unit}s`;
    put(svg, axes(x, y, now, options, width, title), shape(points, x, y, now), cursor);
  }

  /** @param {PointerEvent} event */
  function point(event) {
    if (!points.length || !state) return;
    const box = frame.svg.getBoundingClientRect();
    const at = event.clientX - box.left;
    const near = points.reduce((a, b) =>
      Math.abs(x(b.samples) - at) < Math.abs(x(a.samples) - at) ? b : a,
    );
    const place = x(near.samples);
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, String(place));
    cursor.setAttribute("y1", String(EDGE.top));
    cursor.setAttribute("y2", String(HEIGHT - EDGE.bottom));
    const word = isCompared(state) ? "undecided" : "in";
    tip.textContent = `${plural(near.samples, countedBy(state).unit)}: ${count(near.survivors)} ${word}`;
    frame.element.classList.add("hover");
    const half = tip.offsetWidth / 2;
    tip.style.left = `${Math.min(box.width - half, Math.max(half, place))}px`;
  }

  return {
    element: frame.element,
    /**
     * @param {Point[]} history
     * @param {Status} status
     */
    update(history, { started_with, samples, standing, traffic, pairs }) {
      state = { history, started_with, samples, standing, traffic, pairs };
      frame.describe(describe(state));
      frame.redraw();
    },
  };
}

/** @param {Status} status */
const isCompared = (status) => status.standing.question === "baseline";

/** @param {State} state */
function describe(state) {
  const { history, started_with: first, samples } = state;
  const { unit, step, steps } = countedBy(state);
  const left = history.at(-1)?.survivors ?? first;
  return (
    `${isCompared(state) ? "Undecided options" : "Options still in"} over the ${unit}s: ` +
    `from ${count(first)} at the start to ${count(left)} ` +
    `after ${plural(history.length, step, steps)} and ${plural(samples, unit)}.`
  );
}

/** @type {(points: Point[]) => Point} of which there is at least one */
const last = (points) => points[points.length - 1];

/** @param {Point[]} history */
function thinned(history) {
  if (history.length <= MOST_POINTS) return history;
  const step = history.length / MOST_POINTS;
  const kept = Array.from({ length: MOST_POINTS }, (_, i) => history[Math.floor(i * step)]);
  return [...kept, last(history)];
}

/**
 * @param {Point[]} points
 * @param {Scale} x
 * @param {Scale} y
 * @param {number} now
 */
function shape(points, x, y, now) {
  let line = `M${x(points[0].samples)},${y(points[0].survivors)}`;
  for (const one of points.slice(1))
    line += `H${x(one.samples).toFixed(1)}V${y(one.survivors).toFixed(1)}`;
  line += `H${x(now).toFixed(1)}`;
  return [
    s("path", { class: "area", d: `${line}V${y(0)}H${x(0)}Z` }),
    s("path", { class: "line", d: line }),
    s("circle", { class: "dot now", cx: x(now), cy: y(last(points).survivors), r: 5 }),
  ];
}

/**
 * @param {Scale} x
 * @param {Scale} y
 * @param {number} now
 * @param {number} options
 * @param {number} width
 * @param {string} title
 */
function axes(x, y, now, options, width, title) {
  const parts = [];
  for (const tick of ticks(options)) {
    parts.push(
      s("line", {
        class: tick ? "grid-line" : "axis",
        x1: EDGE.left,
        x2: width - EDGE.right,
        y1: y(tick),
        y2: y(tick),
      }),
      s("text", { x: EDGE.left - 8, y: y(tick) + 4, "text-anchor": "end" }, count(tick)),
    );
  }
  for (const tick of ticks(now, width < 420 ? 3 : 5)) {
    parts.push(
      s("text", { x: x(tick), y: HEIGHT - EDGE.bottom + 18, "text-anchor": "middle" }, count(tick)),
    );
  }
  const middle = (EDGE.left + width - EDGE.right) / 2;
  parts.push(s("text", { x: middle, y: HEIGHT - 4, "text-anchor": "middle" }, title));
  return parts;
}
