// Lookups at several servers of one database, from Node.

import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { LIMIT, between, built, folder, fruit, keysOf, papir, relay, serve, text } from "./support.mjs";

const { connect, NetworkError, TimeoutError, VerificationError } = await built("index.js");
const { Connection, listed } = await built("servers.js");
const { stoppable } = await built("stopping.js");

/** Options of a connection that tries no round again and keeps no copies. */
const ONCE = { patience: 0, cache: false };
/** Names of a connection's servers for tests without services. */
const NAMES = ["http://a", "http://b", "http://c"];

/** A key that signs databases. Returns its file, and its public part as the option `owner`. */
function signer(test, name = "tests/owner") {
  const key = join(folder(test), "owner.key");
  return { key, owner: papir("checkpoint", "keygen", key, "--name", name) };
}

/** Builds versions of a signed database with these colours, each in a folder of its own. Returns their files. */
function versions(test, key, colours) {
  const files = [];
  for (const colour of colours) {
    const path = folder(test);
    // The log of the former version is continued.
    if (files.length > 0) copyFileSync(files.at(-1), join(path, "fruit.papir"));
    files.push(fruit(path, ["--sign", key], colour));
  }
  return files;
}

/** Serves each of these files, at an address of its own. */
function serveEach(test, files, extra = () => []) {
  return Promise.all(files.map((file) => serve(test, [file], extra())));
}

function urlsOf(services) {
  return services.map(({ url }) => url);
}

/** Checks that a call fails at all of these servers with an error of this class, which names each of them. */
async function failsAtAll(call, urls, kind) {
  const error = await call.then(() => assert.fail("it does not fail"), (error) => error);
  assert(error instanceof kind && error.code === "no_server", error.stack);
  assert(error.message.startsWith(`none of the ${urls.length} servers can be used: `), error.message);
  for (const url of urls) assert(error.message.includes(url), error.message);
  return error;
}

test("a lookup goes on at another server, and the same version is not fetched again", async (t) => {
  const { key, owner } = signer(t);
  const [file] = versions(t, key, ["red"]);
  const services = await serveEach(t, [file, file]);
  const urls = urlsOf(services);
  const database = await connect(urls, { ...ONCE, owner });
  assert.equal(text(await database.get("apple")), "red");
  const { publicBytes } = database.costs;

  await services[0].stop();
  assert.deepEqual((await database.getMany(["apple", "fruit-7"])).map(text), ["red", "colour-7"]);
  assert.equal(await database.get("no such fruit"), null);
  assert.equal(database.costs.publicBytes, publicBytes);
  const late = await connect(urls, { ...ONCE, owner });
  assert.equal(text(await late.get("apple")), "red");

  await services[1].stop();
  for (const call of [database.get("apple"), connect(urls, { ...ONCE, owner })]) {
    assert((await failsAtAll(call, urls, NetworkError)).retryable);
  }
});

test("a client moves to a newer version, and never to an older one", async (t) => {
  const { key, owner } = signer(t);
  const [old, now] = await serveEach(t, versions(t, key, ["red", "green"]));
  const urls = [old.url, now.url];
  const database = await connect(urls, { ...ONCE, owner, pin: false });
  assert.equal(text(await database.get("apple")), "red");
  await old.stop();
  assert.equal(text(await database.get("apple")), "green");
  assert.equal(database.checkpoint.sequence, 1);
});

test("a server that is behind is passed over", LIMIT, async (t) => {
  const { key, owner } = signer(t);
  const files = versions(t, key, ["red", "green"]);
  const services = await serveEach(t, [files[0], files[1], files[0]]);
  const [behind, current, also] = urlsOf(services);

  const required = { ...ONCE, owner, pin: false, sequence: 1 };
  const database = await connect([behind, current], required);
  assert.deepEqual([text(await database.get("apple")), database.checkpoint.sequence], ["green", 1]);
  // They may catch up, so that they are tried again until the time is over.
  await assert.rejects(connect([behind, also], { ...required, timeout: 1 }), ({ code }) => {
    return ["timed_out", "checkpoint_sequence"].includes(code);
  });
  await connect([behind, also], { ...required, sequence: 0 });

  // The newer version was seen at the other server only, whose pins hold for both.
  await connect(current);
  assert.equal(text(await (await connect([behind, current], ONCE)).get("apple")), "green");
});

test("a server of another owner is passed over", async (t) => {
  const { key, owner } = signer(t);
  const [good] = versions(t, key, ["red"]);
  const [strange] = versions(t, signer(t, "tests/stranger").key, ["stolen"]);
  const urls = urlsOf(await serveEach(t, [strange, good, strange]));

  const given = { ...ONCE, owner, pin: false };
  assert.equal(text(await (await connect(urls, given)).get("apple")), "red");
  const strangers = [urls[0], urls[2]];
  await failsAtAll(connect(strangers, given), strangers, VerificationError);

  // The owner that was pinned at first use, at one server only.
  await connect(urls[1]);
  assert.equal(text(await (await connect(urls, ONCE)).get("apple")), "red");
});

test("servers that nothing vouches for are refused", async (t) => {
  const unsigned = fruit(folder(t));
  const urls = urlsOf(await serveEach(t, [unsigned, unsigned]));
  const error = await failsAtAll(connect(urls, ONCE), urls, VerificationError);
  assert.equal(error.message.match(/has no checkpoint/g).length, 2, error.message);
  await assert.rejects(connect(urls, { ...ONCE, pin: false }), { code: "servers" });
  // It is the address that is trusted.
  const [single] = urls;
  assert.equal(text(await (await connect([single], ONCE)).get("apple")), "red");
});

test("a silent server leaves time for the others", LIMIT, async (t) => {
  const { key, owner } = signer(t);
  const [file] = versions(t, key, ["red"]);
  const { url } = await serve(t, [file]);
  const silent = await between(t, url, () => new Promise(() => {}));
  const database = await connect([silent, url], { ...ONCE, owner, timeout: 20 });
  assert.equal(text(await database.get("apple")), "red");
});

test("a relay carries the requests to each of the servers", async (t) => {
  const { key, owner } = signer(t);
  const [file] = versions(t, key, ["red"]);
  // The gateways share their keys, as one option is for all of them.
  const gateway = join(folder(t), "ohttp.toml");
  const services = await serveEach(t, [file, file], () => ["--ohttp", gateway]);
  const urls = urlsOf(services);
  const carrier = await relay(t, urls);
  const ohttpKeys = await keysOf(urls[0]);
  const asked = [];
  const recording = (address, init) => (asked.push(address), fetch(address, init));

  const way = { relay: carrier.url, ohttpKeys, fetch: recording };
  const database = await connect(urls, { ...ONCE, owner, ...way });
  assert.equal(text(await database.get("apple")), "red");
  await services[0].stop();
  assert.equal(text(await database.get("apple")), "red");
  const hosts = new Set(urls.map((url) => `${carrier.url}/${new URL(url).host}`));
  assert.deepEqual(new Set(asked), hosts);
});

/**
 * The requests to two servers for lookups of these keys, of which the first one goes away after the first lookup: their
 * methods, paths and lengths.
 */
async function observed(test, { url, owner }, keys) {
  const seen = [[], []];
  let isAway = false;
  const tap = (number) => between(test, url, async (request, body) => {
    seen[number].push(`${request.method} ${request.url} ${request.headers["content-length"] ?? 0}`);
    return isAway && number === 0 ? undefined : body;
  });

  const urls = [await tap(0), await tap(1)];
  const database = await connect(urls, { ...ONCE, owner, pin: false, freshness: 3600 });
  await database.get(keys[0]);
  isAway = true;
  await database.get(keys[1]);
  await database.getMany(keys);
  return seen;
}

test("the choice of a server does not depend on the keys", async (t) => {
  const { key, owner } = signer(t);
  const [file] = versions(t, key, ["red"]);
  const service = { url: (await serve(t, [file])).url, owner };
  const expected = await observed(t, service, ["apple", "fruit-1", "fruit-2"]);
  const [before, after] = expected.map((requests) => requests.filter((one) => one.startsWith("POST ")));
  assert.deepEqual([before.length, after.length], [2, 2], JSON.stringify(expected));
  assert(!expected[1].some((one) => one.includes("/public")), expected[1].join());

  for (const keys of [["apple", "apple", "apple"], ["no", "such", "fruit"]]) {
    assert.deepEqual(await observed(t, service, keys), expected);
  }
});

test("an answer that does not decode leads to no other server", async (t) => {
  const { key, owner } = signer(t);
  const [file] = versions(t, key, ["red"]);
  const { url } = await serve(t, [file]);
  const lying = await between(t, url, async (request, body) => {
    if (request.method === "POST") body[body.length >> 1] ^= 1;
    return body;
  });
  let asked = 0;
  const other = await between(t, url, async (request, body) => (asked++, body));

  const database = await connect([lying, other], { ...ONCE, owner });
  await assert.rejects(database.get("apple"), { code: "checksum" });
  assert.equal(asked, 0);
});

test("lists that cannot be used are refused, and nothing is sent", async () => {
  const asked = [];
  const fetch = (address) => (asked.push(address), Promise.reject(new Error("no request is expected")));
  const lists = [
    [[], /0 addresses: expected 1 to 16/],
    [Array.from({ length: 17 }, (_, i) => `http://h${i}`), /17 addresses: expected 1 to 16/],
    [["http://a", "http://b", "http://a/"], /http:\/\/a is given twice/],
    [["http://a/v1/databases/x", "http://b/v1/databases/y"], /`y`: expected `x`/],
  ];
  for (const [urls, reason] of lists) {
    await assert.rejects(connect(urls, { ...ONCE, fetch }), { code: "servers", message: reason });
  }
  await assert.rejects(connect(["http://a", 7], { ...ONCE, fetch }), TypeError);
  // Each address is checked before the first is asked.
  await assert.rejects(connect(["http://a", "ftp://b"], { ...ONCE, fetch }), { code: "bad_url" });
  const token = { ...ONCE, fetch, token: "secret" };
  await assert.rejects(connect(["https://a", "http://b"], token), { code: "token_in_clear" });
  assert.deepEqual(asked, []);
});

/** An error of a server, or of an answer. */
function failure(origin, code = "transport") {
  return new NetworkError(`${code} fails`, { code, retryable: true, origin });
}

/** A connection whose calls have the outcome that `answer(call, url)` returns or throws, with a record of the calls. */
function scripted(answer, { limit, ...given } = {}) {
  const calls = [];
  let current;
  const outcome = async (call, url, { signal }) => {
    signal?.throwIfAborted();
    calls.push(`${call} ${url.at(-1)}`);
    const result = await stoppable(Promise.resolve(answer(call, url)), signal);
    current = url;
    return result;
  };
  const backend = {
    open: ({ url }, settings) => outcome("open", url, settings),
    move: (_, { url }, settings) => outcome("move", url, settings),
    get: (_, wanted, settings) => outcome("get", current, settings),
    close: () => calls.push("close"),
  };
  const connection = new Connection(listed(NAMES, { patience: 0, ...given }, limit), limit, {});
  return { calls, connection, open: (signal) => connection.open(() => backend, signal) };
}

test("servers are tried in the order of their addresses, from the one in use", async () => {
  let away = ["http://a"];
  const { calls, connection, open } = scripted((call, url) => {
    if (away.includes(url)) throw failure("server");
    return { number: 1, values: url };
  });
  await open();
  away = ["http://b", "http://c"];
  assert.equal((await connection.get("x")).values, "http://a");
  assert.deepEqual(calls, ["open a", "open b", "get b", "move c", "move a", "get a"]);

  calls.length = 0;
  away = NAMES;
  await failsAtAll(connection.get("x"), NAMES, NetworkError);
  assert.deepEqual(calls, ["get a", "move b", "move c"]);
});

test("rounds are repeated while a failure may pass", async () => {
  const rounds = async (code, given) => {
    const { calls, open } = scripted(() => Promise.reject(failure("server", code)), given);
    const { message } = await failsAtAll(open(), NAMES, NetworkError);
    assert.equal(message.match(new RegExp(`http://.: ${code} fails`, "g")).length, 3);
    return calls.length / NAMES.length;
  };
  assert.equal(await rounds("transport", {}), 1);
  // Addresses that never responded: probably wrong ones.
  assert.equal(await rounds("transport", { patience: 60 }), 4);
  assert(await rounds("busy", { patience: 0.4 }) > 1);
});

test("only errors of servers lead to another one", async () => {
  for (const [origin, opened] of [["server", 3], ["answer", 3], [undefined, 1]]) {
    const { calls, open } = scripted(() => Promise.reject(failure(origin)));
    await assert.rejects(open());
    assert.equal(calls.length, opened, origin);
  }
  for (const [origin, asked] of [["server", 3], ["answer", 1], [undefined, 1]]) {
    const { calls, connection, open } = scripted((call) => {
      if (call !== "open") throw failure(origin);
      return { number: 1 };
    });
    await open();
    await assert.rejects(connection.get("x"));
    assert.equal(calls.length - 1, asked, origin);
  }
});

test("a stopped call asks no other server, and a closed database none", LIMIT, async () => {
  const { calls, connection, open } = scripted((call) => (call === "open" ? { number: 1 } : new Promise(() => {})));
  await assert.rejects(open(AbortSignal.abort()), { name: "AbortError" });
  await open();
  const abort = new AbortController();
  const running = connection.get("x", abort.signal);
  const waiting = connection.get("y");
  await new Promise((later) => setTimeout(later));
  connection.close();
  abort.abort(new Error("stopped"));
  await assert.rejects(running, /stopped/);
  await assert.rejects(waiting, { code: "closed" });
  assert.deepEqual(calls, ["open a", "get a", "close"]);
});

test("each server of a round gets an equal part of the time left", LIMIT, async () => {
  const times = [performance.now()];
  const { calls, open } = scripted(() => (times.push(performance.now()), new Promise(() => {})), { limit: 3000 });
  await assert.rejects(open(), (error) => error instanceof TimeoutError && error.code === "timed_out");
  assert.deepEqual(calls.slice(0, 2), ["open a", "open b"]);
  for (const [number, time] of [...times.slice(2), performance.now()].entries()) {
    assert(time - times[0] >= 1000 * (number + 1) - 20, times.join());
  }
});
