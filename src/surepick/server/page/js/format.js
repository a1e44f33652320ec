// Numbers and times for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * 12345 → 12,345
 *
 * @type {(n: number) => string}
 */
export const count = (n) => whole.format(n);

/**
 * Three digits: as precise as a forecast or an estimate deserves.
 *
 * @param {number | null | undefined} x
 */
export function short(x, digits = 3) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const rounded = Number(x.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size >= 1e9) return rounded.toExponential(digits - 1);
  if (size >= 10 ** (digits - 1)) return whole.format(rounded);
  if (size !== 0 && size < 1e-4) return rounded.toExponential(digits - 1);
  return String(rounded).replace("-", "−");
}

/**
 * A number of measurements, with three digits.
 *
 * @param {number | null} x
 */
export function amount(x) {
  return x === null || !Number.isFinite(x) ? "–" : whole.format(Number(x.toPrecision(3)));
}

/**
 * All numbers of a column with the same number of decimals, so that they line up.
 *
 * @param {number} scale
 * @returns {(x: number | null) => string}
 */
export function aligned(scale) {
  const decimals = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(scale || 1))));
  const plain = new Intl.NumberFormat("en", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return (x) => (x === null || !Number.isFinite(x) ? "–" : plain.format(x).replace("-", "−"));
}

/**
 * "about" so many: two digits.
 *
 * @type {(n: number) => string}
 */
export const rough = (n) => whole.format(Number(n.toPrecision(2)));

/**
 * A share that is still short of the boundary never shows as 100 %.
 *
 * @type {(share: number) => string}
 */
export const percent = (share) => `${Math.min(99, Math.floor(100 * share))} %`;

/**
 * 1 measurement, 2 measurements
 *
 * @type {(n: number, one: string, many?: string) => string}
 */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/**
 * What a study counts, and what it goes on by.
 *
 * @type {(status: {traffic?: unknown, pairs?: boolean}) => {unit: string, step: string, steps: string}}
 */
export const countedBy = ({ traffic, pairs }) =>
  traffic
    ? { unit: "visit", step: "period", steps: "periods" }
    : { unit: pairs ? "comparison" : "measurement", step: "batch", steps: "batches" };

/**
 * 0.05 → "1 in 20"; rounded so that no less than delta is said
 *
 * @type {(delta: number) => string}
 */
export const oneIn = (delta) => `1 in ${count(Math.floor(1 / delta + 1e-9))}`;

const clock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const longClock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/**
 * Seconds since 1970, or an ISO time, as a Date.
 *
 * @type {(when: number | string) => Date}
 */
export const date = (when) => new Date(typeof when === "number" ? when * 1000 : when);
/** @type {(when: number | string) => string} */
export const day = (when) => clock.format(date(when));
/** @type {(when: number | string) => string} */
export const moment = (when) => longClock.format(date(when));

/**
 * "3 minutes ago"
 *
 * @param {number | string} when
 */
export function ago(when) {
  const seconds = (Date.now() - date(when).getTime()) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${plural(Math.floor(seconds / 60), "minute")} ago`;
  if (seconds < 86400) return `${plural(Math.floor(seconds / 3600), "hour")} ago`;
  if (seconds < 30 * 86400) return `${plural(Math.floor(seconds / 86400), "day")} ago`;
  return day(when);
}

/** @type {Record<string, string>} */
const NAMES = {
  "pooled-peleg": "PooledPeleg",
  peleg: "PELEG",
  "peleg-paper": "PELEG (printed)",
  rage: "RAGE",
  lingape: "LinGapE",
  "xy-static": "XY-static",
  "xy-adaptive": "XY-adaptive",
  alba: "ALBA",
  lucb: "LUCB",
  glucb: "GLUCB",
  lingame: "LinGame",
  "lingame-c": "LinGame-C",
  "lazy-ts": "Lazy Track-and-Stop",
  fws: "Frank-Wolfe Sampling",
  uniform: "Uniform",
};

/**
 * An algorithm's name as papers write it.
 *
 * @type {(name: string) => string}
 */
export const algorithmName = (name) => NAMES[name] ?? name;
