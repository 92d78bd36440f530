// A backend in a worker.

import { errorOf } from "./errors.js";
import { isFolder } from "./module.js";
import { Reports, parsed, reported } from "./policy.js";

/** The file of the worker. */
const FILE = "worker.js";

/** Calls a worker as if it were a `Backend`. */
export class RemoteBackend {
  #worker;
  #settings;
  #calls = new Map();
  #next = 1;
  /** Number of open databases. */
  #opened = 0;
  #onEnd;
  #ended;

  /** `settings` are those of `Backend`. `onEnd` is called if the worker fails: all further calls are then refused. */
  constructor(settings, onEnd) {
    this.#settings = settings;
    this.#onEnd = onEnd;
    const { worker, address } = start(settings.place);
    // Reports come in later tasks, so none is missed. A worker that throws leaves no listener behind.
    const reports = new Reports();
    this.#worker = worker;
    this.#worker.onmessage = ({ data }) => (reports.end(), this.#receive(data));
    this.#worker.onerror = async (event) => this.#fail(event.message || (await faultOf(address, reports)));
  }

  open(options, settings) {
    return this.#call("open", [options], settings);
  }

  get(number, wanted, settings) {
    return this.#call("get", [number, wanted], settings);
  }

  move(number, options, settings) {
    return this.#call("move", [number, options], settings);
  }

  close(number) {
    this.#worker.postMessage({ call: "close", values: [number], settings: this.#settings });
    this.#opened--;
    this.#rest();
  }

  /** Ends the worker if nothing is open, since it keeps a process from its end. In a page it stays, with its modules. */
  #rest() {
    // One that has failed has ended, and another one may have taken its place.
    if (typeof document === "object" || this.#ended || this.#opened > 0 || this.#calls.size > 0) return;
    this.#ended = ended("it has ended");
    this.#worker.terminate();
    this.#onEnd();
  }

  #call(call, values, { signal, onProgress }) {
    if (signal?.aborted) {
      this.#rest();
      return Promise.reject(signal.reason);
    }
    if (this.#ended) return Promise.reject(errorOf(this.#ended));
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#calls.delete(id);
        this.#worker.postMessage({ id, call: "abort" });
        reject(signal.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
      const settled = () => signal?.removeEventListener("abort", stop);
      this.#calls.set(id, { resolve, reject, onProgress, settled });
      this.#worker.postMessage({ id, call, values, settings: this.#settings });
    });
  }

  #receive({ id, progress, result, failure }) {
    const call = this.#calls.get(id);
    if (result?.number) this.#opened++;
    // Opened just when the page stopped waiting.
    if (!call && result?.number) this.close(result.number);
    // Stopped, and perhaps the last one.
    if (!call) return progress ? undefined : this.#rest();
    if (progress) return call.onProgress?.(progress);
    this.#calls.delete(id);
    call.settled();
    if (failure) call.reject(errorOf(failure));
    else call.resolve(result);
    this.#rest();
  }

  #fail(reason) {
    if (this.#ended) return;
    this.#ended = ended(reason);
    this.#worker.terminate();
    this.#onEnd();
    for (const call of this.#calls.values()) {
      call.settled();
      call.reject(errorOf(this.#ended));
    }
    this.#calls.clear();
  }
}

/** Starts the worker of a folder, else the one beside this file. Returns it with its address, if that is known. */
function start(place) {
  try {
    if (isFolder(place)) {
      const address = new URL(FILE, place);
      return { worker: new Worker(address, { type: "module", name: "papir" }), address };
    }
    // Bundlers recognize a worker in this form.
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "papir" });
    return { worker, address: parsed(FILE, import.meta.url) };
  } catch (error) {
    const isForeign = error.name === "SecurityError";
    const remedy = isForeign ? "serve papir's files from the page's own origin" : "give the option `module`, the address of the folder with papir's files";
    throw errorOf(ended(`${error.message}: ${remedy}`));
  }
}

/** The reason why a worker did not start, of which the browser's event says nothing. */
async function faultOf(address, reports) {
  // Some bundlers put the source's address in the place of the file's.
  const isServed = address && /^https?:$/.test(address.protocol);
  const response = isServed ? await fetch(address).catch(() => undefined) : undefined;
  await reported();
  reports.end();
  if (reports.has("worker-src")) return "the page's content security policy forbids it: add 'self' to worker-src";

  const expected = `expected papir's file ${FILE}, which a bundler or a server of files may lack`;
  const type = response?.headers.get("content-type") ?? "no media type";
  if (response && !response.ok) return `${address}: HTTP ${response.status}: ${expected}`;
  if (response && !/javascript/.test(type)) return `${address}: ${type} in place of JavaScript: ${expected}`;
  return "it did not start: expected all of papir's files beside it";
}

/** The description of the error of a worker. */
function ended(reason) {
  const message = `papir's worker failed: ${reason}; \`worker: false\` does without it`;
  return { message, code: "worker" };
}
