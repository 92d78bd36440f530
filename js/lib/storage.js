// Pins of databases, copies of their public parts, and tokens of issuers.
//
// Pins (the owner's key that was seen first, the newest version, and the database's name) and tokens that are not spent
// are in IndexedDB, copies of public parts in the Cache API. A browser may remove all of them. A lock keeps two tabs
// from writing a pin at once, and from spending the same token.

import { stoppable } from "./stopping.js";

const NAME = "papir";
const PINS = "pins";
/** The entry with the tokens that are not spent. */
export const TOKENS = "tokens";
/** Entries in IndexedDB. The others are copies. */
const RECORDS = ["owner", "root", "name", TOKENS];

/** The storage of this browser, or of this process where there is none. */
export function storage() {
  return globalThis.indexedDB ? new BrowserStorage() : MEMORY;
}

class BrowserStorage {
  #locks = new Locks();

  unlock(lock) {
    this.#locks.release(lock);
  }

  async perform({ action, slot, entry, limit }, body, signal) {
    if (entry === TOKENS && !navigator.locks) throw new Error("no lock keeps two tabs from spending one token");
    const key = await hidden(slot);
    switch (action) {
      case "lock":
        return { head: { lock: await this.#locks.acquire(`${NAME}/${key}`, signal) } };
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

/** Locks between tabs. */
class Locks {
  #held = new Map();
  #next = 1;

  async acquire(name, signal) {
    const lock = this.#next++;
    const released = new Promise((release) => this.#held.set(lock, release));
    if (navigator.locks) {
      await new Promise((acquired, refused) => {
        navigator.locks.request(name, { signal }, () => (acquired(), released)).catch((error) => {
          this.#held.delete(lock);
          refused(error);
        });
      });
    }
    return lock;
  }

  release(lock) {
    this.#held.get(lock)?.();
    this.#held.delete(lock);
  }
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
  #held = new Map();
  #next = 1;

  unlock(lock) {
    this.#held.get(lock)?.();
    this.#held.delete(lock);
  }

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
    const lock = this.#next++;
    this.#locks.set(slot, new Promise((release) => this.#held.set(lock, release)));
    try {
      await stoppable(before, signal);
    } catch (error) {
      // The next in the line waits for the one before.
      before.then(() => this.unlock(lock));
      throw error;
    }
    return lock;
  }
}

const MEMORY = new MemoryStorage();
