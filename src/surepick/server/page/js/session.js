// Who is logged in, and what they may do.

import { call, get, useCsrf } from "./api.js";

/** @typedef {{role: string | null, studies: string[] | null, csrf: string | null}} Who */

/** @type {Who} */
const NOBODY = { role: null, studies: null, csrf: null };
const KEY = "surepick-logged-in"; // a hint only: scripts cannot see the cookie itself

let who = NOBODY;

/** @param {Who} session */
function take(session) {
  who = session;
  useCsrf(who.csrf);
  try {
    if (who.role) localStorage.setItem(KEY, "yes");
    else localStorage.removeItem(KEY);
  } catch {
    // Storage may be forbidden: one logs in again after a reload.
  }
  return who;
}

function wasLoggedIn() {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

/** The session of this browser's cookie, if there is one. */
export async function resume() {
  if (wasLoggedIn()) take(await get("/session"));
}

/**
 * Change a token for a session.
 *
 * @type {(token: string) => Promise<Who>}
 */
export const logIn = async (token) => take(await call("POST", "/session", { token }));

/** End the session, here and at the service. */
export async function logOut() {
  try {
    await call("DELETE", "/session");
  } finally {
    take(NOBODY);
  }
}

/** The session has ended without being asked to. */
export const forget = () => take(NOBODY);

export const role = () => who.role;

/** Whether somebody measures or judges, and sees nothing else. */
export const onlyWorks = () => who.role === "worker" || who.role === "judge";
export const isAdmin = () => who.role === "admin";
