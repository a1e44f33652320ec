// Making elements. Text always becomes a text node, never markup: labels from data are inert.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, any> | undefined} props
 * @param {any[]} children
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {any[]} children
 */
function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) {
      element.append(document.createTextNode(String(child)));
    }
  }
}

/**
 * An element: h("p", {class: "hint", onclick: act}, "text", other).
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props]
 * @param {...any} children
 */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * The same for SVG.
 *
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props]
 * @param {...any} children
 */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/**
 * Put these into the element, and nothing else.
 *
 * @template {Element} E
 * @param {E} element
 * @param {...any} children
 */
export function put(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/**
 * Change the text only where it differs: no needless work, nothing announced twice.
 *
 * @param {Element} element
 * @param {string} text
 */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let last = 0;

/**
 * An id that nothing else on the page has.
 *
 * @param {string} prefix
 */
export function fresh(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

const PATHS = {
  check: ["m5 12.5 4.5 4.5L19 7.5"],
  alarm: ["M12 4 2.8 19.5h18.4L12 4Z", "M12 10v4.2", "M12 16.9v.2"],
  unknown: ["M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z", "M8.5 12h7"],
  fine: ["M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z", "m8.2 12.3 2.6 2.6 5-5.4"],
  file: ["M12 15.5V4m0 0L7.5 8.5M12 4l4.5 4.5", "M4.5 14.5V18a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-3.5"],
  down: ["M12 4v11m0 0 4.5-4.5M12 15l-4.5-4.5", "M4.5 19.5h15"],
  copy: ["M9 9h10.5v10.5H9z", "M15 5.5V4.5H4.5V15h1"],
  sun: [
    "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Z",
    "M12 2.5v2m0 15v2m9.5-9.5h-2m-15 0h-2m16.2-6.7-1.4 1.4M6.7 17.3l-1.4 1.4m13.4 0-1.4-1.4M6.7 6.7 5.3 5.3",
  ],
  moon: ["M20 14.2A8.3 8.3 0 0 1 9.8 4 8.3 8.3 0 1 0 20 14.2Z"],
  dots: ["M5 17.5h.1M12 17.5h.1M19 17.5h.1", "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z"],
  lock: ["M6 11h12v9H6z", "M8.5 11V8a3.5 3.5 0 0 1 7 0v3"],
};

/**
 * A small picture beside text that says the same.
 *
 * @param {keyof typeof PATHS} name
 * @param {string} [className]
 */
export function icon(name, className) {
  const strokes = PATHS[name].map((d) => s("path", { d }));
  return s(
    "svg",
    {
      viewBox: "0 0 24 24",
      class: className,
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 2,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
      "aria-hidden": "true",
    },
    strokes,
  );
}
