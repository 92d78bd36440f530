// Sends requests by `fetch`, or the function of the caller in its place, and reads no more of a response than the client accepts.

import { PapirError } from "./errors.js";

/** Time from a request's first byte to the head of its response, beside that of a slow upload. */
const RESPONSE_MILLISECONDS = 120_000;
/** Slowest upload, in bytes per millisecond: a service refuses slower ones. */
const SLOWEST_UPLOAD = 4;
/** Longest time without any byte of a body. */
const STALLED_MILLISECONDS = 60_000;
/** Longest body: with the copies in the module, it fits into the memory of WebAssembly. */
const LONGEST_BODY = 1 << 29;
/** Bodies from this length on are reported as progress. */
const REPORTED_BYTES = 64 << 10;

/**
 * Sends a request to a service. Returns the reply that a task is resumed with.
 *
 * No request has cookies or the page's path, follows a redirection, or leaves anything in the browser's cache.
 */
export async function send(base, request, bodyLimit, { signal, onProgress, fetch = globalThis.fetch }) {
  const abort = new AbortController();
  const stop = () => abort.abort(signal.reason);
  signal?.addEventListener("abort", stop, { once: true });
  const timer = new Timer(abort);
  try {
    timer.start(RESPONSE_MILLISECONDS + (request.body?.length ?? 0) / SLOWEST_UPLOAD, "no response");
    const response = await fetch(base + request.path, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      signal: abort.signal,
      mode: "cors",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      cache: "no-store",
    });
    const head = { status: response.status, headers: [...response.headers] };
    const limit = bodyLimit(response.status, response.headers.get("papir-version"));
    const { body, broken } = await read(response, limit, timer, onProgress);
    return { head: { ...head, broken }, body };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PapirError) throw error;
    return { head: { failure: reason(error) } };
  } finally {
    timer.stop();
    signal?.removeEventListener("abort", stop);
  }
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
      if (total >= REPORTED_BYTES) onProgress?.({ received: length, total });
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
  return new PapirError(message, { code: "too_long" });
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
