// Sends requests by `fetch`, or by the caller's function, and reads no more of a response than the client accepts.

import { NetworkError, PapirError } from "./errors.js";
import { Reports, parsed, reported } from "./policy.js";

/** Time from a request's first byte to the head of its response, beside that of a slow upload. */
const RESPONSE_MILLISECONDS = 120_000;
/** Slowest upload, in bytes per millisecond: a service refuses slower ones. */
const SLOWEST_UPLOAD = 4;
/** Longest time without any byte of a body. */
const STALLED_MILLISECONDS = 60_000;
/** Longest body: with the copies in the module, it fits into the memory of WebAssembly. */
const LONGEST_BODY = 1 << 29;
/** Time to ask whether a service is there that this page may not ask. */
const REACHED_MILLISECONDS = 10_000;
/** Statuses that send a client elsewhere. */
const REDIRECTIONS = [301, 302, 303, 307, 308];
/** Bodies from this length on are reported as progress. */
const REPORTED_BYTES = 64 << 10;
/** Services that have answered: the browser allows to ask them. */
const answered = new Set();

/**
 * Sends a request to a service, or to a relay or an issuer unless `isService`. Returns the reply that a task is resumed
 * with.
 *
 * No request has cookies or the page's path, follows a redirection, or leaves anything in the browser's cache.
 * `given` is the caller's function, by which alone the service is asked; the global `fetch` if it is undefined.
 */
export async function send(base, request, bodyLimit, { signal, onProgress, fetch: given, isService = true }) {
  const abort = new AbortController();
  const stop = () => abort.abort(signal.reason);
  signal?.addEventListener("abort", stop, { once: true });
  const timer = new Timer(abort);
  // Only the browser's own `fetch` is asked for its reasons: a caller's may hide who asks, or name services its own way.
  const reports = !given && isPage() && !answered.has(base) ? new Reports() : undefined;
  const fetch = given ?? globalThis.fetch;
  try {
    timer.start(RESPONSE_MILLISECONDS + (request.body?.length ?? 0) / SLOWEST_UPLOAD, "no response");
    const { method, headers, body: sent } = request;
    const response = await fetch(base + request.path, { method, headers, body: sent, signal: abort.signal, ...rules() });
    if (isRedirection(response)) throw new Error("a redirection, which is not followed");
    if (!given) answered.add(base);
    const head = { status: response.status, headers: [...response.headers] };
    const limit = bodyLimit(response.status, response.headers.get("papir-version"));
    const { body, broken } = await read(response, limit, timer, onProgress);
    return { head: { ...head, broken }, body };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PapirError) throw error;
    if (reports && !abort.signal.aborted) await refuse({ base, isService }, reports, timer, abort.signal);
    signal?.throwIfAborted();
    return { head: { failure: reason(error) } };
  } finally {
    timer.stop();
    reports?.end();
    signal?.removeEventListener("abort", stop);
  }
}

/** Returns true if a browser decides which services are asked. */
function isPage() {
  return /^https?:/.test(globalThis.location?.origin ?? "");
}

/** The rules of a request. Outside of browsers there are no cookies and caches, and some engines refuse these words. */
function rules() {
  if (globalThis.location === undefined) return { redirect: "manual" };
  return { mode: "cors", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store" };
}

/** Returns true if a service sends the client elsewhere. A page gets no such response. */
function isRedirection({ status, type, body }) {
  const isOne = type === "opaqueredirect" || REDIRECTIONS.includes(status);
  if (isOne) body?.cancel().catch(() => {});
  return isOne;
}

/**
 * Throws the reason why the browser keeps this page from a service. The browser's own error is the same for a service
 * that is away.
 */
async function refuse({ base, isService }, reports, timer, signal) {
  const { origin } = globalThis.location;
  const peer = parsed(base)?.origin;
  timer.start(REACHED_MILLISECONDS, "no response");
  // The page may not read such a response, but learns that there is one. A relay or an issuer is not asked: the browser
  // would follow it to the service, which must not see the page's address.
  const isThere = isService && (await isAnswered(base, "no-cors", signal));
  await reported();

  if (reports.has("connect-src", peer)) {
    const message = `${base}: the page's content security policy forbids to ask it: add ${peer} to connect-src`;
    throw new NetworkError(message, { code: "policy", origin: "server" });
  }
  // The service may have come up just now.
  if (isThere && !(await isAnswered(base, "cors", signal))) {
    const message = `${base}: the service is there, but allows no page of ${origin}: start it with --allow-origin ${origin}`;
    throw new NetworkError(message, { code: "origin_refused", retryable: true, origin: "server" });
  }
}

/**
 * Returns true if a service answers anything at all. Such a request says nothing but its address. With `no-cors`, browsers
 * follow redirections in any case.
 */
function isAnswered(base, mode, signal) {
  const redirect = mode === "no-cors" ? "follow" : "manual";
  const settings = { mode, redirect, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", signal };
  return fetch(`${base}/v1/databases`, settings).then(() => true, () => false);
}

/** Reads at most `limit` bytes of a body. */
async function read(response, limit, timer, onProgress) {
  const reader = response.body?.getReader();
  const total = Number(response.headers.get("content-length") ?? 0);
  const parts = [];
  let length = 0;
  try {
    while (reader && length < limit) {
      timer.start(STALLED_MILLISECONDS, "no more bytes");
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value.subarray(0, limit - length));
      length += parts.at(-1).length;
      if (length > LONGEST_BODY) throw tooLong(response.url);
      // Sealed responses, and those of some proxies, do not announce their length.
      if (Math.max(total, length) >= REPORTED_BYTES) onProgress?.({ received: length, total });
    }
  } catch (error) {
    if (error instanceof PapirError) throw error;
    return { body: undefined, broken: reason(error) };
  } finally {
    reader?.cancel().catch(() => {});
  }
  return { body: join(parts, length), broken: undefined };
}

function tooLong(url) {
  const message = `${url}: the response has more than ${LONGEST_BODY} bytes: use a client outside a browser`;
  return new PapirError(message, { code: "too_long", origin: "server" });
}

function join(parts, length) {
  const joined = new Uint8Array(length);
  let start = 0;
  for (const part of parts) {
    joined.set(part, start);
    start += part.length;
  }
  return joined;
}

/** Browsers say no more of a failed request than that it failed. */
function reason(error) {
  const cause = error.cause?.message ?? error.cause?.code;
  return cause ? `${error.message}: ${cause}` : error.message;
}

/** Aborts when it runs out. */
class Timer {
  #abort;
  #running;

  constructor(abort) {
    this.#abort = abort;
  }

  start(milliseconds, missing) {
    this.stop();
    const late = () => this.#abort.abort(new Error(`${missing} for ${Math.round(milliseconds / 1000)} s`));
    this.#running = setTimeout(late, milliseconds);
  }

  stop() {
    clearTimeout(this.#running);
  }
}
