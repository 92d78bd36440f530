// A backend in a worker.

import { errorOf } from "./errors.js";

/** Calls a worker as if it were a `Backend`. */
export class RemoteBackend {
  #worker;
  #simd;
  #calls = new Map();
  #next = 1;

  constructor(simd) {
    this.#simd = simd;
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "papir" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => this.#fail(event.message ?? "the worker did not start");
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
    if (!call) return;
    if (progress) return call.onProgress?.(progress);
    this.#calls.delete(id);
    call.settled();
    if (failure) call.reject(errorOf(failure));
    else call.resolve(result);
  }

  #fail(message) {
    for (const call of this.#calls.values()) {
      call.settled();
      call.reject(errorOf({ message: `papir's worker: ${message}`, code: "worker" }));
    }
    this.#calls.clear();
  }
}
