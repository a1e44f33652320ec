// Measurements that each method is expected to need, on a logarithmic axis, beside the lower bound.

import { put, s } from "../dom.js";
import { amount } from "../format.js";
import { chartFrame } from "./frame.js";
import { logTicks, logarithmic } from "./scale.js";

const ROW = 46;
const TOP = 30;
const BOTTOM = 44;
const RIGHT = 24;

/** @typedef {Api.Forecast & {label: string, mean: number, best?: boolean}} Row */

/**
 * Rows cheapest first.
 *
 * @param {Row[]} rows
 * @param {number} bound 0 where there is none
 */
export function forecastChart(rows, bound) {
  const ends = rows.flatMap((row) => [row.mean, row.q10, row.q90, row.low, row.high]).concat(bound);
  const real = ends.filter((x) => x !== null).filter((x) => Number.isFinite(x) && x > 0);
  const from = Math.min(...real) / 1.25;
  const to = Math.max(...real) * 1.35;
  const height = () => TOP + ROW * rows.length + BOTTOM;
  const frame = chartFrame(draw, height);

  /**
   * @param {SVGSVGElement} svg
   * @param {number} width
   * @param {number} tall
   */
  function draw(svg, width, tall) {
    const left = width < 480 ? 8 : 168;
    const x = logarithmic(from, to, left, width - RIGHT);
    const floor = tall - BOTTOM;
    const parts = [];
    let lastTick = -Infinity;
    for (const tick of logTicks(from, to)) {
      parts.push(s("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: TOP, y2: floor }));
      if (x(tick) - lastTick < 44) continue; // no room for another number
      lastTick = x(tick);
      parts.push(s("text", { x: x(tick), y: floor + 18, "text-anchor": "middle" }, amount(tick)));
    }
    parts.push(s("line", { class: "axis", x1: left, x2: width - RIGHT, y1: floor, y2: floor }));
    parts.push(
      s(
        "text",
        { x: (left + width - RIGHT) / 2, y: tall - 4, "text-anchor": "middle" },
        "measurements (logarithmic)",
      ),
    );
    if (bound > 0) parts.push(boundLine(x(bound), floor, width, bound));
    rows.forEach((row, i) =>
      parts.push(drawRow(row, x, TOP + ROW * (i + 0.5), left > 8 ? left : 0, width)),
    );
    put(svg, parts);
  }

  const best = rows[0];
  frame.describe(
    `Expected measurements per method. Fewest: ${best.label} with about ${amount(best.mean)}. The table below has all numbers.`,
  );
  return frame.element;
}

/**
 * @param {number} place
 * @param {number} floor
 * @param {number} width
 * @param {number} bound
 */
function boundLine(place, floor, width, bound) {
  const toRight = place < width / 2;
  return [
    s("line", { class: "bound", x1: place, x2: place, y1: TOP - 10, y2: floor }),
    s(
      "text",
      {
        class: "bound-text",
        x: place + (toRight ? 6 : -6),
        y: TOP - 8,
        "text-anchor": toRight ? "start" : "end",
      },
      `lower bound ${amount(bound)}`,
    ),
  ];
}

/**
 * Where a number stands beside its row: to the right, unless that would leave the picture.
 *
 * @param {number} dot
 * @param {number} end
 * @param {number} y
 * @param {number} width
 */
function beside(dot, end, y, width) {
  const fits = end < width - 70;
  return {
    class: "strong",
    x: fits ? end + 11 : dot - 11,
    y: y + 4,
    "text-anchor": fits ? "start" : "end",
  };
}

/**
 * One method; its name stands beside its row where there is room (`left` > 0), else above it.
 *
 * @param {Row} row
 * @param {Scale} x
 * @param {number} y
 * @param {number} left
 * @param {number} width
 */
function drawRow(row, x, y, left, width) {
  const parts = [];
  const at = left ? y : y + 8;
  const [low, high, q10, q90] = [row.low, row.high, row.q10, row.q90].map((end) => end ?? 0);
  /** @param {number} end An interval that reaches 0 ends at the edge: the axis has no 0. */
  const start = (end) => Math.max(x(Math.max(end, 1)), left || 8);
  parts.push(
    s(
      "text",
      left
        ? { class: "strong", x: left - 14, y: y + 4, "text-anchor": "end" }
        : { class: "strong", x: 8, y: y - 6 },
      row.label,
    ),
  );
  if (row.kind === "simulated") {
    if (q10 < q90)
      parts.push(
        s("line", { class: "spread", x1: start(q10), x2: x(q90), y1: at, y2: at }),
      );
    if (low < high)
      parts.push(
        s("line", {
          class: "interval",
          x1: start(low),
          x2: x(high),
          y1: at,
          y2: at,
        }),
      );
  }
  parts.push(s("circle", { class: "dot", cx: x(row.mean), cy: at, r: 6 }));
  parts.push(
    s(
      "text",
      left
        ? { class: "strong", x: x(row.mean), y: at - 11, "text-anchor": "middle" }
        : beside(x(row.mean), x(Math.max(row.mean, high, q90)), at, width),
      (row.gave_up ? "> " : "") + amount(row.mean),
    ),
  );
  return s("g", { class: row.best ? "best" : row.kind === "simulated" ? "" : "fixed" }, parts);
}
