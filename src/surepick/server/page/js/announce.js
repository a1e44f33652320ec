// Tells people who do not see the page what has changed; not too often.

const PAUSE = 4000; // milliseconds between two announcements

/** @type {string | null} */
let waiting = null;
let quietUntil = 0;
let timer = 0;

function say() {
  timer = 0;
  quietUntil = Date.now() + PAUSE;
  const place = /** @type {HTMLElement} */ (document.getElementById("announcer"));
  place.textContent = waiting;
}

/**
 * Only the latest of several announcements in a row is read out.
 *
 * @param {string} text
 */
export function announce(text) {
  waiting = text;
  if (!timer) timer = setTimeout(say, Math.max(50, quietUntil - Date.now()));
}
