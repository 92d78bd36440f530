// A backend in a worker.

import { errorOf } from "./errors.js";

/** Calls a worker as if it were a `Backend`. */
export class RemoteBackend {
  #worker;
  #simd;
  #calls = new Map();
  #next = 1;
  #onEnd;
  #ended;

  /** `onEnd` is called if the worker fails: all further calls are then refused. */
  constructor(simd, onEnd) {
    this.#simd = simd;
    this.#onEnd = onEnd;
    try {
      this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "papir" });
    } catch (error) {
      // A worker of another origin, for example.
      throw errorOf(ended(error.message));
    }
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => this.#fail(event.message || "it did not start");
  }

  open(options, settings) {
    return this.#call("open", [options], settings);
  }

  get(number, wanted, settings) {
    return this.#call("get", [number, wanted], settings);
  }

  close(number) {
    this.#worker.postMessage({ call: "close", values: [number], simd: this.#simd });
  }

  #call(call, values, { signal, onProgress }) {
    if (signal?.aborted) return Promise.reject(signal.reason);
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
      this.#worker.postMessage({ id, call, values, simd: this.#simd });
    });
  }

  #receive({ id, progress, result, failure }) {
    const call = this.#calls.get(id);
    // Opened just when the page stopped waiting.
    if (!call && result?.number) this.close(result.number);
    if (!call) return;
    if (progress) return call.onProgress?.(progress);
    this.#calls.delete(id);
    call.settled();
    if (failure) call.reject(errorOf(failure));
    else call.resolve(result);
  }

  #fail(reason) {
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

function ended(reason) {
  const message = `papir's worker failed: ${reason}: allow it (worker-src), or give \`worker: false\``;
  return { message, code: "worker" };
}
