// Lookups at fixed times: their requests do not depend on what is looked up.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { LIMIT, built, event, folder, fruit, papir, serve, text } from "./support.mjs";

const { connect } = await built("index.js");
const { Scheduled, Slots } = await built("schedule.js");

/** A clock whose time passes only when a test lets it. */
class FakeClock {
  time = 1000;
  #alarms = new Set();

  now() {
    return this.time;
  }

  after(milliseconds, ring) {
    const alarm = { time: this.time + milliseconds, ring };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Lets time pass. */
  async pass(milliseconds) {
    const end = this.time + milliseconds;
    for (;;) {
      // What follows a call is done before the next alarm.
      await new Promise((resolve) => setImmediate(resolve));
      const [next] = [...this.#alarms].sort((a, b) => a.time - b.time);
      if (!next || next.time > end) break;
      this.#alarms.delete(next);
      this.time = next.time;
      next.ring();
    }
    this.time = end;
  }
}

/** An item whose lookup fails alone. */
const WRONG = 1_000_000;

/** A database whose requests take some time each. */
class FakeDatabase {
  /** The times of the requests, and their numbers of lookups. */
  requests = [];
  items = [];
  /** What becomes of requests by their numbers: how long they take, and whether they fail. */
  fates = {};

  constructor(clock, keyed = true) {
    this.clock = clock;
    this.keyed = keyed;
  }

  info() {
    return { keyed: this.keyed, maxBatch: 8, records: 100 };
  }

  async lookEach(items, kind) {
    assert.equal(kind, this.keyed ? "key" : "index");
    const { milliseconds = 1, failure } = this.fates[this.requests.length] ?? {};
    this.requests.push([this.clock.time, items.length]);
    this.items.push(...items);
    await new Promise((resolve) => this.clock.after(milliseconds, resolve));
    if (failure) throw failure;
    return items.map((item) => (item === WRONG ? { error: new Error("wrong") } : { value: { of: item } }));
  }
}

function started(keyed, settings = { every: 10, batch: 3 }) {
  const clock = new FakeClock();
  const database = new FakeDatabase(clock, keyed);
  return { clock, database, scheduled: new Scheduled(database, settings, undefined, clock) };
}

test("slots are multiples of the interval, and missed ones are dropped", () => {
  const slots = new Slots(1000, 10);
  const times = [1000, 1009, 1020, 1039, 1047, 1047.5, 1090].map((now) => slots.next(now));
  assert.deepEqual(times, [1010, 1020, 1030, 1040, 1050, 1060, 1090]);
});

test("times and sizes of requests do not depend on what is submitted", async () => {
  const trace = async (submitted) => {
    const { clock, database, scheduled } = started(true);
    for (let number = 0; number < 12; number++) {
      for (const key of submitted(number)) void scheduled.get(key).catch(() => {});
      await clock.pass(5000);
    }
    scheduled.close();
    return database.requests;
  };
  const idle = await trace(() => []);
  assert.deepEqual(idle, [11000, 21000, 31000, 41000, 51000, 61000].map((time) => [time, 3]));
  assert.deepEqual(await trace((number) => (number % 3 ? [] : Array.from({ length: 7 }, (_, i) => `key ${i}`))), idle);
  assert.deepEqual(await trace(() => ["key 7"]), idle);
});

test("a slow request misses slots, and no burst follows", async () => {
  const { clock, database, scheduled } = started(true);
  database.fates[1] = { milliseconds: 35_000 };
  await clock.pass(85_000);
  scheduled.close();
  assert.deepEqual(database.requests.map(([time]) => time), [11000, 21000, 61000, 71000, 81000]);
});

test("each lookup gets its value, or the error of its request", async () => {
  const { clock, database, scheduled } = started(true);
  database.fates[0] = { failure: new Error("away") };
  const outcomes = Promise.allSettled(["a", "b", "c", "d"].map((key) => scheduled.get(key)));
  await clock.pass(25_000);
  const shown = (await outcomes).map(({ value, reason }) => value?.of ?? reason.message);
  assert.deepEqual(shown, ["away", "away", "away", "d"]);
  assert.deepEqual(database.requests.map(([time]) => time), [11000, 21000]);
  scheduled.close();
});

test("a lookup that fails alone leaves the others their values", async () => {
  const { clock, database, scheduled } = started(false);
  const outcomes = Promise.allSettled([7, WRONG, 8].map((index) => scheduled.getIndex(index)));
  await clock.pass(15_000);
  const shown = (await outcomes).map(({ value, reason }) => value?.of ?? reason.message);
  assert.deepEqual(shown, [7, "wrong", 8]);
  assert.equal(database.requests.length, 1);
  scheduled.close();
});

test("dummies are fresh keys, or indices of records", async () => {
  const keyed = started(true);
  await keyed.clock.pass(45_000);
  keyed.scheduled.close();
  const keys = keyed.database.items.map((key) => key.join());
  assert.deepEqual([keys.length, new Set(keys).size], [12, 12]);
  assert(keyed.database.items.every((key) => key.length === 32));

  const indexed = started(false);
  await indexed.clock.pass(1_005_000);
  indexed.scheduled.close();
  const indices = indexed.database.items.map(Number);
  assert(indices.every((index) => index >= 0 && index < 100));
  assert(new Set(indices).size > 80, "of 300 uniform ones");
});

test("a close fails what waits, and nothing is sent any more", async () => {
  const { clock, database, scheduled } = started(true);
  await clock.pass(25_000);
  const waiting = scheduled.get("a");
  const closed = assert.rejects(waiting, { code: "schedule_closed" });
  scheduled.close();
  scheduled.close();
  await closed;
  await assert.rejects(scheduled.get("a"), { code: "schedule_closed" });
  await clock.pass(100_000);
  assert.equal(database.requests.length, 2);
});

test("what cannot be sent is refused before its slot", async () => {
  const keyed = started(true).scheduled;
  const indexed = started(false).scheduled;
  await assert.rejects(keyed.get(7), TypeError);
  await assert.rejects(keyed.get("é".repeat(2049)), { code: "out_of_bounds" });
  await assert.rejects(keyed.getIndex(7), { code: "keyed" });
  await assert.rejects(indexed.get("a"), { code: "not_keyed" });
  await assert.rejects(indexed.getIndex(-1), TypeError);
  const waiting = Promise.allSettled(Array.from({ length: 1000 }, () => keyed.get("a")));
  await assert.rejects(keyed.get("a"), { code: "queue_full", retryable: true });
  assert.equal(keyed.waiting, 1000);
  keyed.close();
  assert((await waiting).every(({ reason }) => reason.code === "schedule_closed"));
});

test("intervals and batches out of bounds are refused", () => {
  for (const every of [undefined, 0, -1, NaN, "1", 2_147_483.647, 1e9]) {
    assert.throws(() => started(true, { every, batch: 3 }), /option `every`: expected a number of seconds/);
  }
  for (const batch of [undefined, 0, 9, 1.5, "2"]) {
    assert.throws(() => started(true, { every: 1, batch }), /option `batch`: expected a whole number from 1 to 8/);
  }
});

test("bytes of a key that the caller changes later are looked up as they were", async () => {
  for (const key of [new Uint8Array([1, 2, 3]), Buffer.from([1, 2, 3])]) {
    const { clock, database, scheduled } = started(true);
    const value = scheduled.get(key);
    key.fill(9);
    await clock.pass(15_000);
    await value;
    scheduled.close();
    assert.deepEqual([...database.items[0]], [1, 2, 3]);
  }
});

/** Runs a schedule over a service. Returns the requests that it sends, and the values. */
async function observed(url, keys) {
  const COUNTED = 3 + 6;
  const sent = [];
  const enough = event();
  const recording = (address, init) => {
    const headers = [...new Headers(init?.headers)].map(([name, value]) => [name, value.length]);
    sent.push({ address, method: init?.method, headers, bytes: init?.body?.length ?? 0 });
    if (sent.length === COUNTED) enough.happen();
    return fetch(address, init);
  };
  const database = await connect(url, { fetch: recording, cache: false, worker: false });
  const scheduled = database.schedule({ every: 0.02, batch: 2 });
  const values = await Promise.all(keys.map((key) => scheduled.get(key)));
  await enough.happened;
  database.close();
  return { sent: sent.slice(0, COUNTED), values: values.map(text) };
}

test("a service sees the same requests, whatever is looked up", LIMIT, async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const idle = await observed(url, []);
  assert.equal(idle.sent.filter(({ method }) => method === "POST").length, 6, JSON.stringify(idle.sent));
  const burst = await observed(url, ["fruit-1", "fruit-2", "fruit-3", "absent", "apple"]);
  assert.deepEqual(burst, { sent: idle.sent, values: ["colour-1", "colour-2", "colour-3", null, "red"] });
  const repeated = await observed(url, ["apple", "apple", "apple"]);
  assert.deepEqual(repeated, { sent: idle.sent, values: ["red", "red", "red"] });
});

test("records are looked up by index at fixed times", LIMIT, async (t) => {
  const path = folder(t);
  const source = join(path, "table.csv");
  writeFileSync(source, "record\n" + Array.from({ length: 300 }, (_, i) => `record-${1000 + i}`).join("\n") + "\n");
  papir("build", source, "--value", "record", "--scheme", "simple", "--out", join(path, "table.papir"));
  const { url } = await serve(t, [join(path, "table.papir")]);
  const database = await connect(url, { worker: false });
  const scheduled = database.schedule({ every: 0.02, batch: 2 });
  assert.match(text(await scheduled.getIndex(7n)), /^record-1007/);
  // Of one request, most times.
  const [wrong, right] = await Promise.allSettled([scheduled.getIndex(300), scheduled.getIndex(0)]);
  assert.equal(wrong.reason.code, "index_out_of_range");
  assert.match(text(right.value), /^record-1000/);
  await assert.rejects(database.getIndices([0, 300]), { code: "index_out_of_range" });
  database.close();
  await assert.rejects(scheduled.getIndex(0), { code: "schedule_closed" });
  assert.throws(() => database.schedule({ every: 1, batch: 1 }), { code: "closed" });
});
