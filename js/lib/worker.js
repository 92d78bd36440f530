// A worker that opens databases and looks up in them, so that the page stays smooth.

import { Backend } from "./backend.js";
import { description } from "./errors.js";

let backend;
/** What stops each call that is under way. */
const running = new Map();

self.onmessage = async ({ data: { id, call, values, settings } }) => {
  if (call === "abort") return running.get(id)?.abort();
  backend ??= new Backend(settings);
  if (call === "close") return backend.close(...values);
  const abort = new AbortController();
  running.set(id, abort);
  const onProgress = (progress) => self.postMessage({ id, progress });
  try {
    const result = await backend[call](...values, { signal: abort.signal, onProgress });
    self.postMessage({ id, result });
  } catch (error) {
    self.postMessage({ id, failure: description(error) });
  } finally {
    running.delete(id);
  }
};
