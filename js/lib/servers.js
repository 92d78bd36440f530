// Connections to a database that one or several servers have.
//
// The client stays with one server. When that one fails, it goes on with the next, in the order of the addresses.
// The choice depends on the outcomes of requests, and never on what is looked up.

import { serviceOf } from "./address.js";
import { PapirError, TimeoutError, description, errorOf, originOf, withoutPasswords } from "./errors.js";
import { PATIENCE_SECONDS, options } from "./options.js";
import { Turns, stoppable, wait, within } from "./stopping.js";

/** Maximum number of servers. */
const MOST_SERVERS = 16;
/** Time after which no round starts because a server is behind, in milliseconds. */
const CATCH_UP = 30_000;
/** Codes of errors of a server that is behind. */
const BEHIND = ["checkpoint_rollback", "checkpoint_sequence"];
/** Codes of errors without a response of the server. */
const UNANSWERED = ["transport", "relay", "timed_out", "policy"];
/** Number of rounds after which an address that has never responded is probably wrong. */
const MOST_BROKEN = 3;
/** The pause after the first round, in milliseconds. Each further pause is twice as long, up to `LONGEST_PAUSE`. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 4000;
/** Tolerance for timers, which may fire this long before their time. */
const EARLY = 5;

/**
 * The options of each server for the module, from the address of one or the addresses of several. The module checks
 * that these can be used together.
 */
export function listed(urls, given, limit) {
  if (!Array.isArray(urls)) return [options(urls, given, limit)];
  if (urls.length < 1 || urls.length > MOST_SERVERS) {
    const message = `several servers: ${urls.length} addresses: expected 1 to ${MOST_SERVERS}`;
    throw new PapirError(message, { code: "servers" });
  }

  const all = urls.map((url) => options(url, given, limit));
  const others = (number) => all.filter((_, other) => other !== number).map(({ url }) => url);
  return all.map((one, number) => ({ ...one, others: others(number) }));
}

/** A connection to a database. Lookups run one after the other. */
export class Connection {
  #backend;
  #servers;
  /** The number of the server that is used. */
  #current = 0;
  /** The number of the database in the backend. */
  #database;
  #limit;
  #settings;
  #turns = new Turns();
  #isOpen = true;

  /**
   * `servers` are their options for the module. `limit` is that of each call, in milliseconds; undefined for none.
   * `settings` are those of all calls of the backend.
   */
  constructor(servers, limit, settings) {
    this.#servers = servers.map((options) => ({ options, hasResponded: false }));
    this.#limit = limit;
    this.#settings = settings;
  }

  /**
   * Opens the database at the first of the servers that can be used. Returns its description. `backend` returns a
   * running backend: a worker may end after an attempt.
   */
  open(backend, signal) {
    return this.#bounded(signal, async (signal, end) => {
      const search = this.#search(end);
      for (;;) {
        try {
          return await this.#openAt(search, backend(), signal);
        } catch (error) {
          // Nothing was looked up yet, so that a damaged public part tells nothing.
          await search.passOver(error, signal);
        }
      }
    });
  }

  async #openAt(search, backend, signal) {
    const open = (options, settings) => backend.open(options, settings);
    const { number, database } = await this.#attempt(search, signal, open);
    this.#backend = backend;
    this.#current = search.number;
    this.#database = number;
    return database;
  }

  /**
   * Looks up what is encoded, after the lookups before. Returns encoded outcomes and the database's description. If the
   * server fails, all of it is looked up at the next server, with fresh queries.
   */
  get(wanted, signal) {
    return this.#bounded(signal, (signal, end) => {
      const looked = this.#turns.take(() => {
        signal?.throwIfAborted();
        return this.#lookUp(wanted, this.#search(end), signal);
      });
      return stoppable(looked, signal);
    });
  }

  /** Closes the database. Lookups that wait for their turn fail. */
  close() {
    this.#isOpen = false;
    this.#backend.close(this.#database);
  }

  async #lookUp(wanted, search, signal) {
    for (;;) {
      try {
        return await this.#attempt(search, signal, (_, settings) => {
          return this.#backend.get(this.#database, wanted, settings);
        });
      } catch (error) {
        // A lookup that is repeated after an error of an answer would tell the servers of it.
        if (originOf(error) !== "server") throw error;
        await this.#moveOn(search, error, signal);
      }
    }
  }

  /** Moves to the next server that can be used, after an error of the current one. */
  async #moveOn(search, failure, signal) {
    let error = failure;
    for (;;) {
      await search.passOver(error, signal);
      try {
        await this.#attempt(search, signal, (options, settings) => {
          return this.#backend.move(this.#database, options, settings);
        });
        this.#current = search.number;
        return;
      } catch (next) {
        error = next;
      }
    }
  }

  /** Makes a call to the server that a search tries, within a part of the time left. */
  async #attempt(search, signal, call) {
    // A worker that nobody uses may have ended.
    if (!this.#isOpen) throw new PapirError("the database is closed", { code: "closed" });
    const { server, share } = search;
    const outcome = await within(share, signal, () => late(server, share), (signal) => {
      return call(server.options, { ...this.#settings, signal });
    });
    server.hasResponded = true;
    return outcome;
  }

  /** Starts the search of a call that ends at `end`, with the server that is used. */
  #search(end) {
    return new Search(this.#servers, this.#current, end);
  }

  /** Makes a call within the limit. It gets a signal and the time of its end; undefined without a limit. */
  #bounded(signal, call) {
    const end = this.#limit === undefined ? undefined : performance.now() + this.#limit;
    const ended = () => late(this.#servers[this.#current], this.#limit);
    return within(this.#limit, signal, ended, (signal) => call(signal, end));
  }
}

/**
 * The search of one call for a server that can be used: from the one that was used last, in the order of the addresses.
 * After a round in which all failed it pauses, and starts another one while a failure may pass in time.
 */
class Search {
  #servers;
  #end;
  /** The failures of this round. */
  #failures = [];
  /** Number of complete rounds. */
  #rounds = 0;
  #start = performance.now();
  /** The number of the server to try. */
  number;

  constructor(servers, first, end) {
    this.#servers = servers;
    this.#end = end;
    this.number = first;
  }

  get server() {
    return this.#servers[this.number];
  }

  /**
   * The time for the next attempt in milliseconds, so that a silent server leaves time for the others of the round;
   * undefined without a limit, and for a single server, which has all of the call's time.
   */
  get share() {
    if (this.#end === undefined || this.#servers.length === 1) return undefined;
    const left = Math.max(0, this.#end - performance.now());
    return left / (this.#servers.length - this.#failures.length);
  }

  /**
   * Goes on to the next server after a failure of the current one, if another one may be asked. Throws the failure
   * otherwise, and also once the time is over; an error with all failures if no server can be used.
   */
  async passOver(error, signal) {
    signal?.throwIfAborted();
    const isOver = this.#end !== undefined && this.#end - performance.now() <= EARLY;
    if (this.#servers.length === 1 || !originOf(error) || isOver) throw error;

    const { server } = this;
    server.hasResponded ||= !UNANSWERED.includes(error.code);
    this.#failures.push({ server, error });
    this.number = (this.number + 1) % this.#servers.length;
    if (this.#failures.length < this.#servers.length) return;

    this.#rounds++;
    const failures = this.#failures.splice(0);
    const pause = pauseAfter(this.#rounds);
    const spent = performance.now() - this.#start + pause;
    if (!failures.some((failure) => spent <= this.#timeFor(failure))) throw noServer(failures);
    await wait(pause, signal);
  }

  /** The time after the start within which a failure may pass, in milliseconds. */
  #timeFor({ server, error }) {
    if (BEHIND.includes(error.code)) return CATCH_UP;
    if (!server.hasResponded && this.#rounds > MOST_BROKEN) return 0;
    return error.retryable ? 1000 * (server.options.patience ?? PATIENCE_SECONDS) : 0;
  }
}

/** The pause after a round, with a random part, so that clients that failed together do not return together. */
function pauseAfter(round) {
  const least = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (round - 1));
  return least * (1 + Math.random() / 2);
}

/** The error of a call to a server that takes longer than `milliseconds`. */
function late({ options }, milliseconds) {
  const message = `${options.url}: no result within ${Math.round(milliseconds) / 1000} s`;
  return new TimeoutError(message, { code: "timed_out", retryable: true, origin: "server" });
}

/** The error for servers none of which can be used. Its class is that of all failures, else that of the network. */
function noServer(failures) {
  const texts = failures.map(({ server, error }) => {
    const url = withoutPasswords(serviceOf(server.options.url));
    return error.message.startsWith(url) ? error.message : `${url}: ${error.message}`;
  });
  const groups = new Set(failures.map(({ error }) => description(error).group));

  const [first] = groups;
  return errorOf({
    group: groups.size === 1 ? first : "network",
    message: `none of the ${failures.length} servers can be used: ${texts.join("; ")}`,
    code: "no_server",
    retryable: failures.some(({ error }) => error.retryable),
  });
}
