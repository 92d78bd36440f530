// Lookups at fixed times, filled with dummies.

import { PapirError } from "./errors.js";
import { encodeWanted } from "./wanted.js";

/** Maximum number of lookups that wait for a slot. */
const MOST_WAITING = 1000;
/** Length of the longest key in bytes. A key is hashed when its slot begins: a longer one would delay its request. */
const MOST_KEY_BYTES = 4096;
/** Length of an item's encoding without the item. */
const ITEM_HEAD = 5;
/** Length of a dummy's key in bytes. */
const DUMMY_BYTES = 32;
const LEAST_SECONDS = 0.001;
/** Below the longest time of a timer, 2³¹ ms: a timer that rings early makes the next one longer than `every`. */
const MOST_SECONDS = 2_000_000;
const CLOSED = { code: "schedule_closed" };

/** A monotonic clock. */
const CLOCK = {
  now: () => performance.now(),
  /** Calls `ring` after a time in milliseconds. Returns a function that keeps it from that. */
  after(milliseconds, ring) {
    const timer = setTimeout(ring, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** The times of requests: multiples of an interval after a start, in milliseconds. */
export class Slots {
  #start;
  #every;
  #last = 0;

  constructor(start, every) {
    this.#start = start;
    this.#every = every;
  }

  /** The first slot after the last returned one that is not before `now`. Slots before it are missed. */
  next(now) {
    const ahead = Math.ceil((now - this.#start) / this.#every);
    this.#last = Math.max(ahead, this.#last + 1);
    return this.#start + this.#last * this.#every;
  }
}

/**
 * Sends one request of `batch` lookups every `every` seconds. `database` has `info()`, its description, and
 * `lookEach(items, kind)`, which returns the outcome of each item: its `value`, or its `error`. `onEnd` is called when
 * the schedule is closed.
 */
export class Scheduled {
  #database;
  #isKeyed;
  #batch;
  #slots;
  #clock;
  #onEnd;
  #waiting = [];
  #stop;
  #isOpen = true;

  constructor(database, { every, batch } = {}, onEnd = () => {}, clock = CLOCK) {
    const { maxBatch, keyed } = database.info();
    checkEvery(every);
    checkBatch(batch, maxBatch);
    this.#database = database;
    this.#isKeyed = keyed;
    this.#batch = batch;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#slots = new Slots(clock.now(), every * 1000);
    this.#await();
  }

  /** The number of lookups that wait for a slot. */
  get waiting() {
    return this.#waiting.length;
  }

  async get(key) {
    // Refused here: a request that fails before it is sent would be missing in its slot.
    const found = encodeWanted([key], "key").length - ITEM_HEAD;
    if (found > MOST_KEY_BYTES) {
      const message = `the bytes of a scheduled key: expected at most ${MOST_KEY_BYTES}, found ${found}`;
      throw new PapirError(message, { code: "out_of_bounds" });
    }
    if (!this.#isKeyed) throw new PapirError("the database has no keys: expected an index", { code: "not_keyed" });
    // The caller may change its bytes before the slot. The method `slice` of a `Buffer` copies nothing.
    return this.#submit(typeof key === "string" ? key : Uint8Array.from(key));
  }

  async getIndex(index) {
    encodeWanted([index], "index");
    if (this.#isKeyed) throw new PapirError("the database has keys: expected a key", { code: "keyed" });
    return this.#submit(index);
  }

  close() {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#stop?.();
    for (const { reject } of this.#waiting.splice(0)) reject(new PapirError("the schedule is closed", CLOSED));
    this.#onEnd();
  }

  #submit(item) {
    if (!this.#isOpen) throw new PapirError("the schedule is closed", CLOSED);
    if (this.#waiting.length >= MOST_WAITING) {
      const message = `${MOST_WAITING} lookups wait for the schedule's next requests: expected fewer, try later`;
      throw new PapirError(message, { code: "queue_full", retryable: true });
    }
    return new Promise((resolve, reject) => this.#waiting.push({ item, resolve, reject }));
  }

  /** Waits for the next slot. */
  #await() {
    if (!this.#isOpen) return;
    const now = this.#clock.now();
    this.#stop = this.#clock.after(this.#slots.next(now) - now, () => this.#send());
  }

  /** Sends the request of a slot. Goes on after an error: an end would tell the service that a lookup failed. */
  async #send() {
    const submitted = this.#waiting.splice(0, this.#batch);
    try {
      const items = this.#draw(submitted);
      const outcomes = await this.#database.lookEach(items, this.#isKeyed ? "key" : "index");
      submitted.forEach(({ resolve, reject }, place) => {
        const { value, error } = outcomes[place];
        if (error) reject(error);
        else resolve(value);
      });
    } catch (error) {
      for (const { reject } of submitted) reject(error);
    }
    this.#await();
  }

  /** The items of a request: those that were submitted, and dummies. */
  #draw(submitted) {
    // A dummy for each place, also for the places of submitted items: it takes the same time for any number of them.
    const items = Array.from({ length: this.#batch }, () => this.#dummy());
    submitted.forEach(({ item }, place) => (items[place] = item));
    return items;
  }

  #dummy() {
    const bytes = crypto.getRandomValues(new Uint8Array(DUMMY_BYTES));
    if (this.#isKeyed) return bytes;
    const random = new DataView(bytes.buffer).getBigUint64(0, true);
    return (random * BigInt(this.#database.info().records)) >> 64n;
  }
}

// Engines that do not know `using` may lack these symbols.
if (Symbol.dispose) {
  Scheduled.prototype[Symbol.dispose] = function () {
    this.close();
  };
}
if (Symbol.asyncDispose) {
  Scheduled.prototype[Symbol.asyncDispose] = async function () {
    this.close();
  };
}

function checkEvery(every) {
  if (Number.isFinite(every) && every >= LEAST_SECONDS && every <= MOST_SECONDS) return;
  const expected = `a number of seconds from ${LEAST_SECONDS} to ${MOST_SECONDS}`;
  throw new TypeError(`option \`every\`: expected ${expected}, found ${String(every)}`);
}

function checkBatch(batch, most) {
  if (Number.isSafeInteger(batch) && batch >= 1 && batch <= most) return;
  throw new TypeError(`option \`batch\`: expected a whole number from 1 to ${most}, found ${String(batch)}`);
}
