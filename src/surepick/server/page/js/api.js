// The one place that talks to the service.

/** What went wrong, in the words of the service. `status` 0: it could not be reached. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} kind
   * @param {string} message
   * @param {number} retryAfter seconds
   */
  constructor(status, kind, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}

/** @type {string | null} */
let csrf = null;
let onLoggedOut = () => {};

/**
 * Unsafe requests carry what the service handed out with the session.
 *
 * @param {string | null} token
 */
export function useCsrf(token) {
  csrf = token;
}

/**
 * Called when the session has ended while the page was open.
 *
 * @param {() => void} callback
 */
export function whenLoggedOut(callback) {
  onLoggedOut = callback;
}

/**
 * One request; the answer's JSON, or null where it has none.
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, { signal } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-CSRF-Token"] = csrf;
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new ApiError(0, "Unreachable", "The service cannot be reached. Is it running?");
  }
  if (response.ok) return response.status === 204 ? null : await response.json();
  const error = await refusal(response);
  if (error.status === 401 && path !== "/session") onLoggedOut();
  throw error;
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function refusal(response) {
  /** @type {Partial<Api.ErrorBody>} */
  let said = {};
  try {
    said = (await response.json()).error ?? {};
  } catch {
    // No JSON: something between here and the service has answered.
  }
  const message = said.message ?? `The service answered ${response.status} ${response.statusText}`;
  const wait = Number(response.headers.get("Retry-After")) || 0;
  return new ApiError(response.status, said.kind ?? "Error", message, wait);
}

/** @type {(path: string, options?: {signal?: AbortSignal}) => Promise<any>} */
export const get = (path, options) => call("GET", path, undefined, options);
/** @type {(path: string, body: unknown, options?: {signal?: AbortSignal}) => Promise<any>} */
export const post = (path, body, options) => call("POST", path, body, options);
/** @type {(path: string) => Promise<null>} */
export const remove = (path) => call("DELETE", path);

/** @type {() => string} the id of an ask: the same as long as its answer may be lost */
export const newId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/**
 * The path of a study, whatever characters its name has.
 *
 * @type {(name: string, rest?: string) => string}
 */
export const studyPath = (name, rest = "") => `/studies/${encodeURIComponent(name)}${rest}`;

/**
 * An address that the browser can open by itself: downloads.
 *
 * @type {(name: string, rest: string) => string}
 */
export const download = (name, rest) => `/api/v1${studyPath(name, rest)}`;
