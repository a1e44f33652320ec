// Scales and ticks.

/**
 * From numbers to places along an axis.
 *
 * @type {(from: number, to: number, start: number, end: number) => Scale}
 */
export const linear = (from, to, start, end) => (x) =>
  start + ((x - from) / (to - from || 1)) * (end - start);

/**
 * The same on a logarithmic axis.
 *
 * @type {typeof linear}
 */
export function logarithmic(from, to, start, end) {
  const place = linear(Math.log(from), Math.log(to), start, end);
  return (x) => place(Math.log(x));
}

/**
 * Round numbers between 0 and `most`, about `n` of them.
 *
 * @param {number} most
 */
export function ticks(most, n = 4) {
  if (most <= 0) return [0];
  const raw = most / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(
    1,
    [1, 2, 5].map((x) => x * power).find((x) => x >= raw) ?? 10 * power,
  );
  /** @type {number[]} */
  const found = [];
  for (let x = 0; x <= most * 1.0001; x += step) found.push(x);
  return found;
}

/**
 * Round numbers for a logarithmic axis: powers of ten, and 2 and 5 times these where few fit.
 *
 * @param {number} from
 * @param {number} to
 */
export function logTicks(from, to) {
  const found = [];
  const wide = Math.log10(to / from) > 2.5;
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
    for (const x of wide ? [1] : [1, 2, 5]) {
      const tick = x * 10 ** power;
      if (tick >= from && tick <= to) found.push(tick);
    }
  }
  return found;
}
