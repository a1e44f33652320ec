// Which version of a page a visitor sees: the rule of surepick.assign, which explains it.
// shares: { label: share }; kept: what this visitor was assigned before, from a cookie.
const mixed = (h) => {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
};
const hash = (text) =>
  mixed(new TextEncoder().encode(text).reduce((h, byte) => Math.imul(h ^ byte, 0x01000193), 0x811c9dc5));

export function assign(shares, visitor, { kept = null, test = "" } = {}) {
  if (kept !== null && Object.hasOwn(shares, kept)) return kept;
  const who = hash(`${test}/${visitor}`);
  let winner = null, first = Infinity;
  for (const label of Object.keys(shares).sort()) {
    const wait = -Math.log((mixed(who + hash(label)) + 0.5) / 2 ** 32) / shares[label];
    if (wait < first) [winner, first] = [label, wait];
  }
  return winner;
}
