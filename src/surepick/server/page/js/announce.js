// Tells people who do not see the page what has changed; not too often.

const PAUSE = 4000; // milliseconds between two announcements

let waiting = null;
let quietUntil = 0;
let timer = 0;

function say() {
  timer = 0;
  quietUntil = Date.now() + PAUSE;
  document.getElementById("announcer").textContent = waiting;
}

/** Only the latest of several announcements in a row is read out. */
export function announce(text) {
  waiting = text;
  if (!timer) timer = setTimeout(say, Math.max(50, quietUntil - Date.now()));
}
