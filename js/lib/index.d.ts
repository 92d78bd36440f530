/// <reference lib="esnext.disposable" />

/** Looks up keys and indices in a papir service without revealing them. */

/**
 * Connects to a database of a service, and fetches its public part.
 *
 * Of up to 16 addresses, the client stays with the first server that can be used. While that one is away, behind or
 * different, lookups go to the next, with fresh queries. All must have the same database, signed by the same owner or
 * with the same root. If none can be used, the error has the code `no_server` and names each with its reason; a list
 * that cannot be used has the code `servers`. The token is sent to each server that is tried.
 */
export function connect(url: string | URL | readonly (string | URL)[], options?: ConnectOptions): Promise<Database>;

/** Options of a connection. Times are in seconds. */
export interface ConnectOptions {
  /** The database's name; by default the one in the address, else the service's only one. */
  database?: string;
  /** Token for the service. It is sent over HTTPS only, or to this machine. */
  token?: string;
  /**
   * Sends the token over plain HTTP, too, and through a relay without `ohttpKeys`. Anyone on the network path, or the
   * relay, can then read it. A relay or an issuer of another machine may be reached over plain HTTP, too.
   */
  insecureHttp?: boolean;
  /**
   * The relay of Oblivious HTTP, as `https://HOST`, through which every request goes, sealed for the service's gateway
   * (RFC 9458). The service then does not see this machine's address. Nothing is sent to the service itself; without
   * the relay, a call fails with the code `relay`.
   */
  relay?: string | URL;
  /**
   * The keys of the service's gateway, of type `application/ohttp-keys`, as the service's operator publishes them. By
   * default they are fetched through the relay, which can then replace them and read everything; a token is refused
   * then, with the code `bad_relay`. With `owner`, only fetched keys are used that the owner of the database names, and
   * a token is sent once they are checked. Of several servers, all must have the given keys.
   */
  ohttpKeys?: Uint8Array;
  /**
   * The issuer of private tokens (Privacy Pass), as `https://HOST`, for a service that demands them. Each request with
   * lookups costs one. They are fetched 32 at a time, and kept in IndexedDB, or in `storage`; outside of browsers they
   * otherwise end with the process. The issuer sees this machine's address, also with a relay, and with `relay` tokens
   * need `ohttpKeys`. Without an issuer, a lookup in such a service fails with the code `no_issuer`; a demand for other
   * tokens has the code `bad_challenge`.
   */
  issuer?: string | URL;
  /** Token for the issuer, which recognizes its client by it. */
  issuerToken?: string;
  /** The owner's public key. The database must be signed under it. */
  owner?: string;
  /** The root of a verifiable database, 64 hexadecimal digits. Every record is verified against it. */
  root?: string;
  /** Maximum age of a signed version. A database that is not signed is refused. */
  maxAge?: number;
  /** Lowest sequence of a signed version that is accepted. A database that is not signed is refused. */
  sequence?: number;
  /** Public keys of witnesses, whose signatures beside the owner's are verified and counted. */
  witnesses?: readonly string[];
  /** Minimum number of these witnesses that must have signed. With 1 or more, a database that is not signed is refused. */
  cosignatures?: number;
  /** Maximum age of the version in use, for databases with frequent changes: 10 by default. */
  freshness?: number;
  /** Time after which no request is tried again while the service, or all of several, is busy or away: 60 by default. */
  patience?: number;
  /**
   * Time after which a call fails with a `TimeoutError`, with all its waits and retries: the connection, and each
   * lookup. Unlimited by default. Each of several servers gets an equal part of the time left.
   */
  timeout?: number;
  /** Largest download of a public part, in bytes: 1 GiB by default. */
  maxDownload?: number;
  /**
   * Sends all requests to service and issuer in place of the global `fetch`, for example through a proxy. In Node, Deno
   * and Bun it is needed if a variable such as HTTPS_PROXY names one: `globalThis.fetch` where the engine's own uses it.
   * No worker is used then. Outside of browsers it also fetches the file that `module` names.
   */
  fetch?: typeof fetch;
  /**
   * Keeps pins, public parts and tokens in place of IndexedDB and the Cache API, for example in files of a program in
   * Node, where they otherwise end with the process. No worker is used then.
   */
  storage?: ClientStorage;
  /** Whether to keep the public part for the next visit: true by default. */
  cache?: boolean;
  /**
   * Begins with the version that an earlier connection with this option has kept, without a request; a lookup is then
   * one request. A newer version is fetched once the service refuses the kept one. Without a kept version the newest
   * one is fetched, and kept. The filter of the database's keys is not used. False by default.
   */
  known?: boolean;
  /**
   * When a kept public part of an earlier version is brought up to date by the blocks that have changed, from which the
   * service learns the version of the copy. By default ("auto") without a relay, if the owner of a signed database was
   * pinned before, or if this connection has fetched the copy's version.
   */
  patches?: "auto" | "always" | "never";
  /** Whether to remember the owner's key of a signed database from its first use: true by default. */
  pin?: boolean;
  /**
   * Uses the filter of the database's keys, if its owner has added one: true by default. Nothing is then sent
   * for keys that it excludes, and the service learns of each lookup that its key is probably present.
   */
  prefilter?: boolean;
  /** Refuses lookups outside a schedule, with the code `unscheduled`: false by default. */
  hideTimes?: boolean;
  /** Works in a Web Worker if true, the default in pages. Elsewhere the work is done in the caller's thread. */
  worker?: boolean;
  /**
   * The address of the folder with papir's files, if they are not beside this one, as in a bundle. It ends in a
   * slash. Or the module itself, for every scheme that it has: the address of a `.wasm` file, or a compiled module.
   */
  module?: string | URL | WebAssembly.Module;
  /** Stops the connection. */
  signal?: AbortSignal;
  /** Called while long bodies are received, such as a public part that is fetched once. */
  onProgress?: (progress: Progress) => void;
}

/**
 * A storage of the application. A slot has the entries of one database, or of one service; its name does not reveal the
 * service. An entry is one of `owner`, `root`, `name`, `version`, `tokens` and `public`. All but `public` are changed
 * with the slot's lock held. `tokens` is secret, and an earlier one must not come back: keep it out of backups.
 */
export interface ClientStorage {
  /** Waits until nothing else holds the slot's lock, also in other processes that share the storage, and takes it. */
  lock(slot: string): Promise<void> | void;
  /** Releases the lock. An error is ignored. */
  unlock(slot: string): Promise<void> | void;
  /** Reads an entry; undefined or null if it is missing. */
  read(slot: string, entry: string): Promise<Uint8Array | null | undefined> | Uint8Array | null | undefined;
  /**
   * Stores an entry in place of an earlier one, as a whole. It must be durable once the promise is fulfilled, except
   * for `public`, which may be lost at any time.
   */
  replace(slot: string, entry: string, bytes: Uint8Array): Promise<void> | void;
}

/** Progress of a body that is being received, in bytes. Through a relay they are those of the sealed response. */
export interface Progress {
  received: number;
  /** The length of the body; 0 if it is not announced, as by most relays. */
  total: number;
}

/** Settings of one call. */
export interface CallSettings {
  /** Stops waiting. What was sent stays sent. */
  signal?: AbortSignal;
}

/** A private client of one database. Lookups run one after the other. */
export interface Database {
  /** The service's description of the database. */
  readonly info: DatabaseInfo;
  /** The version in use, 16 hexadecimal digits. */
  readonly version: string;
  /** What the owner signed; null if the database is not signed. */
  readonly checkpoint: Checkpoint | null;
  /** The root of a verifiable database; null for others. */
  readonly root: string | null;
  /** The costs since the connection. */
  readonly costs: Costs;
  /** The value of a key; null if the database does not have the key. */
  get(key: string | Uint8Array, settings?: CallSettings): Promise<Uint8Array | null>;
  /** The values of several keys, in order. The service learns their number. */
  getMany(keys: readonly (string | Uint8Array)[], settings?: CallSettings): Promise<(Uint8Array | null)[]>;
  /** The record at an index, from 0. */
  getIndex(index: number | bigint, settings?: CallSettings): Promise<Uint8Array>;
  /** The records at several indices, in order. The service learns their number. */
  getIndices(indices: readonly (number | bigint)[], settings?: CallSettings): Promise<Uint8Array[]>;
  /**
   * Looks up at fixed times: one request of `batch` lookups every `every` seconds, filled with lookups of random keys
   * or indices. When and how much is sent does not depend on what is looked up, or how often. Other lookups in the
   * database are sent at once, and may delay those of the schedule.
   */
  schedule(settings: ScheduleSettings): Scheduled;
  /** Ends its schedules, and frees the memory of the database. */
  close(): void;
  /** Closes the database at the end of the scope of `using`. */
  [Symbol.dispose](): void;
  /** Closes the database at the end of the scope of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Settings of a schedule. */
export interface ScheduleSettings {
  /** The time between two requests in seconds, 0.001 to 2,000,000. Times that a long request misses are skipped. */
  every: number;
  /** The number of lookups in each request, at most the service's `maxBatch`. */
  batch: number;
}

/** A running schedule. It keeps a process from its end until it is closed. */
export interface Scheduled {
  /** The number of lookups that wait for a slot. At most 1,000 may wait. */
  readonly waiting: number;
  /**
   * The value of a key of at most 4,096 bytes; null if the database does not have the key. It is sent in the next slot
   * with a free place.
   */
  get(key: string | Uint8Array): Promise<Uint8Array | null>;
  /** The record at an index, from 0. An index beyond the last record fails once its request is answered. */
  getIndex(index: number | bigint): Promise<Uint8Array>;
  /** Ends the schedule. Lookups that wait for a slot fail; a request under way still gets its values. */
  close(): void;
  /** Closes the schedule at the end of the scope of `using`. */
  [Symbol.dispose](): void;
  /** Closes the schedule at the end of the scope of `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The service's description of a database. Lengths are in bytes. */
export interface DatabaseInfo {
  name: string;
  scheme: string;
  version: string;
  /** Number of records; in a keyed database, of buckets. */
  records: number;
  recordBits: number;
  keyed: boolean;
  maxBatch: number;
  private: boolean;
  sizes: { query: number; answer: number; bundle: number; [name: string]: number };
  securityBits: number | null;
  failureLog2: number | null;
  parameters: Record<string, string>;
}

/** The owner's statement about the version in use. */
export interface Checkpoint {
  /** The owner's public key. */
  owner: string;
  sequence: number;
  /** Number of known witnesses that have signed, too. */
  cosignatures: number;
}

/** Costs of a connection. Bytes are those of bodies. */
export interface Costs {
  publicBytes: number;
  queryBytes: number;
  answerBytes: number;
  requests: number;
  fetchSeconds: number;
  querySeconds: number;
  roundTripSeconds: number;
  extractSeconds: number;
}

/** An error of papir. Arguments of a wrong type throw a TypeError instead. */
export class PapirError extends Error {
  /** A short stable name. */
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** The HTTP status of a refusal. */
  readonly status?: number;
}

/** A service that cannot be reached, or refuses a request. */
export class NetworkError extends PapirError {}

/** A call that took longer than the option `timeout`. Its `code` is `timed_out`. */
export class TimeoutError extends NetworkError {}

/** An answer, a root or a checkpoint that does not verify. */
export class VerificationError extends PapirError {}

/** A scheme that is not private. No query was sent. */
export class NotPrivateError extends PapirError {}

/** A database that this client does not look up in. */
export class UnsupportedError extends PapirError {}
