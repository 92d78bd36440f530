// Storages that applications give, from Node.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

import { PATIENCE_MILLISECONDS, built, demanding, event, folder, fruit, issuer, papir, serve, text } from "./support.mjs";

const { connect, PapirError } = await built("index.js");
const { Turns } = await built("stopping.js");

/** A storage in memory, with a list of the calls that change it. Calls fail that `fail(call)` returns an error for. */
class ApplicationStorage {
  entries = new Map();
  calls = [];
  /** The calls of each slot's locks, one after the other. */
  #turns = new Map();
  #releases = new Map();

  constructor(fail = () => undefined) {
    this.fail = fail;
  }

  async lock(slot) {
    this.#check("lock");
    if (!this.#turns.has(slot)) this.#turns.set(slot, new Turns());
    const taken = event();
    this.#turns.get(slot).take(() => new Promise((release) => (this.#releases.set(slot, release), taken.happen())));
    await taken.happened;
    this.calls.push(`lock ${slot}`);
  }

  unlock(slot) {
    this.calls.push(`unlock ${slot}`);
    this.#releases.get(slot)();
    this.#check("unlock");
  }

  async read(slot, entry) {
    this.#check(`read ${entry}`);
    return this.entries.get(`${slot}/${entry}`) ?? null;
  }

  async replace(slot, entry, bytes) {
    this.#check(`replace ${entry}`);
    this.calls.push(`replace ${slot}/${entry}`);
    this.entries.set(`${slot}/${entry}`, bytes);
  }

  /** The names of the entries. */
  get names() {
    return [...this.entries.keys()].map((key) => key.split("/")[1]).sort();
  }

  #check(call) {
    const error = this.fail(call);
    if (error) throw error;
  }
}

/** Serves a signed database, whose public part is kept. Returns its address. */
async function signed(test) {
  const path = folder(test);
  const key = join(path, "owner.key");
  papir("checkpoint", "keygen", key, "--name", "tests/owner");
  return (await serve(test, [fruit(path, ["--scheme", "simple", "--sign", key])])).url;
}

test("pins and public parts are in the application's storage, and pins change under its lock", async (t) => {
  const url = await signed(t);
  const storage = new ApplicationStorage();
  const first = await connect(url, { storage });
  assert(first.costs.publicBytes > 64 << 10);
  assert.deepEqual(storage.names, ["name", "owner", "public"]);

  const locked = new Set();
  for (const call of storage.calls) {
    const [, kind, slot, entry] = /^(\w+) ([0-9a-f]{64})(?:\/(\w+))?$/.exec(call) ?? assert.fail(call);
    if (kind === "lock") locked.add(slot);
    else if (kind === "unlock") locked.delete(slot);
    else assert(entry === "public" || locked.has(slot), `${call}: ${storage.calls.join()}`);
  }
  assert.equal(locked.size, 0);

  const second = await connect(url, { storage });
  assert.equal(second.costs.publicBytes, 0);
  assert.equal(text(await second.get("apple")), "red");
  // Another one knows nothing of it.
  const other = await connect(url, { storage: new ApplicationStorage() });
  assert(other.costs.publicBytes > 64 << 10);
});

test("a connection begins with the version that an earlier one has kept, and moves when it is refused", async (t) => {
  const path = folder(t);
  const scheme = ["--scheme", "simple"];
  const { url } = await serve(t, [fruit(path, scheme)], ["--watch", "--keep-old", "0"]);
  const storage = new ApplicationStorage();
  const sent = [];
  const recording = (address, init) => (sent.push(new URL(address).pathname), fetch(address, init));
  const open = () => ((sent.length = 0), connect(url, { storage, fetch: recording, known: true }));
  const first = await open();
  assert(sent.length > 1, sent.join());
  assert(storage.names.includes("version"), storage.names.join());

  const second = await open();
  assert.deepEqual([sent, second.version], [[], first.version]);
  assert.equal(text(await second.get("apple")), "red");
  assert.deepEqual(sent, ["/v1/databases/fruit/query"]);

  fruit(path, scheme, "green");
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (text(await second.get("apple")) !== "green") assert(Date.now() < deadline, "the old version stays");
  assert.notEqual(second.version, first.version);
  const third = await open();
  assert.deepEqual([sent, third.version], [[], second.version]);

  // Others ask for the newest version, and keep none.
  const asking = new ApplicationStorage();
  await connect(url, { storage: asking });
  assert(!asking.names.includes("version"), asking.names.join());
  await assert.rejects(connect(url, { known: "use" }), /option `known`: expected true or false, found "use"/);
});

test("tokens are in the application's storage, and the next process spends what is left", async (t) => {
  const path = folder(t);
  const given = await issuer(t, path);
  const url = await demanding(t, path, given.issuer);
  const before = new ApplicationStorage();
  const database = await connect(url, { ...given, storage: before });
  assert.equal(text(await database.get("apple")), "red");
  assert(before.names.includes("tokens"), before.names.join());

  const after = new ApplicationStorage();
  after.entries = new Map(before.entries);
  const addresses = [];
  const recorded = (address, init) => (addresses.push(address), fetch(address, init));
  const next = await connect(url, { ...given, storage: after, fetch: recorded });
  assert.equal(text(await next.get("apple")), "red");
  assert(addresses.every((address) => address.startsWith(`${url}/`)), addresses.join());
});

test("an error of the application's storage is that of the call", async (t) => {
  const url = await signed(t);
  for (const failing of ["lock", "replace owner", "read owner"]) {
    const storage = new ApplicationStorage((call) => call === failing && new Error(`no disk for ${failing}`));
    const failed = await connect(url, { storage }).then(assert.fail, (error) => error);
    assert(failed instanceof PapirError, failed.stack);
    assert.equal(failed.code, "io");
    assert(failed.message.includes(`no disk for ${failing}`), failed.message);
  }

  const unlocking = new ApplicationStorage((call) => call === "unlock" && new Error("no disk"));
  const database = await connect(url, { storage: unlocking });
  assert.equal(text(await database.get("apple")), "red");
  const wrong = Object.assign(new ApplicationStorage(), { read: () => "text" });
  await assert.rejects(connect(url, { storage: wrong }), { code: "io", message: /expected a Uint8Array, found string/ });
});

test("a lock that comes after its connection was stopped is released", async (t) => {
  const url = await signed(t);
  const storage = new ApplicationStorage();
  const [asked, free, released] = [event(), event(), event()];
  storage.lock = () => (asked.happen(), free.happened);
  storage.unlock = () => released.happen();
  const abort = new AbortController();
  const stopped = connect(url, { storage, signal: abort.signal });
  await asked.happened;
  abort.abort(new Error("enough"));
  await assert.rejects(stopped, /enough/);
  free.happen();
  await released.happened;
});

test("a storage has all functions, and no worker", async () => {
  const { lock, unlock, read } = new ApplicationStorage();
  for (const [storage, missing] of [[{}, "lock"], [7, "lock"], [{ lock, unlock, read }, "replace"]]) {
    const found = new RegExp(`option \`storage\`: .*found one without ${missing}$`);
    await assert.rejects(connect("http://127.0.0.1:9", { storage }), found);
  }
  const storage = new ApplicationStorage();
  const working = connect("http://127.0.0.1:9", { storage, worker: true });
  await assert.rejects(working, /option `storage`: a worker cannot call it/);
});
