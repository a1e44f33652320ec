// For those who have a worker's token: which study, and what to measure next, and nothing else.

import { get, studyPath } from "../api.js";
import { h, put } from "../dom.js";
import { plural } from "../format.js";
import { blank, bones, failed } from "../parts/states.js";
import { Model } from "../study/model.js";
import { samplesCard } from "../study/samples.js";

/** @type {(study: {name: string, pairs: boolean}) => string} */
const place = ({ name, pairs }) => `#/${pairs ? "judge" : "measure"}/${encodeURIComponent(name)}`;

/** @type {(name: string) => View} */
export const measureView = (name) => (scope) => {
  const page = h("div", { class: "measuring" }, bones("tall"));
  async function begin() {
    try {
      /** @type {Api.Status} */
      const status = await get(studyPath(name, ""), { signal: scope.signal });
      if (status.pairs) return location.replace(place({ name, pairs: true }));
      const samples = samplesCard(name, () => {});
      samples.update(new Model(status, null)); // which further numbers each measurement has
      put(
        page,
        h("div", { class: "view-head" }, h("div", {}, h("h1", {}, name))),
        status.traffic
          ? blank("unknown", "Nothing to measure", "In this study a site reports visits.")
          : status.finished
            ? blank("fine", "Done, thank you", "The study is finished: there is nothing left to measure.")
            : samples.element,
      );
    } catch (problem) {
      if (problem.name !== "AbortError") put(page, failed(problem, begin));
    }
  }
  begin();
  return page;
};

/** What somebody with a worker's token sees first. @type {View} */
export const workView = (scope) => {
  const page = h("div", {}, bones("tall"));
  async function load() {
    try {
      /** @type {Api.StudyList} */
      const { studies } = await get("/studies", { signal: scope.signal });
      if (studies.length === 1) return location.replace(place(studies[0]));
      put(
        page,
        h("div", { class: "view-head" }, h("div", {}, h("h1", {}, "What would you like to do?"))),
        studies.map((one) =>
          h(
            "a",
            { class: "card judge-link", href: place(one) },
            h("strong", {}, `${one.pairs ? "Judge" : "Measure"} ${one.name}`),
            h(
              "span",
              { class: "muted" },
              one.finished ? "finished" : plural(one.samples, one.pairs ? "comparison" : "measurement"),
            ),
          ),
        ),
        !studies.length && blank("unknown", "Nothing to do", "The studies of your token are not there any more."),
      );
    } catch (problem) {
      if (problem.name !== "AbortError") put(page, failed(problem, load));
    }
  }
  load();
  return page;
};
