// From the address (after #) to a view. A view is a function: (parts of the address, its scope) →
// element. What it starts (streams, timers) it hands to its scope, which ends them when it is left.

/** What belongs to one showing of one view. */
export class Scope {
  /** @type {(() => void)[]} */
  #ends = [];
  #controller = new AbortController();

  /** For requests: aborted when the view is left. */
  get signal() {
    return this.#controller.signal;
  }

  get left() {
    return this.#controller.signal.aborted;
  }

  /**
   * Call this when the view is left.
   *
   * @param {() => void} callback
   */
  atEnd(callback) {
    this.#ends.push(callback);
  }

  end() {
    this.#controller.abort();
    for (const callback of this.#ends) callback();
  }
}

/** The address as a list of decoded parts; "#/studies/a%20b" → ["studies", "a b"]. */
export function parts() {
  const path = location.hash.replace(/^#\/?/, "");
  return path
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
}

/** @type {(path: string) => void} */
export const go = (path) => {
  location.hash = path;
};

/**
 * Show the view that `choose(parts)` names, now and whenever the address changes.
 *
 * @param {HTMLElement} main
 * @param {(parts: string[]) => {view: View, title: string}} choose
 */
export function route(main, choose) {
  /** @type {Scope | null} */
  let scope = null;
  let first = true;
  function show() {
    scope?.end();
    scope = new Scope();
    const { view, title } = choose(parts());
    document.title = title ? `${title} · surepick` : "surepick";
    main.replaceChildren(view(scope));
    if (!first) {
      main.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    first = false;
  }
  addEventListener("hashchange", show);
  show();
  return show;
}
