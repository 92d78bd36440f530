/** Looks up keys and indices in a papir service without revealing them. */

import { Backend } from "./backend.js";
import { NetworkError, NotPrivateError, PapirError, TimeoutError, UnsupportedError, VerificationError } from "./errors.js";
import { placeOf } from "./module.js";
import { checkStorage, timeoutOf } from "./options.js";
import { chosenFetch } from "./proxy.js";
import { RemoteBackend } from "./remote.js";
import { Scheduled } from "./schedule.js";
import { Connection, listed } from "./servers.js";
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

/** Connects to a database, at one address or at the first usable one of several, and fetches its public part. */
export async function connect(url, given = {}) {
  const { fetch, storage, module, simd, signal, timeout, onProgress, ...other } = given;
  const { worker = isPage() && !fetch && !storage, ...rest } = other;
  checkStorage(storage);
  const limit = timeoutOf(timeout);
  const servers = listed(url, rest, limit);
  // Each may need a proxy of its own, and then the caller's function.
  const asked = servers.flatMap(({ relay, url, issuer }) => (issuer === null ? [relay ?? url] : [relay ?? url, issuer]));
  const [sending] = asked.map((address) => chosenFetch(address, fetch));
  for (const [name, value] of Object.entries({ fetch: sending, storage })) {
    if (value && worker) throw new TypeError(`option \`${name}\`: a worker cannot call it: leave out \`worker\``);
  }
  const place = placeOf(module);
  const reports = onProgress && reporting(onProgress);
  const connection = new Connection(servers, limit, { onProgress: reports, fetch: sending, storage });
  const description = await connection.open(() => backend(worker, { simd, place }), signal);
  return new Database(connection, description);
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
  #connection;
  #description;
  #schedules = new Set();
  #isOpen = true;

  constructor(connection, description) {
    this.#connection = connection;
    this.#description = description;
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
      lookEach: async (items, kind) => decodeOutcomes(await this.#look(encodeWanted(items, kind, true))),
    };
    const schedule = new Scheduled(source, settings, () => this.#schedules.delete(schedule));
    this.#schedules.add(schedule);
    return schedule;
  }

  close() {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const schedule of this.#schedules) schedule.close();
    this.#connection.close();
  }

  #check() {
    if (!this.#isOpen) throw new PapirError("the database is closed", { code: "closed" });
  }

  /** Looks up what is encoded. Returns encoded outcomes. */
  async #look(wanted, { signal } = {}) {
    this.#check();
    const { values, database } = await this.#connection.get(wanted, signal);
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
