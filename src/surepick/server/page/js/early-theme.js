// Runs before the page is painted, so that a chosen theme does not flash.
try {
  const chosen = localStorage.getItem("surepick-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden: the system's theme it is.
}
