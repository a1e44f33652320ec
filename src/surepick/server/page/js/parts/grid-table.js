// A table of any length: only the rows in sight exist. Sorting is stable and done on indices.

import { h, write } from "../dom.js";

const SPARE = 6; // rows above and below what is in sight

/**
 * A table over items 0 … n − 1.
 *
 * columns: [{key, title, end: right-aligned, value(i) → what to sort by, first: the direction of
 * the first click, make() → {cell, update(i)}}]; rowClass(i) → class names.
 *
 * @typedef {ReturnType<GridColumn["make"]>} Cell
 * @typedef {{element: HTMLElement, cells: Cell[], place: number, version: number}} Row
 */
export class GridTable {
  #columns;
  #rowClass;
  /** @type {Row[]} */
  #rows = [];
  /** @type {number[]} */
  #order = [];
  #frame = 0;
  #version = 0;
  #rowHeight = 46;

  /**
   * @param {{
   *   label: string,
   *   columns: GridColumn[],
   *   rowClass(item: number): string,
   *   sort: Sort,
   *   onSort(sort: Sort): void,
   * }} settings
   */
  constructor({ label, columns, rowClass, sort, onSort }) {
    this.#columns = columns;
    this.#rowClass = rowClass;
    this.sort = sort;
    this.onSort = onSort;
    this.heads = columns.map((column) => this.#head(column));
    this.head = h("div", { class: "grid-head", role: "row" }, this.heads);
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.empty = h("p", { class: "grid-empty", hidden: true });
    this.table = h(
      "div",
      { role: "table", "aria-label": label, class: "grid-table" },
      h("div", { role: "rowgroup" }, this.head),
      this.body,
    );
    this.element = h(
      "div",
      { class: "grid-scroll", tabindex: "0", role: "region", "aria-label": `${label}, scrolls` },
      this.table,
      this.empty,
    );
    this.element.addEventListener("scroll", () => this.#soon(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(this.element);
  }

  /** @param {GridColumn} column */
  #head(column) {
    const arrow = h("span", { class: "arrow", "aria-hidden": "true" }, "↓");
    const button = h(
      "button",
      { type: "button", onclick: () => this.#clicked(column) },
      column.title,
      arrow,
    );
    const side = column.end ? "end" : "";
    return h("div", { role: "columnheader", class: `${side}`, "data-key": column.key }, button);
  }

  /**
   * @param {string} key of a column
   * @param {string} title
   */
  rename(key, title) {
    const text = this.heads.find((head) => head.dataset.key === key)?.querySelector("button")?.firstChild;
    if (text && text.textContent !== title) text.textContent = title;
  }

  /** @param {GridColumn} column */
  #clicked(column) {
    const same = this.sort.key === column.key;
    const flipped = this.sort.direction === "ascending" ? "descending" : "ascending";
    this.onSort({ key: column.key, direction: same ? flipped : column.first });
  }

  /**
   * The items to show, in an order of their own; the table sorts them by its column.
   *
   * @param {number[]} items
   * @param {string} emptyText
   */
  show(items, emptyText) {
    const column = /** @type {GridColumn} */ (
      this.#columns.find((one) => one.key === this.sort.key)
    );
    const sign = this.sort.direction === "ascending" ? 1 : -1;
    const values = new Map(items.map((i) => [i, column.value(i)]));
    this.#order = items.sort((a, b) => sign * compare(values.get(a), values.get(b)) || a - b);
    this.#version += 1;
    for (const head of this.heads) {
      const sorted = head.dataset.key === this.sort.key;
      head.setAttribute("aria-sort", sorted ? this.sort.direction : "none");
    }
    this.table.setAttribute("aria-rowcount", String(items.length + 1));
    this.empty.hidden = items.length > 0;
    write(this.empty, emptyText);
    this.#resized();
  }

  #resized() {
    const height = parseFloat(getComputedStyle(this.table).getPropertyValue("--row")) || 46;
    if (height !== this.#rowHeight) this.#version += 1;
    this.#rowHeight = height;
    this.body.style.height = `${this.#order.length * height}px`;
    this.#soon();
  }

  #soon() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.#frame = 0;
    const height = this.#rowHeight;
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - SPARE);
    const sight = Math.ceil(this.element.clientHeight / height) + 2 * SPARE;
    const until = Math.min(this.#order.length, first + sight);
    while (this.#rows.length < until - first) this.#rows.push(this.#makeRow());
    // Row r of the pool shows places r, r + n, r + 2n …: scrolling by one changes one row.
    const n = this.#rows.length;
    const used = new Set();
    for (let place = first; place < until; place += 1) {
      const row = this.#rows[place % n];
      used.add(row);
      this.#fill(row, place);
    }
    for (const row of this.#rows) row.element.hidden = !used.has(row);
  }

  /** @returns {Row} */
  #makeRow() {
    const cells = this.#columns.map((column) => column.make());
    for (const { cell } of cells) cell.setAttribute("role", "cell");
    const element = h(
      "div",
      { role: "row" },
      cells.map((one) => one.cell),
    );
    this.body.append(element);
    return { element, cells, place: -1, version: -1 };
  }

  /**
   * @param {Row} row
   * @param {number} place
   */
  #fill(row, place) {
    if (row.place === place && row.version === this.#version) return;
    row.place = place;
    row.version = this.#version;
    const item = this.#order[place];
    row.element.className = `grid-row ${this.#rowClass(item)}`;
    row.element.setAttribute("aria-rowindex", String(place + 2));
    row.element.style.transform = `translateY(${place * this.#rowHeight}px)`;
    for (const one of row.cells) one.update(item);
  }
}

/**
 * Numbers by size, texts by the alphabet; what is missing comes first. A column has only one kind.
 *
 * @param {any} a
 * @param {any} b
 * @returns {number}
 */
function compare(a, b) {
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  return (a ?? -Infinity) - (b ?? -Infinity) || 0;
}
