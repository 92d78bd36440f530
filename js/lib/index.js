/** Looks up keys and indices in a papir service without revealing them. */

import { Backend } from "./backend.js";
import { NetworkError, NotPrivateError, PapirError, UnsupportedError, VerificationError } from "./errors.js";
import { options } from "./options.js";
import { chosenFetch } from "./proxy.js";
import { RemoteBackend } from "./remote.js";
import { decodeValues, encodeWanted } from "./wanted.js";

export { NetworkError, NotPrivateError, PapirError, UnsupportedError, VerificationError };

const backends = new Map();

/** One worker for all databases of a page. Node has threads of its own, and no page to keep smooth. */
function backend(worker, simd) {
  const name = `${worker} ${simd}`;
  const remote = () => new RemoteBackend(simd, () => backends.delete(name));
  if (!backends.has(name)) backends.set(name, worker ? remote() : new Backend(simd));
  return backends.get(name);
}

/** Connects to a database and fetches its public part. */
export async function connect(url, given = {}) {
  const { fetch, worker = !fetch && typeof Worker === "function", simd, signal, onProgress, ...rest } = given;
  const checked = options(url, rest);
  const sending = chosenFetch(url, fetch);
  if (sending && worker) throw new TypeError("option `fetch`: a worker cannot call it: leave out `worker`");
  const chosen = backend(worker, simd);
  const reports = onProgress && reporting(onProgress);
  return new Database(chosen, await chosen.open(checked, { signal, onProgress: reports, fetch: sending }), reports);
}

/** The caller's function: its errors are its own, and fail no lookup. */
function reporting(onProgress) {
  return (progress) => {
    try {
      onProgress(progress);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

/** A private client of one database. */
class Database {
  #backend;
  #number;
  #onProgress;
  #description;

  constructor(backend, { number, database }, onProgress) {
    this.#backend = backend;
    this.#number = number;
    this.#description = database;
    this.#onProgress = onProgress;
  }

  get info() {
    return this.#description.info;
  }

  get version() {
    return this.#description.version;
  }

  get checkpoint() {
    return this.#description.checkpoint;
  }

  get root() {
    return this.#description.root;
  }

  get costs() {
    return this.#description.costs;
  }

  async get(key, settings) {
    return (await this.getMany([key], settings))[0];
  }

  async getMany(keys, settings) {
    return this.#look(encodeWanted(keys, "key"), settings);
  }

  async getIndex(index, settings) {
    return (await this.getIndices([index], settings))[0];
  }

  async getIndices(indices, settings) {
    return this.#look(encodeWanted(indices, "index"), settings);
  }

  close() {
    this.#backend.close(this.#number);
  }

  async #look(wanted, { signal } = {}) {
    const { values, database } = await this.#backend.get(this.#number, wanted, { signal, onProgress: this.#onProgress });
    this.#description = database;
    return decodeValues(values);
  }
}
