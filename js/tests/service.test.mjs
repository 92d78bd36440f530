// Lookups in real services, from Node.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

import { DIST, LIMIT, PATIENCE_MILLISECONDS, between, built, event, folder, fruit, papir, serve, text } from "./support.mjs";

const { connect, NetworkError, PapirError, UnsupportedError, VerificationError } = await built("index.js");
const { hasVectors } = await built("module.js");

test("keys that are present and keys that are absent are looked up", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const database = await connect(url);
  assert.equal(text(await database.get("apple")), "red");
  assert.equal(await database.get("no such fruit"), null);
  const many = await database.getMany(["fruit-7", new TextEncoder().encode("fruit-8"), "", "fruit-199"]);
  assert.deepEqual(many.map(text), ["colour-7", "colour-8", null, "colour-199"]);
  await assert.rejects(database.getIndex(0), { code: "keyed" });
  const { info, costs, version } = database;
  assert.ok(info.recordBits > 0 && info.securityBits >= 128 && info.failureLog2 <= -40 && info.maxBatch > 0);
  assert.deepEqual([info.name, info.scheme, info.keyed, info.private, info.version], ["fruit", "inspire", true, true, version]);
  assert(costs.queryBytes > 0 && costs.requests >= 3, JSON.stringify(costs));
  database.close();
  await assert.rejects(database.get("apple"), { code: "closed" });
});

test("the caller's fetch sends every request", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const sent = [];
  const relayed = (address, init) => {
    sent.push(address);
    return fetch(address.replace("http://papir.invalid:7470", url), init);
  };
  const database = await connect("http://papir.invalid:7470", { fetch: relayed });
  assert.equal(text(await database.get("apple")), "red");
  assert(sent.length >= 4 && sent.every((address) => address.startsWith("http://papir.invalid:7470/v1/")), sent.join());
});

test("nothing is sent for keys that a filter excludes, unless the client ignores it", async (t) => {
  const { url } = await serve(t, [fruit(folder(t), ["--prefilter", "20"])]);
  const sent = [];
  const recording = (address, init) => {
    sent.push(`${init?.method ?? "GET"} ${new URL(address).pathname}`);
    return fetch(address, init);
  };
  const database = await connect(url, { fetch: recording, cache: false });
  assert.equal(sent.filter((one) => one.endsWith("/prefilter")).length, 1, sent.join());
  const opened = sent.length;
  assert.deepEqual((await database.getMany(["no such fruit", "none"])).map(text), [null, null]);
  assert.equal(sent.length, opened, sent.join());
  assert.deepEqual((await database.getMany(["none", "apple"])).map(text), [null, "red"]);
  assert.equal(sent.filter((one) => one.startsWith("POST")).length, 1, sent.join());

  const ignoring = await connect(url, { fetch: recording, cache: false, prefilter: false });
  assert.equal(await ignoring.get("no such fruit"), null);
  assert.equal(sent.filter((one) => one.startsWith("POST")).length, 2, sent.join());

  const hiding = await connect(url, { fetch: recording, cache: false, hideTimes: true });
  await assert.rejects(hiding.get("apple"), { code: "unscheduled" });
  const scheduled = hiding.schedule({ every: 0.02, batch: 1 });
  assert.deepEqual([await scheduled.get("apple"), await scheduled.get("none")].map(text), ["red", null]);
  assert(sent.filter((one) => one.startsWith("POST")).length >= 4, sent.join());
  for (const one of [database, ignoring, hiding]) one.close();
});

test("lookups that start together each get their own value", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const database = await connect(url);
  const keys = Array.from({ length: 12 }, (_, i) => `fruit-${i}`);
  const values = await Promise.all(keys.map((key) => database.get(key)));
  assert.deepEqual(values.map(text), keys.map((key) => key.replace("fruit", "colour")));
});

test("records are looked up by index, with a scheme of the long module", async (t) => {
  const path = folder(t);
  const source = join(path, "table.csv");
  writeFileSync(source, "record\n" + Array.from({ length: 300 }, (_, i) => `record-${1000 + i}`).join("\n") + "\n");
  for (const scheme of ["simple", "inspire1", "download"]) {
    const snapshot = join(path, `${scheme}.papir`);
    papir("build", source, "--value", "record", "--scheme", scheme, "--out", snapshot);
    const { url, stop } = await serve(t, [snapshot]);
    const progress = [];
    const database = await connect(url, { onProgress: (one) => progress.push(one) });
    assert.equal(database.info.scheme, scheme);
    assert.deepEqual((await database.getIndices([0, 299n])).map((one) => text(one).slice(0, 11)), ["record-1000", "record-1299"]);
    await assert.rejects(database.getIndex(300), { code: "index_out_of_range" });
    if (scheme === "simple") assert.equal(progress.at(-1).received, progress.at(-1).total);
    await stop();
  }
});

test("values of up to 256 KiB are looked up", LIMIT, async (t) => {
  const path = folder(t);
  const source = join(path, "blocks.csv");
  const lengths = [65_535, 65_536, 65_537, 262_144];
  const blockOf = (length) => "abcdefghijk".repeat(Math.ceil(length / 11)).slice(0, length);
  writeFileSync(source, ["name,block", ...lengths.map((length) => `${length},${blockOf(length)}`)].join("\n") + "\n");
  for (const scheme of ["inspire", "download"]) {
    const snapshot = join(path, `${scheme}.papir`);
    papir("build", source, "--key", "name", "--value", "block", "--scheme", scheme, "--out", snapshot);
    const { url, stop } = await serve(t, [snapshot]);
    const database = await connect(url);
    for (const length of lengths) {
      const found = text(await database.get(String(length)));
      // Not `equal`, whose message would have both.
      assert(found === blockOf(length), `${scheme}, ${length}: ${found?.length}`);
    }
    assert.equal(await database.get("absent"), null);
    database.close();
    await stop();
  }
});

test("the modules are found where the caller says, or are the caller's", async (t) => {
  const path = folder(t);
  const long = join(path, "long");
  mkdirSync(long);
  const { url } = await serve(t, [fruit(path)]);
  const other = await serve(t, [fruit(long, ["--scheme", "inspire1"])]);
  const place = new URL(`${pathToFileURL(DIST)}/`);
  const name = hasVectors() ? "papir-simd.wasm" : "papir.wasm";
  const short = await WebAssembly.compile(readFileSync(join(DIST, name)));
  for (const module of [place, place.href, new URL(name, place), short]) {
    const database = await connect(url, { module });
    assert.equal(text(await database.get("apple")), "red");
    database.close();
  }
  const database = await connect(other.url, { module: place });
  assert.equal(text(await database.get("apple")), "red");
  // A module that is given alone is not replaced by another one.
  await assert.rejects(connect(other.url, { module: short }), { code: "unknown_scheme" });
});

test("a database is closed once, also by its scope", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const database = await connect(new URL(url));
  assert.equal(text(await database.get("apple")), "red");
  for (const close of [() => database[Symbol.dispose](), () => database[Symbol.asyncDispose](), () => database.close()]) {
    await close();
    await assert.rejects(database.get("apple"), { code: "closed" });
  }
});

test("no worker is started outside of a page", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const before = Object.getOwnPropertyDescriptor(globalThis, "Worker");
  t.after(() => (before ? Object.defineProperty(globalThis, "Worker", before) : delete globalThis.Worker));
  globalThis.Worker = class {
    constructor() {
      throw new Error("a worker, which keeps a process from its end");
    }
  };
  assert.equal(text(await (await connect(url)).get("apple")), "red");
  await assert.rejects(connect(url, { worker: true }), { code: "worker" });
});

test("registered clients are refused with the reason", async (t) => {
  for (const scheme of ["zip", "pirouette"]) {
    const path = folder(t);
    const { url } = await serve(t, [fruit(path, ["--scheme", scheme])], ["--registry", join(path, "registry")]);
    for (const known of [false, true]) {
      await assert.rejects(connect(url, { known }), (error) => {
        assert(error instanceof UnsupportedError, error.stack);
        return error.message.includes(scheme) && /never be used twice/.test(error.message);
      });
    }
  }
});

test("a new version is followed", async (t) => {
  const path = folder(t);
  const snapshot = fruit(path);
  const { url } = await serve(t, [snapshot], ["--watch", "--keep-old", "0"]);
  const database = await connect(url);
  assert.equal(text(await database.get("apple")), "red");
  const before = database.version;
  fruit(path, [], "green");
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (text(await database.get("apple")) !== "green") assert(Date.now() < deadline, "the old version stays");
  assert.notEqual(database.version, before);
});

test("a token is needed, and is not sent in the clear", async (t) => {
  const path = folder(t);
  const tokens = join(path, "tokens");
  const snapshot = fruit(path);
  const token = papir("tokens", tokens, "add", "--name", "tests").split(/\s/).at(-1);
  const { url } = await serve(t, [snapshot], ["--tokens", tokens]);
  await assert.rejects(connect(url), (error) => error instanceof NetworkError && error.status === 401);
  const database = await connect(url, { token });
  assert.equal(text(await database.get("apple")), "red");
  await assert.rejects(connect("http://lookup.example", { token: "secret", fetch }), { code: "token_in_clear" });
});

test("a service that lies is found out by the owner's key", async (t) => {
  const path = folder(t);
  const key = join(path, "owner.key");
  const owner = papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const other = papir("checkpoint", "keygen", join(path, "other.key"), "--name", "tests/owner");
  const { url } = await serve(t, [fruit(path, ["--sign", key])]);
  const database = await connect(url, { owner });
  assert.deepEqual([database.checkpoint.owner, database.checkpoint.sequence], [owner, 0]);
  assert.equal(text(await database.get("apple")), "red");
  await assert.rejects(connect(url, { owner: other }), (error) => error instanceof VerificationError);
});

test("answers that were altered are errors, and no value", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const lying = await between(t, url, async (request, body) => {
    if (request.url.endsWith("/query")) body[body.length >> 1] ^= 1;
    return body;
  });
  const database = await connect(lying);
  await assert.rejects(database.get("apple"), (error) => error instanceof PapirError && error.code === "checksum");
});

test("a connection that breaks off is tried again, and an absent service is named", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  let broken = 0;
  const flaky = await between(t, url, async (request, body) => (broken++ % 3 === 0 ? undefined : body));
  const database = await connect(flaky);
  assert.equal(text(await database.get("apple")), "red");
  assert(broken > 2);
  await assert.rejects(connect("http://127.0.0.1:9", { patience: 0.1 }), (error) => {
    return error instanceof NetworkError && error.retryable && error.message.includes("http://127.0.0.1:9");
  });
});

test("a call is stopped by its signal", LIMIT, async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const { happen: release, happened: released } = event();
  const hanging = await between(t, url, async (request, body) => {
    if (request.url.endsWith("/query")) await released;
    return body;
  });
  const database = await connect(hanging);
  await assert.rejects(database.get("apple", { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  release();
  await assert.rejects(connect(url, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a silent service is not waited for", LIMIT, async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  let isSilent = true;
  const silent = await between(t, url, async (request, body) => (isSilent ? new Promise(() => {}) : body));
  for (const worker of [false, true]) {
    isSilent = true;
    const refused = { name: "TimeoutError", code: "timed_out", retryable: true, message: `${silent}: no result within 0.3 s` };
    await assert.rejects(connect(silent, { timeout: 0.3, worker: typeof Worker === "function" && worker }), refused);
  }

  isSilent = false;
  const database = await connect(silent, { timeout: 600 });
  assert.equal(text(await database.get("apple")), "red");
});

test("lookups run one after the other, and a stopped one does not wait for its turn", LIMIT, async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const { happen: release, happened: released } = event();
  let [now, most] = [0, 0];
  const held = await between(t, url, async (request, body) => {
    if (!request.url.endsWith("/query")) return body;
    most = Math.max(most, ++now);
    await released;
    now--;
    return body;
  });
  const database = await connect(held);

  const first = Promise.all([database.get("fruit-1"), database.get("fruit-2")]);
  // The service answers none of them before this one ends.
  await assert.rejects(database.get("fruit-3", { signal: AbortSignal.timeout(700) }), { name: "TimeoutError" });
  release();

  assert.deepEqual((await first).map(text), ["colour-1", "colour-2"]);
  assert.equal(most, 1);
});

test("a redirection is not followed", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  let asked = 0;
  const elsewhere = await between(t, url, async (request, body) => (asked++, body));
  const redirecting = await between(t, url, async (request, body, response) => {
    response.writeHead(307, { location: elsewhere + request.url }).end();
  });
  await assert.rejects(connect(redirecting, { patience: 0.1 }), (error) => error instanceof NetworkError);
  assert.equal(asked, 0);
});

test("no more is read of a body than the client accepts", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  let sent = 0;
  const endless = await between(t, url, async (request, body, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const part = Buffer.alloc(1 << 20, " ");
    while (!response.destroyed && sent < 1 << 30) {
      sent += part.length;
      if (!response.write(part)) await Promise.race(["drain", "close"].map((name) => new Promise((go) => response.once(name, go))));
    }
    response.end();
  });
  await assert.rejects(connect(endless), { code: "too_long" });
  assert(sent < 64 << 20, `${sent} bytes were sent`);
});

test("the public part of a scheme of the long module is fetched once", async (t) => {
  const path = folder(t);
  const { url } = await serve(t, [fruit(path, ["--scheme", "inspire1"])]);
  const fetched = [];
  const counting = await between(t, url, async (request, body) => (fetched.push(new URL(request.url, url).pathname), body));
  const database = await connect(counting);
  assert.equal(text(await database.get("apple")), "red");
  assert.equal(fetched.filter((path) => path.endsWith("/public")).length, 1, fetched.join(" "));
  assert(database.costs.publicBytes > 0);
});

test("after a failure of the module, databases are opened again", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))]);
  const [broken, other] = [await connect(url), await connect(url)];
  const random = t.mock.method(crypto, "getRandomValues", () => {
    throw new Error("no random bytes");
  });
  await assert.rejects(broken.get("apple"), (error) => error instanceof PapirError && /no random bytes/.test(error.message));
  random.mock.restore();
  // Their memory is that of the failed module.
  for (const database of [broken, other]) await assert.rejects(database.get("apple"), { code: "internal" });
  broken.close();
  assert.equal(text(await (await connect(url)).get("apple")), "red");
});

test("a wrong key of the options is not the service's fault", async () => {
  await assert.rejects(connect("http://127.0.0.1:9", { owner: "x" }), (error) => {
    return error instanceof PapirError && !(error instanceof VerificationError) && error.code === "malformed";
  });
});
