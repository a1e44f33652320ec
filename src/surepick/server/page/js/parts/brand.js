// The sign and the name.

import { h } from "../dom.js";

// Beside the scripts, wherever they came from: their address has a version in it.
const SIGN = new URL("../../favicon.svg", import.meta.url).href;

export const brand = () => [h("img", { src: SIGN, alt: "" }), "surepick"];
