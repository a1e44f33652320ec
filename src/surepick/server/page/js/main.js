// The start: who is there, which view, and the bar at the top.

import { whenLoggedOut } from "./api.js";
import { h, put } from "./dom.js";
import { brand } from "./parts/brand.js";
import { failed, notAllowed } from "./parts/states.js";
import { parts, route } from "./router.js";
import { forget, isAdmin, logOut, onlyWorks, resume, role } from "./session.js";
import { themeButton } from "./theme.js";
import { accessView } from "./views/access.js";
import { createView } from "./views/create.js";
import { judgeView } from "./views/judge.js";
import { loginView } from "./views/login.js";
import { measureView, workView } from "./views/measure.js";
import { planView } from "./views/plan.js";
import { studiesView } from "./views/studies.js";
import { studyView } from "./views/study.js";

const top = /** @type {HTMLElement} */ (document.getElementById("top"));
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
/** @type {[string, string, boolean][]} */
const LINKS = [
  ["studies", "Studies", false],
  ["new", "New study", true],
  ["plan", "Plan", true],
  ["access", "Access", true],
];
let said = "";

/** @param {string} place */
function bar(place) {
  const own = onlyWorks() ? [] : LINKS;
  const links = own.filter(([, , forAdmins]) => !forAdmins || isAdmin()).map(([path, title]) =>
    h(
      "li",
      {},
      h("a", { href: `#/${path}`, "aria-current": path === place ? "page" : null }, title),
    ),
  );
  put(
    top,
    h(
      "div",
      { class: "top-inner" },
      h(
        "a",
        { class: "brand", href: "#/studies" },
        brand(),
      ),
      role() && h("nav", { "aria-label": "Main" }, h("ul", {}, links)),
      h(
        "div",
        { class: "top-end" },
        role() && h("span", { class: "badge bare role", title: "What your token allows" }, role()),
        themeButton(),
        role() &&
          h("button", { class: "button small plain", type: "button", onclick: leave }, "Log out"),
      ),
    ),
  );
}

/** @type {(view: View) => View} */
const forAdmins = (view) =>
  isAdmin() ? view : () => notAllowed(`This page is for admins. You are logged in as a ${role()}.`);

/**
 * @param {string[]} address
 * @returns {{view: View, title: string}}
 */
function choose([place = "studies", name]) {
  bar(place);
  if (!role()) {
    const words = said;
    said = "";
    return { view: loginView(() => show(), words), title: "Log in" };
  }
  if (place === "judge" && name) return { view: judgeView(name), title: `Judge ${name}` };
  if (place === "measure" && name) return { view: measureView(name), title: `Measure ${name}` };
  if (onlyWorks()) return { view: workView, title: "Measure" };
  if (place === "studies" && name) return { view: studyView(name), title: name };
  if (place === "studies") return { view: studiesView, title: "Studies" };
  if (place === "new") return { view: forAdmins(createView), title: "New study" };
  if (place === "plan") return { view: forAdmins(planView), title: "Plan" };
  if (place === "access") return { view: forAdmins(accessView), title: "Access" };
  return {
    view: () => failed({ status: 404, message: `There is no page “${parts().join("/")}”.` }),
    title: "Not here",
  };
}

async function leave() {
  await logOut();
  show();
}

whenLoggedOut(() => {
  if (!role()) return;
  forget();
  said = "Your session has ended. Please log in again.";
  show();
});

// The part of the address after # names the view, so the skip link must not change it.
const skip = /** @type {HTMLElement} */ (document.querySelector(".skip"));
skip.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

let show = () => {};

async function begin() {
  try {
    await resume();
  } catch (problem) {
    if (problem.status !== 401) {
      bar("");
      put(main, failed(problem, begin));
      return;
    }
    forget();
  }
  show = route(main, choose);
}

begin();
