// Pins of databases, copies of their public parts, versions that are kept, and tokens of issuers.
//
// Pins (the owner's key that was seen first, the newest version, and the database's name), kept versions and tokens that
// are not spent are in IndexedDB, copies of public parts in the Cache API. A browser may remove all of them. A lock
// keeps two tabs from writing a pin at once, and from spending the same token. An application may give a storage of its
// own.

import { stoppable } from "./stopping.js";

const NAME = "papir";
const PINS = "pins";
/** The entry with the tokens that are not spent. */
export const TOKENS = "tokens";
/** Entries in IndexedDB. The others are copies. */
const RECORDS = ["owner", "root", "name", "version", TOKENS];

/** What releases each lock that is held, by its number. */
const releases = new Map();
let next = 1;

/** The storage that an application gives, else that of this browser, or of this process where there is none. */
export function storageOf(given) {
  if (given) return new GivenStorage(given);
  return globalThis.indexedDB ? BROWSER : MEMORY;
}

/** Releases a lock of any storage. */
export function unlock(lock) {
  releases.get(lock)?.();
  releases.delete(lock);
}

/** The number of a lock that is held until `release` is called. */
function held(release) {
  const lock = next++;
  releases.set(lock, release);
  return lock;
}

class BrowserStorage {
  async perform({ action, slot, entry, limit }, body, signal) {
    if (entry === TOKENS && !navigator.locks) throw new Error("no lock keeps two tabs from spending one token");
    const key = await hidden(slot);
    switch (action) {
      case "lock":
        return { head: { lock: await acquire(`${NAME}/${key}`, signal) } };
      case "read":
        return found(isRecord(entry) ? await readRecord(`${key}/${entry}`) : await readCopy(`${key}/${entry}`, limit));
      default:
        await (isRecord(entry) ? writeRecord(`${key}/${entry}`, body) : writeCopy(`${key}/${entry}`, body));
        return { head: {} };
    }
  }
}

function isRecord(entry) {
  return RECORDS.includes(entry);
}

function found(bytes) {
  return { head: { found: bytes !== undefined }, body: bytes };
}

/** The name of a slot without the service's address. */
async function hidden(slot) {
  // Pages of plain HTTP have no `subtle`. Their names are their own origin's alone, too.
  if (!globalThis.crypto?.subtle) return encodeURIComponent(slot);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(slot)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Takes a lock that tabs share. Returns its number. */
async function acquire(name, signal) {
  if (!navigator.locks) return held(() => {});
  return new Promise((acquired, refused) => {
    const hold = () => new Promise((release) => acquired(held(release)));
    navigator.locks.request(name, { signal }, hold).catch(refused);
  });
}

function ended(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Uses the records in one transaction. It is durable on return. */
async function withRecords(mode, use) {
  const opening = indexedDB.open(NAME, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(PINS);
  const database = await ended(opening);
  try {
    const transaction = database.transaction(PINS, mode, { durability: "strict" });
    const result = await ended(use(transaction.objectStore(PINS)));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
      transaction.commit?.();
    });
    return result;
  } finally {
    database.close();
  }
}

function readRecord(key) {
  return withRecords("readonly", (records) => records.get(key));
}

function writeRecord(key, bytes) {
  return withRecords("readwrite", (records) => records.put(bytes, key));
}

/** A key of the Cache API is an address. This one is asked of no server. */
function address(key) {
  return `https://papir.invalid/${key}`;
}

async function readCopy(key, limit) {
  const response = await (await globalThis.caches?.open(NAME))?.match(address(key));
  const bytes = response && new Uint8Array(await response.arrayBuffer());
  return bytes?.length <= limit ? bytes : undefined;
}

async function writeCopy(key, bytes) {
  await (await globalThis.caches?.open(NAME))?.put(address(key), new Response(bytes));
}

/** Keeps everything for as long as the process runs. */
class MemoryStorage {
  #entries = new Map();
  #locks = new Map();

  async perform({ action, slot, entry }, body, signal) {
    const key = `${slot}/${entry}`;
    switch (action) {
      case "lock":
        return { head: { lock: await this.#lock(slot, signal) } };
      case "read":
        return found(this.#entries.get(key));
      default:
        this.#entries.set(key, body);
        return { head: {} };
    }
  }

  async #lock(slot, signal) {
    const before = this.#locks.get(slot) ?? Promise.resolve();
    let release;
    this.#locks.set(slot, new Promise((resolve) => (release = resolve)));
    try {
      await stoppable(before, signal);
    } catch (error) {
      // The next in the line waits for the one before.
      before.then(release);
      throw error;
    }
    return held(release);
  }
}

/** A storage of the application. */
class GivenStorage {
  #given;

  constructor(given) {
    this.#given = given;
  }

  async perform({ action, slot, entry, limit }, body, signal) {
    const name = await hidden(slot);
    switch (action) {
      case "lock":
        return { head: { lock: await this.#lock(name, signal) } };
      case "read":
        return found(await this.#read(name, entry, limit));
      default:
        await this.#given.replace(name, entry, body);
        return { head: {} };
    }
  }

  async #lock(slot, signal) {
    const taking = (async () => this.#given.lock(slot))();
    try {
      await stoppable(taking, signal);
    } catch (error) {
      // It may be taken later, and nobody waits for it any more.
      taking.then(() => this.#unlock(slot)).catch(() => {});
      throw error;
    }
    return held(() => this.#unlock(slot));
  }

  /** Called from within the module, which an error must not pass. */
  #unlock(slot) {
    (async () => this.#given.unlock(slot))().catch(() => {});
  }

  async #read(slot, entry, limit) {
    const bytes = (await this.#given.read(slot, entry)) ?? undefined;
    if (bytes === undefined) return undefined;
    if (!(bytes instanceof Uint8Array)) throw new Error(`the entry ${entry}: expected a Uint8Array, found ${typeof bytes}`);
    return bytes.length <= (limit ?? Infinity) ? bytes : undefined;
  }
}

const BROWSER = new BrowserStorage();
const MEMORY = new MemoryStorage();
