// Databases, where the work is done: in a worker, or in the thread of the caller.

import { serviceOf, withoutSlashes } from "./address.js";
import { Engine } from "./engine.js";
import { PapirError } from "./errors.js";
import { send } from "./http.js";
import { compile, modulesOf } from "./module.js";
import { Turns, stoppable, wait } from "./stopping.js";
import { TOKENS, storageOf, unlock } from "./storage.js";

/** Remedies for a storage that fails. */
const PINS_REMEDY = "allow this page to store data, or give `pin: false` and the owner's key";
const TOKENS_REMEDY = "serve this page over HTTPS, and allow it to store data";

/** Opens databases and looks up in them. */
export class Backend {
  #databases = new Map();
  #next = 1;
  /** A promise of each module's engine. */
  #engines = new Map();
  #simd;
  #place;

  /**
   * `place` is that of the modules: see `placeOf`. `simd` is for tests: whether to use vectors, instead of asking the
   * engine.
   */
  constructor({ simd, place } = {}) {
    this.#simd = simd;
    this.#place = place;
  }

  /** Opens a database. Returns its number and its description. */
  async open(options, { signal, onProgress, fetch, storage }) {
    const peer = peerOf(options);
    const given = { fetch, storage };
    const io = this.#ioOf(given, peer, { signal, onProgress });
    const modules = modulesOf(this.#place, peer);
    for (const schemes of modules) {
      const engine = await stoppable(this.#engine(schemes, fetch), signal);
      try {
        const { handle, database } = await engine.open(options, io, signal);
        // The last step of a task is not stopped.
        if (signal?.aborted) engine.close(handle);
        signal?.throwIfAborted();
        const number = this.#next++;
        this.#databases.set(number, { engine, handle, peer, given, turns: new Turns() });
        return { number, database };
      } catch (error) {
        if (schemes === modules.at(-1) || error.code !== "unknown_scheme") throw error;
      }
    }
  }

  /** Looks up in a database, after the calls before. Returns encoded outcomes and its description. */
  get(number, wanted, settings) {
    return this.#take(number, settings, (database) => {
      const io = this.#ioOf(database.given, database.peer, settings);
      return database.engine.get(database.handle, wanted, io, settings.signal);
    });
  }

  /**
   * Moves a database to another of its servers, after the calls before. Returns its description. `options` are those of
   * a connection to that server.
   */
  move(number, options, settings) {
    return this.#take(number, settings, async (database) => {
      const peer = peerOf(options);
      const io = this.#ioOf(database.given, peer, settings);
      const moved = await database.engine.move(database.handle, options, io, settings.signal);
      database.peer = peer;
      return moved;
    });
  }

  /** Makes a call in a database, after the calls before. */
  #take(number, { signal }, call) {
    const database = this.#databases.get(number);
    if (!database) return Promise.reject(new PapirError("the database is closed", { code: "closed" }));
    const outcome = database.turns.take(() => {
      signal?.throwIfAborted();
      if (!this.#databases.has(number)) throw new PapirError("the database is closed", { code: "closed" });
      return call(database);
    });
    return stoppable(outcome, signal);
  }

  close(number) {
    const database = this.#databases.get(number);
    this.#databases.delete(number);
    database?.engine.close(database.handle);
  }

  /** An engine of this module; another one after a failure. `fetch` is the caller's function. */
  async #engine(schemes, fetch) {
    const started = this.#engines.get(schemes);
    if (started && !(await started).isBroken) return started;

    // Another call may have replaced a broken engine meanwhile.
    if (this.#engines.get(schemes) === started) {
      const starting = this.#start(schemes, fetch);
      this.#engines.set(schemes, starting);
      starting.catch(() => this.#engines.delete(schemes));
    }
    return this.#engines.get(schemes);
  }

  async #start(schemes, fetch) {
    const module = await compile(schemes, this.#simd, this.#place, fetch);
    return Engine.start(module, { unlock });
  }

  /** The events of a call in a database, whose requests go to a peer, with what the caller has given for all calls. */
  #ioOf({ fetch, storage }, { base, isRelay, issuer }, { signal, onProgress }) {
    return {
      send: ({ to, ...request }, bodyLimit) => {
        const isForIssuer = to === "issuer";
        const isService = !isRelay && !isForIssuer;
        return send(isForIssuer ? issuer : base, request, bodyLimit, { signal, onProgress, fetch, isService });
      },
      store: (request, body) => store(storage, request, body, signal),
      wait: (milliseconds) => wait(milliseconds, signal),
    };
  }
}

/** Performs a request to the storage that the caller gives, else to the usual one. */
async function store(given, request, body, signal) {
  try {
    return await storageOf(given).perform(request, body, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (given) return { head: { failure: String(error?.message ?? error) } };
    const remedy = request.entry === TOKENS ? TOKENS_REMEDY : PINS_REMEDY;
    return { head: { failure: `${error.message}: ${remedy}` } };
  }
}

/**
 * The address that the requests for a service are sent to, as the module reads it: the relay's, else the service's.
 * With it that of the issuer of tokens; undefined if there is none.
 */
function peerOf({ url, relay, issuer }) {
  // An empty address is one that the module refuses.
  const isRelay = typeof relay === "string";
  const base = isRelay ? withoutSlashes(relay) : serviceOf(url);
  return { base, isRelay, issuer: typeof issuer === "string" ? withoutSlashes(issuer) : undefined };
}
