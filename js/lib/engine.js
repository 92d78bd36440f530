// Runs tasks of a WebAssembly module: performs each event, and resumes the task with the outcome.

import { PapirError, errorOf } from "./errors.js";

const text = { encode: (value) => new TextEncoder().encode(value), decode: (bytes) => new TextDecoder().decode(bytes) };
const NOTHING = new Uint8Array();
/** `getRandomValues` fills no more bytes at once. */
const MOST_RANDOM = 65536;
/** Kinds of a task's last event, unless the task has failed. */
const RESULTS = ["opened", "moved", "values"];

/**
 * A module's instance.
 *
 * `io` performs events: `send(request, bodyLimit)`, `wait(milliseconds)`, `store(request, body)`; `unlock(lock)`
 * releases a lock of the storage. `random(bytes)` fills bytes; only tests replace it.
 */
export class Engine {
  #exports;
  #unlock;
  /** Locks that tasks hold. */
  #locks = new Set();
  #broken = false;

  /** Instantiates a module. Asynchronously, since pages refuse to instantiate a long module at once. */
  static async start(module, { unlock, random = fillRandom }) {
    const engine = new Engine(unlock);
    const instance = await WebAssembly.instantiate(module, { papir: engine.#imports(random) });
    engine.#exports = instance.exports;
    return engine;
  }

  /** Without its exports: `start` makes engines. */
  constructor(unlock) {
    this.#unlock = (lock) => this.#locks.delete(lock) && unlock(lock);
  }

  /** The functions that the module calls. */
  #imports(random) {
    const memory = (start, length) => new Uint8Array(this.#exports.memory.buffer, start >>> 0, length);

    return {
      random: (start, length) => random(memory(start, length)),
      now: () => performance.now(),
      unix_time: () => Date.now() / 1000,
      unlock: this.#unlock,
      panicked: (start, length) => {
        throw new Error(text.decode(memory(start, length)));
      },
    };
  }

  /** True once a function of the module has failed: its state is then undefined, and it refuses all calls. */
  get isBroken() {
    return this.#broken;
  }

  /** The bytes of the module's memory. */
  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Opens a database. Returns its handle and its description. */
  async open(options, io, signal) {
    const { head, handle } = await this.#run((bytes) => this.#call("papir_open", ...bytes), encodeJson(options), io, signal);
    return { handle, database: head.database };
  }

  /** Looks up encoded keys and indices. Returns encoded values and the description. */
  async get(handle, wanted, io, signal) {
    const { head, body } = await this.#run((bytes) => this.#call("papir_get", handle, ...bytes), wanted, io, signal);
    return { values: body, database: head.database };
  }

  /** Moves a database to another of its servers, with the options of a connection to it. Returns the description. */
  async move(handle, options, io, signal) {
    const { head } = await this.#run((bytes) => this.#call("papir_move", handle, ...bytes), encodeJson(options), io, signal);
    return { database: head.database };
  }

  close(handle) {
    if (!this.#broken) this.#call("papir_close", handle);
  }

  /** Calls a function of the module. After a panic or a trap no other is called. */
  #call(name, ...values) {
    if (this.#broken) throw failed("an earlier failure");
    try {
      return this.#exports[name](...values);
    } catch (error) {
      this.#broken = true;
      this.#locks.forEach(this.#unlock);
      throw failed(error.message);
    }
  }

  async #run(start, input, io, signal) {
    let event = this.#take(start(this.#give(input)));
    for (;;) {
      const { head, body, handle } = event;
      if (head.kind === "failed") throw errorOf(head);
      if (RESULTS.includes(head.kind)) return event;
      const bodyLimit = (status, version) =>
        this.#call("papir_body_limit", handle, status, ...this.#give(text.encode(version ?? "")));
      let reply;
      try {
        // Not after it: a lock that was acquired is released by the task, which must learn of it.
        signal?.throwIfAborted();
        reply = await perform(head, body, bodyLimit, io);
      } catch (error) {
        if (!this.#broken) this.#call("papir_cancel", handle);
        throw error;
      }
      if (reply.head.lock) this.#locks.add(reply.head.lock);
      // The module failed meanwhile, in another task: nobody would release this lock.
      if (this.#broken) this.#locks.forEach(this.#unlock);
      const parts = [...this.#give(encodeJson(reply.head)), ...this.#give(reply.body ?? NOTHING)];
      event = this.#take(this.#call("papir_resume", handle, ...parts));
    }
  }

  /** Copies bytes into the module, which erases and frees them. */
  #give(bytes) {
    // Addresses are unsigned, and JavaScript gets signed numbers.
    const start = this.#call("papir_allocate", bytes.length) >>> 0;
    new Uint8Array(this.#exports.memory.buffer, start, bytes.length).set(bytes);
    return [start, bytes.length];
  }

  /** Copies an event out of the module. */
  #take(event) {
    event >>>= 0;
    const buffer = this.#exports.memory.buffer;
    const [head, headLength, body, bodyLength, handle] = new Uint32Array(buffer, event, 5);
    const taken = {
      head: JSON.parse(text.decode(new Uint8Array(buffer, head, headLength))),
      body: new Uint8Array(buffer, body, bodyLength).slice(),
      handle,
    };
    this.#call("papir_dispose", event);
    return taken;
  }
}

function perform(head, body, bodyLimit, io) {
  switch (head.kind) {
    case "send":
      return io.send({ ...head, body: head.method === "GET" ? undefined : body }, bodyLimit);
    case "store":
      return io.store(head, body);
    default:
      return io.wait(head.milliseconds);
  }
}

function failed(reason) {
  return new PapirError(`papir's module failed: ${reason}: connect again`, { code: "internal" });
}

function encodeJson(value) {
  return text.encode(JSON.stringify(value));
}

function fillRandom(bytes) {
  for (let start = 0; start < bytes.length; start += MOST_RANDOM) {
    crypto.getRandomValues(bytes.subarray(start, start + MOST_RANDOM));
  }
}
