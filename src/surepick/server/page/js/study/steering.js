// For admins: pause and resume a study, end it, delete it.

import { post, remove, studyPath } from "../api.js";
import { h, write } from "../dom.js";
import { confirm } from "../parts/confirm.js";
import { errorLine, submit } from "../parts/field.js";
import { go } from "../router.js";

/**
 * @param {string} name
 * @param {() => void} onChange
 * @returns {Card}
 */
export function steeringCard(name, onChange) {
  let paused = false;
  const error = errorLine();
  const pause = button("Pause", "", () => post(studyPath(name, paused ? "/acts/resume" : "/acts/pause"), {}));
  const stop = button("End study", "", () => post(studyPath(name, "/acts/stop"), {}), [
    `End ${name} now?`,
    "The answer will be the option that looks best now, without a guarantee that it is the best. The answer says what is guaranteed. This cannot be undone.",
    "End it",
  ]);
  const erase = button("Delete study", "danger", erased, [
    `Delete ${name}?`,
    "All measurements of this study are deleted too. This cannot be undone; if in doubt, export the study first.",
    "Delete it",
  ]);

  // A study that cannot be read has no status: it can be deleted, and nothing else.
  pause.hidden = stop.hidden = true;

  async function erased() {
    await remove(studyPath(name));
    go("/studies");
  }

  /**
   * @param {string} text
   * @param {string} kind
   * @param {() => Promise<any>} action
   * @param {[string, string, string]} [question]
   */
  function button(text, kind, action, question) {
    const element = h("button", { class: `button small ${kind}`, type: "button", onclick: act }, text);
    async function act() {
      if (question && !(await confirm(...question))) return;
      await submit(element, error, async () => {
        await action();
        onChange();
      });
    }
    return element;
  }

  return {
    element: h(
      "section",
      { class: "card", "aria-label": "Course of the study" },
      h("h2", {}, "Course of the study"),
      h("div", { class: "actions" }, pause, stop, erase),
      error.element,
    ),
    update({ status }) {
      paused = status.paused;
      write(pause, paused ? "Resume" : "Pause");
      stop.hidden = status.finished;
      pause.hidden = status.finished || status.traffic !== null; // nobody asks for pulls there
    },
  };
}
