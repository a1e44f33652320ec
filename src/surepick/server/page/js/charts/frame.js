// Charts are drawn at the width they have, so that their text keeps its size on a phone.

import { h, s } from "../dom.js";

/**
 * An element with an SVG in it; draw(svg, width) is called for each new width and on redraw().
 *
 * @param {(svg: SVGSVGElement, width: number, tall: number) => void} draw
 * @param {(width: number) => number} height
 */
export function chartFrame(draw, height) {
  const svg = s("svg", {});
  const element = h("div", { class: "chart" }, svg);
  let width = 0;
  function redraw() {
    if (!width) return;
    const tall = height(width);
    svg.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    svg.setAttribute("height", String(tall));
    draw(svg, width, tall);
  }
  new ResizeObserver(([entry]) => {
    const found = Math.round(entry.contentRect.width);
    if (!found || found === width) return;
    width = found;
    redraw();
  }).observe(element);
  /** @param {string} words what the picture shows; until then it is no picture to anybody */
  function describe(words) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", words);
  }
  return { element, svg, redraw, describe, width: () => width };
}
