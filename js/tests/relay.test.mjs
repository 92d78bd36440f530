// Lookups through relays of Oblivious HTTP, from Node.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

import { DIST, LIMIT, built, fakeRelay, folder, fruit, keysOf, papir, relay, serve, text } from "./support.mjs";

const { connect, NetworkError, PapirError } = await built("index.js");
const { Engine } = await built("engine.js");
const { send } = await built("http.js");
const { compile, hasVectors } = await built("module.js");
const { options } = await built("options.js");

/** A service that only a relay reaches: no name server knows it. */
const SERVICE = "https://papir.invalid";
const RESOURCE = "/papir.invalid";
const SEALED = "message/ohttp-chunked-res";
/** The type of the problem that a gateway does not have the key of a request (RFC 9458, section 5.3). */
const UNKNOWN_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key";
/** Options of a connection that tries nothing again and keeps nothing. */
const ONCE = { patience: 0, cache: false, pin: false };

/** Serves fruit with a gateway. `build` are more arguments of its build. Returns the service's address. */
async function gateway(test, build = []) {
  const path = folder(test);
  return (await serve(test, [fruit(path, build)], ["--ohttp", join(path, "ohttp.toml")])).url;
}

/** Records the addresses that the client asks. Returns them, with a `fetch` for its option. */
function recording() {
  const asked = [];
  return { asked, fetch: (address, init) => (asked.push(address), fetch(address, init)) };
}

/** A relay that carries keys, and responds to sealed requests by `reply`. */
function replying(test, url, reply) {
  return fakeRelay(test, url, (request, response) => request.method === "POST" && (reply(response, request), true));
}

/** The error of a connection through a relay. */
function failure(url, more = {}) {
  return connect(SERVICE, { ...ONCE, relay: url, ...more }).then(() => assert.fail("it connects"), (error) => error);
}

test("every request goes through the program's relay, and none to the service", async (t) => {
  const url = await gateway(t);
  const carrier = await relay(t, [url]);
  const { asked, fetch } = recording();
  const database = await connect(url, { relay: carrier.url, fetch });
  assert.equal(text(await database.get("apple")), "red");
  assert.equal(await database.get("no such fruit"), null);
  assert.deepEqual((await database.getMany(["fruit-7", "fruit-8"])).map(text), ["colour-7", "colour-8"]);

  const resource = `${carrier.url}/${new URL(url).host}`;
  assert(asked.length >= 6, asked.join());
  assert(asked.every((address) => address === resource), asked.join());
  database.close();

  // Without a `fetch` of the caller, and with a slash behind the address.
  const other = await connect(url, { relay: new URL(`${carrier.url}/`), ohttpKeys: await keysOf(url) });
  assert.equal(text(await other.get("apple")), "red");
});

test("a signed database with tokens is used through the program's relay", async (t) => {
  const path = folder(t);
  const key = join(path, "owner.key");
  const owner = papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const snapshot = fruit(path, ["--sign", key]);
  const tokens = join(path, "tokens");
  const token = papir("tokens", tokens, "add", "--name", "tests").split(/\s/).at(-1);
  const { url } = await serve(t, [snapshot], ["--ohttp", join(path, "ohttp.toml"), "--tokens", tokens]);
  const carrier = await relay(t, [url]);

  const ohttpKeys = await keysOf(url);
  const database = await connect(url, { relay: carrier.url, ohttpKeys, token, owner });
  assert.deepEqual([database.checkpoint.owner, database.checkpoint.sequence], [owner, 0]);
  assert.equal(text(await database.get("apple")), "red");

  // A refusal of the service is sealed, and an error of the service.
  await assert.rejects(connect(url, { relay: carrier.url, ohttpKeys }), (error) => {
    return error instanceof NetworkError && error.status === 401;
  });
});

test("a relay sees sealed requests alone, of lengths that do not depend on the key", async (t) => {
  const carrier = await fakeRelay(t, await gateway(t));
  // No lookup asks for a newer version.
  const database = await connect(SERVICE, { relay: carrier.url, freshness: 3600 });
  const opening = carrier.requests.splice(0);
  assert.deepEqual(opening.map(({ method }) => method), ["GET", ...opening.slice(1).map(() => "POST")]);

  const seen = [];
  for (const key of ["apple", "fruit-7", "no such fruit", "x".repeat(300)]) {
    await database.get(key);
    seen.push(carrier.requests.splice(0));
  }
  const lengths = seen.map((requests) => requests.map(({ body, answered }) => [body.length, answered]));
  for (const other of lengths.slice(1)) assert.deepEqual(other, lengths[0]);

  for (const { method, path, headers, body } of [...opening, ...seen.flat()]) {
    assert.equal(path, RESOURCE);
    if (method === "POST") assert.equal(headers["content-type"], "message/ohttp-chunked-req");
    const shown = JSON.stringify(headers) + body.toString("latin1");
    assert(!/papir-version|authorization|v1\/databases|fruit/.test(shown), shown.slice(0, 500));
  }
});

test("keys that are given are used, and no others are fetched", async (t) => {
  const url = await gateway(t);
  const carrier = await fakeRelay(t, url);
  const database = await connect(SERVICE, { relay: carrier.url, ohttpKeys: await keysOf(url) });
  assert.equal(text(await database.get("apple")), "red");
  assert(carrier.requests.every(({ method }) => method === "POST"));

  carrier.requests.length = 0;
  const foreign = await keysOf(await gateway(t));
  const refused = await failure(carrier.url, { ohttpKeys: foreign });
  assert.deepEqual([refused.code, refused.retryable], ["relay", false], refused.message);
  assert.deepEqual(carrier.requests.map(({ method }) => method), ["POST"]);

  carrier.requests.length = 0;
  for (const wrong of [new Uint8Array(), new Uint8Array([0, 9, 1]), new Uint8Array(70_000)]) {
    assert.equal((await failure(carrier.url, { ohttpKeys: wrong })).code, "bad_ohttp_keys");
  }
  assert.equal(carrier.requests.length, 0);
});

test("keys that the gateway no longer has are fetched again, once", async (t) => {
  const url = await gateway(t);
  const problem = JSON.stringify({ type: UNKNOWN_KEY, title: "unknown key" });
  let refusals = 1;
  const carrier = await fakeRelay(t, url, ({ method }, response) => {
    if (method === "GET" || refusals-- <= 0) return false;
    response.writeHead(400, { "content-type": "application/problem+json" }).end(problem);
    return true;
  });
  const database = await connect(SERVICE, { relay: carrier.url });
  assert.equal(text(await database.get("apple")), "red");
  const [first, again] = carrier.requests.filter(({ method }) => method === "POST");
  assert.deepEqual(carrier.requests.slice(0, 4).map(({ method }) => method), ["GET", "POST", "GET", "POST"]);
  assert.equal(carrier.requests.filter(({ method }) => method === "GET").length, 2);
  assert.notDeepEqual(first.body, again.body);

  refusals = Infinity;
  carrier.requests.length = 0;
  const never = await failure(carrier.url);
  assert.deepEqual([never.code, never.retryable], ["relay", false]);
  assert.match(never.message, /does not have the key that it publishes/);
  assert.deepEqual(carrier.requests.map(({ method }) => method), ["GET", "POST", "GET", "POST"]);

  const given = await failure(carrier.url, { ohttpKeys: await keysOf(url) });
  assert.match(given.message, /does not have the key in the option `ohttpKeys`/);
});

test("replies of a relay that are no answers are errors that say which", async (t) => {
  const url = await gateway(t);
  const cases = [
    [(response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"), false, /expected message\/ohttp-chunked-res, found text\/html/],
    [(response) => response.writeHead(502, { "content-type": "text/html" }).end("<html>"), true, /HTTP 502 with text\/html: not a response of a relay/],
    [(response) => response.writeHead(200).end("sealed"), false, /found no media type/],
    [
      (response) => response.writeHead(403, { "content-type": "application/problem+json" }).end('{"code":"no","detail":"no relay for it"}'),
      false,
      /HTTP 403 \(no\): no relay for it/,
    ],
    [(response) => response.writeHead(200, { "content-type": SEALED }).end(), false, /unusable response/],
    [(response) => response.writeHead(200, { "content-type": SEALED }).end(Buffer.alloc(4000, 7)), false, /unusable response/],
    [(response) => response.writeHead(302, { location: url }).end(), true, /a redirection, which is not followed/],
    [(response) => response.destroy(), true, /through the relay/],
  ];
  for (const [reply, retryable, reason] of cases) {
    const carrier = await replying(t, url, reply);
    const error = await failure(carrier.url);
    assert(error instanceof NetworkError, error.stack);
    assert.deepEqual([error.code, error.retryable], ["relay", retryable], error.message);
    assert(error.message.startsWith(SERVICE) && error.message.includes(`through the relay ${carrier.url}: `), error.message);
    assert.match(error.message, reason);
  }
});

test("a sealed response that is cut off or altered is an error", async (t) => {
  const url = await gateway(t);
  const changes = [
    (body) => body.subarray(0, -1),
    (body) => body.subarray(0, body.length >> 1),
    (body) => (body[body.length >> 1] ^= 1, body),
  ];
  for (const change of changes) {
    const carrier = await fakeRelay(t, url, async (request, response) => {
      if (request.method === "GET") return false;
      const headers = { "content-type": request.headers["content-type"] };
      const answer = await fetch(`${url}/.well-known/ohttp-gateway`, { method: "POST", headers, body: request.body });
      response.writeHead(200, { "content-type": SEALED }).end(change(Buffer.from(await answer.arrayBuffer())));
      return true;
    });
    const error = await failure(carrier.url);
    assert.deepEqual([error.code, error.retryable], ["relay", false], error.message);
    assert.match(error.message, /unusable response/);
  }

  // The connection breaks, and the length is announced.
  const carrier = await replying(t, url, (response) => {
    response.writeHead(200, { "content-type": SEALED, "content-length": 4000 }).write("begin", () => response.destroy());
  });
  assert.equal((await failure(carrier.url)).code, "relay");
});

test("keys of a relay that are none are errors", async (t) => {
  const url = await gateway(t);
  for (const [type, body] of [["application/ohttp-keys", ""], ["application/ohttp-keys", "no keys"], ["text/html", "<html>"]]) {
    const carrier = await fakeRelay(t, url, (request, response) => (response.writeHead(200, { "content-type": type }).end(body), true));
    const error = await failure(carrier.url);
    assert.deepEqual([error.code, error.retryable], ["relay", false], error.message);
    assert.deepEqual(carrier.requests.map(({ method }) => method), ["GET"]);
  }
});

test("a relay that is away or silent is never passed by", LIMIT, async (t) => {
  // A service that could be asked.
  const url = await gateway(t);
  const { asked, fetch } = recording();
  for (const relay of ["http://127.0.0.1:9", "http://name:word@127.0.0.1:9"]) {
    const away = await connect(url, { ...ONCE, relay, fetch }).then(assert.fail, (error) => error);
    assert.deepEqual([away.code, away.retryable], ["relay", true], away.message);
    assert(away.message.includes("127.0.0.1:9: ") && !away.message.includes("word"), away.message);
  }

  const server = createServer(() => {});
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => (server.closeAllConnections(), server.close()));
  const silent = `http://127.0.0.1:${server.address().port}`;
  await assert.rejects(connect(url, { ...ONCE, relay: silent, timeout: 0.3, fetch }), { code: "timed_out" });

  const unknown = await relay(t, ["https://other.example"]);
  const refused = await connect(url, { ...ONCE, relay: unknown.url, fetch }).then(assert.fail, (error) => error);
  assert.equal(refused.code, "relay");
  assert.match(refused.message, /HTTP 404 \(unknown_gateway\)/);
  assert(asked.length >= 4 && asked.every((address) => !address.startsWith(url)), asked.join());
});

test("no token is sealed for keys that only the relay vouches for", async (t) => {
  const url = await gateway(t);
  const carrier = await fakeRelay(t, url);
  const refused = await failure(carrier.url, { token: "secret" });
  assert(refused instanceof PapirError);
  assert.equal(refused.code, "bad_relay");
  assert.match(refused.message, /`ohttpKeys`.*`owner`/);
  assert(!refused.message.includes("secret"));
  assert.equal(carrier.requests.length, 0);

  for (const allowed of [{ insecureHttp: true }, { ohttpKeys: await keysOf(url) }]) {
    const database = await connect(SERVICE, { relay: carrier.url, token: "secret", ...allowed });
    assert.equal(text(await database.get("apple")), "red");
  }

  // The owner of this database does not name the gateway's key: nothing but the requests for the keys and the proof.
  carrier.requests.length = 0;
  const owner = papir("checkpoint", "keygen", join(folder(t), "owner.key"), "--name", "tests/owner");
  const unnamed = await failure(carrier.url, { token: "secret", owner, database: "fruit" });
  assert(unnamed instanceof PapirError);
  assert.deepEqual(carrier.requests.map(({ method }) => method), ["GET", "POST"]);
});

test("a token is sealed for a key that the owner names", async (t) => {
  const path = folder(t);
  const key = join(path, "owner.key");
  const owner = papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const snapshot = fruit(path, ["--sign", key]);
  const tokens = join(path, "tokens");
  const token = papir("tokens", tokens, "add", "--name", "tests").split(/\s/).at(-1);
  const options = ["--ohttp", join(path, "ohttp.toml"), "--tokens", tokens];

  // The first service makes the gateway's key, and the second one has the same.
  const first = await serve(t, [snapshot], options);
  const published = join(path, "published");
  writeFileSync(published, await keysOf(first.url));
  const given = { token, owner, database: "fruit" };
  const early = await relay(t, [first.url]);
  // The service shows the proof only with a token as long as it names no keys, and the token is held back.
  await assert.rejects(connect(first.url, { ...ONCE, ...given, relay: early.url }), (error) => {
    return error instanceof NetworkError && error.status === 401;
  });
  await first.stop();

  const certificate = join(path, "gateways.cert");
  papir("checkpoint", "gateways", "--key", key, "--keys", published, "--all-databases", "--for", "60d", "--out", certificate);
  papir("checkpoint", "sign", snapshot, "--key", key, "--certificate", certificate);
  const { url } = await serve(t, [snapshot], options);
  const carrier = await relay(t, [url]);
  const database = await connect(url, { ...given, relay: carrier.url });
  assert.equal(text(await database.get("apple")), "red");
});

test("a copy of a public part is offered only through the relay that it was fetched through", async (t) => {
  const url = await gateway(t, ["--scheme", "simple"]);
  const fetched = async (relay) => {
    const database = await connect(url, { relay });
    database.close();
    return database.costs.publicBytes;
  };

  for (const carrier of [undefined, await relay(t, [url]), await relay(t, [url])]) {
    const first = await fetched(carrier?.url);
    assert(first > 64 << 10, `${carrier?.url}: ${first}`);
    assert.equal(await fetched(carrier?.url), 0, carrier?.url);
  }
});

test("the bytes of a sealed response are reported while they arrive", async (t) => {
  const url = await gateway(t, ["--scheme", "simple"]);
  const progress = [];
  const onProgress = (one) => progress.push(one);
  const carrier = await relay(t, [url]);
  const database = await connect(url, { relay: carrier.url, cache: false, onProgress });

  assert(progress.length > 0);
  for (const [number, { received, total }] of progress.entries()) {
    assert.equal(total, 0);
    assert(number === 0 || received > progress[number - 1].received, JSON.stringify(progress));
  }
  // All of the public part is among them, and padding that is not as long.
  const { received } = progress.at(-1);
  const { publicBytes } = database.costs;
  assert(received >= publicBytes && received < 2 * publicBytes + (64 << 10), `${received} for ${publicBytes}`);
});

/** The slots that a connection writes to, by their entries. */
async function slotsOf(url, carrier) {
  const slots = {};
  const io = {
    send: (request, bodyLimit) => send(carrier ?? url, request, bodyLimit, {}),
    wait: () => assert.fail("no wait is expected"),
    store: async ({ action, slot, entry }) => {
      if (action === "write") slots[entry] = slot;
      return { head: { found: false, lock: 1 } };
    },
  };
  const engine = await Engine.start(await compile("relay", hasVectors()), { unlock: () => {} });
  await engine.open(options(url, { relay: carrier }), io);
  return slots;
}

test("what the service can recognise is stored for each relay, and pins hold on every way", async (t) => {
  const key = join(folder(t), "owner.key");
  papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const url = await gateway(t, ["--scheme", "simple", "--sign", key]);
  const [one, other] = [(await fakeRelay(t, url)).url, (await fakeRelay(t, url)).url];

  const direct = await slotsOf(url);
  assert.deepEqual(Object.keys(direct).sort(), ["name", "owner", "public"]);
  assert.equal(direct.public, `${url}/v1/databases/fruit`);
  for (const carrier of [one, other]) {
    const relayed = await slotsOf(url, carrier);
    assert.deepEqual(relayed, { ...direct, public: `${direct.public} through ${carrier}` });
  }
});

test("requests are sealed with the page's random numbers alone", async (t) => {
  const ohttpKeys = await keysOf(await gateway(t));
  const engine = await Engine.start(await compile("relay", hasVectors()), {
    unlock: () => {},
    random: () => {
      throw new Error("no random bytes");
    },
  });
  const io = { send: () => assert.fail("it is sent"), store: async () => ({ head: { found: false, lock: 1 } }) };
  const given = options(SERVICE, { relay: "https://r.example", ohttpKeys, pin: false, cache: false });
  await assert.rejects(engine.open(given, io), { code: "internal", message: /no random bytes/ });
});

test("relays that cannot be used are refused, and nothing is sent", async () => {
  const { asked, fetch } = recording();
  const refused = (url, given) => assert.rejects(connect(url, { ...ONCE, ...given, fetch }), { code: "bad_relay" });
  for (const wrong of ["", "r.example", "ftp://r.example", "https://r.example/v1/databases", "https://r.example?a=b", "http://r.example"]) {
    await refused(SERVICE, { relay: wrong });
  }
  await refused(`${SERVICE}/below`, { relay: "https://r.example" });
  // A module that has no ciphers.
  const module = pathToFileURL(join(DIST, hasVectors() ? "papir-all-simd.wasm" : "papir-all.wasm"));
  await refused(SERVICE, { relay: "https://r.example", module });
  assert.deepEqual(asked, []);
});
