// Settings of a new study that the service tells how to ask for: one more there is one more here.

import { get } from "../api.js";
import { h, put } from "../dom.js";
import { field, input, number } from "./field.js";

const YES_NO = new Map([
  [true, "yes"],
  [false, "no"],
]);

/**
 * The control of a setting, and the value that it says (undefined: the default).
 *
 * @param {Api.SettingOf} setting
 */
function controlOf({ kind, choices, empty, default: usual }) {
  if (choices.length > 0) {
    const words = choices.map(([value], i) => (i ? (YES_NO.get(value) ?? String(value)) : ""));
    const control = h(
      "select",
      { class: "input" },
      choices.map(([, said], i) => h("option", { value: words[i] }, said)),
    );
    return {
      control,
      said: () => (control.value ? choices[words.indexOf(control.value)][0] : undefined),
    };
  }
  if (kind === "boolean") {
    const control = h("input", { type: "checkbox", checked: usual === true });
    return { control, said: () => (control.checked === usual ? undefined : control.checked) };
  }
  const numeric = kind === "number" || kind === "integer";
  const control = input({
    type: "text",
    inputmode: numeric && (kind === "integer" ? "numeric" : "decimal"),
    placeholder: empty,
    value: empty || usual === null ? "" : String(usual),
  });
  return {
    control,
    said: () => {
      const typed = control.value.trim();
      // What is no number goes to the service, which says what is wrong with it.
      return typed === "" ? undefined : numeric ? (number(control) ?? typed) : typed;
    },
  };
}

/**
 * The settings, as they are known once the service has said which there are.
 *
 * @param {import("../router.js").Scope} scope
 * @param {(rewards: Api.RewardsOf[]) => void} offered Told which words say what a measurement gives.
 * @param {(pairs: boolean) => void} onPairs Told whether options are compared two at a time.
 */
export function settingFields(scope, offered, onPairs) {
  /** @type {{name: string, traffic: boolean | null, pairs: boolean | null, element: HTMLElement, why: HTMLElement, refused: Record<string, any>, said: () => any}[]} */
  let asked = [];
  let site = false;
  let pairs = false;
  const element = h("div", { class: "asked" });
  const first = h("div", { class: "asked" }); // those that everybody is asked for
  const shown = () =>
    asked.filter(
      (one) =>
        (one.traffic === null || one.traffic === site) && (one.pairs === null || one.pairs === pairs),
    );
  const told = () => {
    asked.forEach((one) => (one.element.hidden = !shown().includes(one)));
    // What cannot be asked of such data says why: the service knows which that is.
    const complete = shown().find((one) => one.name === "complete")?.said() !== undefined;
    const shape = site ? "counts" : pairs ? "pairs" : complete ? "table" : "pulls";
    asked.forEach((one) => put(one.why, one.said() === undefined ? "" : (one.refused[shape] ?? "")));
  };
  /** @param {boolean} is Whether options are compared two at a time. */
  function turn(is) {
    pairs = is;
    told();
    onPairs(is);
  }
  const ready = get("/settings", { signal: scope.signal }).then(
    (/** @type {Api.SettingsOf} */ { settings, rewards }) => {
      offered(rewards);
      asked = settings.map((setting) => {
        const { control, said } = controlOf(setting);
        const { name, traffic, pairs: where, refused } = setting;
        const why = h("p", { class: "error-text", role: "status" });
        const element = field(setting.question, control, setting.hint);
        element.append(why);
        control.addEventListener("input", told);
        if (name === "pairs") control.addEventListener("change", () => turn(said() === true));
        return { name, traffic, pairs: where, refused, said, why, element };
      });
      for (const [place, here] of /** @type {const} */ ([[first, true], [element, false]])) {
        const own = asked.filter((_, i) => settings[i].first === here);
        own.sort((a, b) => Number(b.name === "pairs") - Number(a.name === "pairs")); // decides what else is asked
        put(place, own.map((one) => one.element));
      }
      told();
    },
  );
  ready.catch(() => {}); // said where the form is sent
  return {
    element,
    first,
    /** @param {boolean} is Whether a site sends visitors. */
    forSite: (is) => {
      site = is;
      if (is && pairs) turn(false);
      told();
    },
    /** Whether options are compared two at a time. */
    pairs: () => pairs && !site,
    /** What was said, by the names of the settings. */
    values: async () => {
      await ready;
      return Object.fromEntries(shown().map((one) => [one.name, one.said()]));
    },
  };
}
