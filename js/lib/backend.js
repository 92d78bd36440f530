// Databases, where the work is done: in a worker, or in the thread of the caller.

import { Engine } from "./engine.js";
import { PapirError } from "./errors.js";
import { send } from "./http.js";
import { compile } from "./module.js";
import { storage } from "./storage.js";

/** Opens databases and looks up in them. */
export class Backend {
  #databases = new Map();
  #next = 1;
  #engines = new Map();
  #storage = storage();
  #simd;

  /** `simd` is for tests: whether to use vectors, instead of asking the engine. */
  constructor(simd) {
    this.#simd = simd;
  }

  /** Opens a database. Returns its number and its description. */
  async open(options, { signal, onProgress }) {
    const io = this.#io(options.url, { signal, onProgress });
    for (const schemes of ["short", "all"]) {
      const engine = await this.#engine(schemes);
      try {
        const { handle, database } = await engine.open(options, io, signal);
        const number = this.#next++;
        this.#databases.set(number, { engine, handle, url: options.url, last: Promise.resolve() });
        return { number, database };
      } catch (error) {
        if (schemes === "all" || error.code !== "unknown_scheme") throw error;
      }
    }
  }

  /** Looks up in a database, after the lookups before. */
  get(number, wanted, { signal, onProgress }) {
    const database = this.#databases.get(number);
    if (!database) return Promise.reject(new PapirError("the database is closed", { code: "closed" }));
    const { engine, handle, url, last } = database;
    const io = this.#io(url, { signal, onProgress });
    const outcome = last.then(() => {
      if (!this.#databases.has(number)) throw new PapirError("the database is closed", { code: "closed" });
      return engine.get(handle, wanted, io, signal);
    });
    database.last = outcome.catch(() => {});
    return outcome;
  }

  close(number) {
    const database = this.#databases.get(number);
    this.#databases.delete(number);
    database?.engine.close(database.handle);
  }

  async #engine(schemes) {
    if (!this.#engines.has(schemes)) {
      const module = await compile(schemes, this.#simd);
      const unlock = (lock) => this.#storage.unlock(lock);
      this.#engines.set(schemes, this.#engines.get(schemes) ?? new Engine(module, { unlock }));
    }
    return this.#engines.get(schemes);
  }

  #io(url, { signal, onProgress }) {
    const base = url.replace(/\/v1\/databases(\/.*)?$/, "").replace(/\/+$/, "");
    return {
      send: (request, bodyLimit) => send(base, request, bodyLimit, { signal, onProgress }),
      store: (request, body) =>
        this.#storage.perform(request, body).catch((error) => ({ head: { failure: error.message } })),
      wait: (milliseconds) => wait(milliseconds, signal),
    };
  }
}

function wait(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", stop), resolve({ head: {} })), milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
