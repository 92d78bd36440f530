/** Looks up keys and indices in a papir service without revealing them. */

import { Backend } from "./backend.js";
import { NetworkError, NotPrivateError, PapirError, TimeoutError, UnsupportedError, VerificationError } from "./errors.js";
import { placeOf } from "./module.js";
import { options, timeoutOf } from "./options.js";
import { chosenFetch } from "./proxy.js";
import { RemoteBackend } from "./remote.js";
import { Scheduled } from "./schedule.js";
import { within } from "./stopping.js";
import { decodeOutcomes, decodeValues, encodeWanted } from "./wanted.js";

export { NetworkError, NotPrivateError, PapirError, TimeoutError, UnsupportedError, VerificationError };

const backends = new Map();
/** Numbers of the compiled modules that callers gave. */
const numbers = new WeakMap();
let next = 1;

/** One worker for all databases of a page. */
function backend(worker, settings) {
  const name = `${worker} ${settings.simd} ${nameOf(settings.place)}`;
  const remote = () => new RemoteBackend(settings, () => backends.delete(name));
  if (!backends.has(name)) backends.set(name, worker ? remote() : new Backend(settings));
  return backends.get(name);
}

function nameOf(place) {
  if (typeof place !== "object") return place;
  if (!numbers.has(place)) numbers.set(place, next++);
  return numbers.get(place);
}

/** Only a page is to be kept smooth. Elsewhere a worker would keep the process from its end. */
function isPage() {
  return typeof document === "object" && typeof Worker === "function";
}

/** Connects to a database and fetches its public part. */
export async function connect(url, given = {}) {
  const { fetch, worker = isPage() && !fetch, module, simd, signal, timeout, onProgress, ...rest } = given;
  const limit = timeoutOf(timeout);
  const checked = options(url, rest, limit);
  const sending = chosenFetch(checked.relay ?? checked.url, fetch);
  if (sending && worker) throw new TypeError("option `fetch`: a worker cannot call it: leave out `worker`");
  const chosen = backend(worker, { simd, place: placeOf(module) });
  const reports = onProgress && reporting(onProgress);
  const bounded = (signal, call) => within(limit, signal, () => late(checked.url, limit), call);
  const opened = await bounded(signal, (signal) => chosen.open(checked, { signal, onProgress: reports, fetch: sending }));
  return new Database(chosen, opened, { onProgress: reports, bounded });
}

/** The error of a call that takes longer than `milliseconds`. */
function late(url, milliseconds) {
  return new TimeoutError(`${url}: no result within ${milliseconds / 1000} s`, { code: "timed_out", retryable: true });
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
  /** Makes a call within the timeout. */
  #bounded;
  #description;
  #schedules = new Set();
  #isOpen = true;

  constructor(backend, { number, database }, { onProgress, bounded }) {
    this.#backend = backend;
    this.#number = number;
    this.#description = database;
    this.#onProgress = onProgress;
    this.#bounded = bounded;
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
    return decodeValues(await this.#look(encodeWanted(keys, "key"), settings));
  }

  async getIndex(index, settings) {
    return (await this.getIndices([index], settings))[0];
  }

  async getIndices(indices, settings) {
    return decodeValues(await this.#look(encodeWanted(indices, "index"), settings));
  }

  schedule(settings) {
    this.#check();
    const source = {
      info: () => this.info,
      lookEach: async (items, kind) => decodeOutcomes(await this.#look(encodeWanted(items, kind))),
    };
    const schedule = new Scheduled(source, settings, () => this.#schedules.delete(schedule));
    this.#schedules.add(schedule);
    return schedule;
  }

  close() {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const schedule of this.#schedules) schedule.close();
    this.#backend.close(this.#number);
  }

  #check() {
    // A worker that nobody uses may have ended.
    if (!this.#isOpen) throw new PapirError("the database is closed", { code: "closed" });
  }

  /** Looks up what is encoded. Returns encoded outcomes. */
  async #look(wanted, { signal } = {}) {
    this.#check();
    const look = (signal) => this.#backend.get(this.#number, wanted, { signal, onProgress: this.#onProgress });
    const { values, database } = await this.#bounded(signal, look);
    this.#description = database;
    return values;
  }
}

// Engines that do not know `using` may lack these symbols.
if (Symbol.dispose) {
  Database.prototype[Symbol.dispose] = function () {
    this.close();
  };
}
if (Symbol.asyncDispose) {
  Database.prototype[Symbol.asyncDispose] = async function () {
    this.close();
  };
}
