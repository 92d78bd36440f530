// The module sends the bytes of the native client, for the same randomness and responses. The exchanges are those of
// crates/client/tests/core/exchanges.rs.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";

import { built } from "./support.mjs";

const { Engine } = await built("engine.js");
const { compile, hasVectors } = await built("module.js");
const { options } = await built("options.js");
const { decodeValues, encodeWanted } = await built("wanted.js");

const EXCHANGES = JSON.parse(readFileSync(new URL("exchanges.json", import.meta.url)));
const SETTINGS = { token: "secret", pin: false, cache: true };

/** A generator whose n-th call gives the number n. */
function counted() {
  let calls = 0n;
  return (bytes) => {
    bytes.fill(0);
    new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(0, calls++, true);
  };
}

/** Plays the recorded responses, and checks the requests. */
function replay(calls) {
  let next = 0;
  return {
    async send(request, bodyLimit) {
      const { response, ...expected } = calls[next++];
      const body_sha256 = createHash("sha256").update(request.body ?? "").digest("hex");
      assert.deepEqual({ method: request.method, path: request.path, headers: request.headers, body_sha256 }, expected);
      const version = response.headers.find(([name]) => name === "papir-version")?.[1];
      const body = Buffer.from(response.body, "base64").subarray(0, bodyLimit(response.status, version));
      return { head: { status: response.status, headers: response.headers }, body };
    },
    store: async (head) => ({ head: { found: false, lock: 1 } }),
    wait: () => assert.fail("no wait is expected"),
    rest: () => calls.length - next,
  };
}

async function play(schemes, simd, exchange) {
  const engine = await Engine.start(await compile(schemes, simd), { unlock: () => {}, random: counted() });
  const io = replay(exchange.calls);
  const { handle, database } = await engine.open(options("https://papir.example", SETTINGS), io);
  assert.equal(database.info.scheme, exchange.scheme);
  const values = [];
  for (const index of exchange.indices) {
    values.push(...decodeValues((await engine.get(handle, encodeWanted([index], "index"), io)).values));
  }
  assert.deepEqual(values.map((value) => Buffer.from(value).toString("base64")), exchange.values);
  assert.equal(io.rest(), 0);
  engine.close(handle);
}

const modules = ["short", "all", "relay", "tokens"].flatMap((schemes) => [[schemes, true], [schemes, false]]);
for (const [schemes, simd] of modules) {
  for (const exchange of EXCHANGES) {
    const alone = schemes === "short" && !["simple", "inspire"].includes(exchange.scheme);
    const missing = await compile(schemes, simd).then(() => false, (error) => /ENOENT/.test(error.message));
    const skip = missing ? "this build has no such module" : !hasVectors() && simd ? "no vectors here" : false;
    test(`${exchange.scheme} ${schemes}${simd ? " with vectors" : ""}`, { skip }, async () => {
      if (!alone) return play(schemes, simd, exchange);
      // The long module is loaded for it.
      await assert.rejects(play(schemes, simd, exchange), { code: "unknown_scheme" });
    });
  }
}

/** Wasm memory grows by pages of 64 KiB. */
const PAGE = 1 << 16;

test("lookups, stopped lookups and closed databases leave nothing in the module's memory", async () => {
  const exchange = EXCHANGES.find(({ scheme }) => scheme === "inspire");
  const engine = await Engine.start(await compile("short", hasVectors()), { unlock: () => {}, random: (bytes) => bytes.fill(7) });
  const responses = (calls, stops) => {
    const io = replay(calls);
    return { ...io, send: async ({ path }, bodyLimit) => {
      const { response } = calls.find((call) => call.path === path);
      if (stops?.(path)) throw new Error("stopped");
      const version = response.headers.find(([name]) => name === "papir-version")?.[1];
      return { head: { status: response.status, headers: response.headers }, body: Buffer.from(response.body, "base64").subarray(0, bodyLimit(response.status, version)) };
    } };
  };
  const round = async () => {
    const { handle } = await engine.open(options("https://papir.example", SETTINGS), responses(exchange.calls));
    // The recorded answer is to another query: the work is done all the same.
    await assert.rejects(engine.get(handle, encodeWanted([3], "index"), responses(exchange.calls)));
    const stopping = responses(exchange.calls, (path) => path.endsWith("/query"));
    await assert.rejects(engine.get(handle, encodeWanted([3], "index"), stopping), /stopped/);
    engine.close(handle);
  };
  for (let i = 0; i < 10; i++) await round();
  const before = engine.memoryBytes;
  for (let i = 0; i < 100; i++) await round();
  assert(engine.memoryBytes - before <= 4 * PAGE, `${engine.memoryBytes - before} bytes more`);
});

test("a failed engine refuses further calls", async () => {
  const engine = await Engine.start(await compile("short", hasVectors()), {
    unlock: () => {},
    random: () => {
      throw new Error("no random bytes");
    },
  });
  const exchange = EXCHANGES.find(({ scheme }) => scheme === "simple");
  const io = replay(exchange.calls);
  const { handle } = await engine.open(options("https://papir.example", SETTINGS), io);
  await assert.rejects(engine.get(handle, encodeWanted([3], "index"), io), { code: "internal", message: /no random bytes/ });
  assert.equal(engine.isBroken, true);
  await assert.rejects(engine.get(handle, encodeWanted([3], "index"), io), { code: "internal" });
  engine.close(handle);
});
