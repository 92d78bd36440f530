// Services that demand private tokens of an issuer, from Node.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";

import { DIST, built, demanding, folder, issuer, keysOf, papir, relay, text } from "./support.mjs";

const { connect, NetworkError, PapirError } = await built("index.js");
const { Engine } = await built("engine.js");
const { send } = await built("http.js");
const { compile, hasVectors } = await built("module.js");
const { options } = await built("options.js");
const { wait } = await built("stopping.js");
const { decodeValues, encodeWanted } = await built("wanted.js");

/** Tokens that are fetched together. */
const BATCH = 32;
/** Length of a token in bytes. */
const TOKEN_BYTES = 354;
/** What the issuer is asked for one batch. */
const FETCH = ["GET /.well-known/private-token-issuer-directory", "POST /token-request"];

/** An issuer, and a service that demands its tokens. Returns its address, and the options for it. */
async function paid(test, more = () => []) {
  const path = folder(test);
  const given = await issuer(test, path);
  return { url: await demanding(test, path, given.issuer, more(path)), given };
}

/** The token in the headers of a request; undefined without one. */
function tokenIn(headers) {
  const [, value] = headers.find(([name]) => name === "authorization") ?? [];
  return /^PrivateToken token="(.*)"$/.exec(value)?.[1];
}

/**
 * A `fetch` for its option, with a list of what it sends. `reply(address, init)` may respond in place of the server;
 * undefined otherwise.
 */
function recording(reply = () => undefined) {
  const sent = [];
  const recorded = async (address, init) => {
    sent.push({ address, line: `${init.method} ${new URL(address).pathname}`, headers: init.headers });
    return reply(address, init) ?? fetch(address, init);
  };
  return { sent, fetch: recorded };
}

/** The requests among them to a server. */
function to(url, sent) {
  return sent.filter(({ address }) => address.startsWith(`${url}/`));
}

/** The tokens of requests to a service. */
function tokensTo(url, sent) {
  return to(url, sent).map(({ headers }) => tokenIn(headers)).filter(Boolean);
}

test("each lookup costs a token, and they are fetched 32 at a time", async (t) => {
  const { url, given } = await paid(t);
  const { sent, fetch } = recording();
  const database = await connect(url, { ...given, fetch });
  // Reading is free.
  assert.equal(to(url, sent).length, sent.length);

  const keys = ["apple", "no such fruit", ...Array.from({ length: BATCH - 1 }, (_, i) => `fruit-${i}`)];
  const values = [];
  for (const key of keys) {
    values.push(text(await database.get(key)));
    const batches = to(given.issuer, sent).map(({ line }) => line);
    assert.deepEqual(batches, values.length <= BATCH ? FETCH : [...FETCH, ...FETCH]);
  }
  assert.deepEqual(values, ["red", null, ...Array.from({ length: BATCH - 1 }, (_, i) => `colour-${i}`)]);
  const tokens = tokensTo(url, sent);
  assert.deepEqual([tokens.length, new Set(tokens).size], [keys.length, keys.length]);

  // Each knows its own secret alone, and the directory is the same for everybody.
  const bearer = `Bearer ${given.issuerToken}`;
  const shown = to(given.issuer, sent).map(({ headers }) => headers.find(([name]) => name === "authorization")?.[1]);
  assert.deepEqual(shown, [undefined, bearer, undefined, bearer]);
  assert(to(url, sent).every(({ headers }) => headers.every(([, value]) => value !== bearer)));
});

test("connections share their tokens, and spend each once", async (t) => {
  const { url, given } = await paid(t);
  const { sent, fetch } = recording();
  const databases = await Promise.all([1, 2, 3].map(() => connect(url, { ...given, fetch })));
  for (let round = 0; round < 3; round++) {
    const values = await Promise.all(databases.map((database) => database.get("apple")));
    assert.deepEqual(values.map(text), ["red", "red", "red"]);
  }
  const tokens = tokensTo(url, sent);
  assert.deepEqual([tokens.length, new Set(tokens).size], [9, 9]);
  assert.deepEqual(to(given.issuer, sent).map(({ line }) => line), FETCH);
});

/**
 * Opens the database in an engine of its own, which keeps its tokens in `kept`. `sending(token)` is called before a token
 * is sent. Returns a function that looks up a key.
 */
async function engineOf(url, given, kept, sending) {
  const io = {
    send: ({ to, ...request }, bodyLimit) => {
      const token = tokenIn(request.headers);
      if (token) sending(Buffer.from(token, "base64url"));
      return send(to === "issuer" ? given.issuer : url, request, bodyLimit, {});
    },
    wait,
    store: async ({ action, entry }, body) => {
      if (action === "write") kept.set(entry, body);
      return { head: { lock: 1, found: kept.has(entry) }, body: kept.get(entry) };
    },
  };
  const engine = await Engine.start(await compile("tokens", hasVectors()), { unlock: () => {} });
  const { handle } = await engine.open(options(url, { ...given, cache: false, pin: false }), io);
  return async (key) => text(decodeValues((await engine.get(handle, encodeWanted([key], "key"), io)).values)[0]);
}

test("a token has left the storage before it is sent, and never comes back", async (t) => {
  const { url, given } = await paid(t);
  const kept = new Map();
  const spent = [];
  let isStopped = false;
  const sending = (token) => {
    const record = Buffer.from(kept.get("tokens"));
    spent.push(token.toString("hex"));
    assert.equal(token.length, TOKEN_BYTES);
    assert.equal(record.length, 1 + (BATCH - spent.length) * TOKEN_BYTES);
    assert(!record.includes(token), "it is still there");
    if (isStopped) throw new Error("the page is closed");
  };

  const get = await engineOf(url, given, kept, sending);
  assert.equal(await get("apple"), "red");
  isStopped = true;
  await assert.rejects(get("apple"), /the page is closed/);
  isStopped = false;
  assert.equal(await get("apple"), "red");

  // The next visit has what is left.
  const again = await engineOf(url, given, kept, sending);
  assert.equal(await again("fruit-7"), "colour-7");
  assert.deepEqual([spent.length, new Set(spent).size], [4, 4]);
});

test("a busy service costs no token", async (t) => {
  const { url, given } = await paid(t);
  const words = { type: "urn:papir:problem:busy", title: "The server is at capacity", detail: "later", code: "busy" };
  const problem = { ...words, status: 429, retryable: true };
  for (const [unspent, cost] of [[true, 1], [false, 2]]) {
    let refusals = 1;
    const { sent, fetch } = recording((address, { headers }) => {
      if (!tokenIn(headers) || refusals-- <= 0) return undefined;
      return Response.json({ ...problem, token_unspent: unspent }, { status: 429 });
    });
    const database = await connect(url, { ...given, fetch });
    assert.equal(text(await database.get("apple")), "red");
    const tokens = tokensTo(url, sent);
    assert.deepEqual([tokens.length, new Set(tokens).size], [2, cost]);
    database.close();
  }
});

test("tokens are sealed for a relay, and the issuer is asked directly", async (t) => {
  const { url, given } = await paid(t, (path) => ["--ohttp", join(path, "ohttp.toml")]);
  const carrier = await relay(t, [url]);
  const resource = `${carrier.url}/${new URL(url).host}`;
  for (const vouched of [{ ohttpKeys: await keysOf(url) }, { insecureHttp: true }]) {
    const { sent, fetch } = recording();
    const database = await connect(url, { ...given, ...vouched, relay: carrier.url, fetch });
    assert.equal(text(await database.get("apple")), "red");
    const others = sent.filter(({ address }) => address !== resource);
    assert.deepEqual(others, to(given.issuer, sent));
    const sealed = sent.filter(({ address }) => address === resource);
    assert(sealed.every(({ headers }) => headers.every(([name]) => name !== "authorization")));
  }

  const { sent, fetch } = recording();
  const owner = papir("checkpoint", "keygen", join(folder(t), "owner.key"), "--name", "tests/owner");
  for (const unvouched of [{}, { owner }]) {
    const opening = connect(url, { ...given, ...unvouched, relay: carrier.url, fetch });
    const refused = await opening.then(assert.fail, (error) => error);
    assert.equal(refused.code, "bad_relay");
    assert.match(refused.message, /`ohttpKeys`/);
    assert(!refused.message.includes(given.issuerToken));
  }
  assert.deepEqual(sent, []);
});

test("a demand without an issuer, or for another one, is an error", async (t) => {
  const { url, given } = await paid(t, (path) => ["--ohttp", join(path, "ohttp.toml")]);
  const carrier = await relay(t, [url]);
  const { host } = new URL(given.issuer);
  for (const way of [{}, { relay: carrier.url }]) {
    const database = await connect(url, way);
    const missing = await database.get("apple").then(assert.fail, (error) => error);
    assert(missing instanceof PapirError && !(missing instanceof NetworkError), missing.stack);
    assert.deepEqual([missing.code, missing.retryable], ["no_issuer", false]);
    assert(missing.message.includes(host), missing.message);
  }

  const { sent, fetch } = recording();
  const other = await connect(url, { ...given, issuer: "https://other.example", fetch });
  const refused = await other.get("apple").then(assert.fail, (error) => error);
  assert.equal(refused.code, "bad_challenge");
  assert.match(refused.message, new RegExp(`for the issuer ${host}: expected other\\.example`));
  assert.deepEqual(to("https://other.example", sent), []);
});

test("an issuer that does not know the client is an error of the network", async (t) => {
  const { url, given } = await paid(t);
  const database = await connect(url, { ...given, issuerToken: "papir_0" });
  const refused = await database.get("apple").then(assert.fail, (error) => error);
  assert(refused instanceof NetworkError, refused.stack);
  assert.deepEqual([refused.code, refused.status], ["unauthorized", 401]);
  assert(refused.message.startsWith(given.issuer), refused.message);
});

test("issuers that cannot be used are refused, and nothing is sent", async () => {
  const { sent, fetch } = recording();
  const refused = (given) => assert.rejects(connect("https://papir.invalid", { ...given, fetch }), { code: "bad_issuer" });
  const below = ["https://i.example/a", "https://i.example/v1/databases/a"];
  for (const wrong of ["", "i.example", "ftp://i.example", "http://i.example", ...below]) {
    await refused({ issuer: wrong });
  }
  // A module that has no blind signatures.
  const module = pathToFileURL(join(DIST, hasVectors() ? "papir-relay-simd.wasm" : "papir-relay.wasm"));
  await refused({ issuer: "https://i.example", module });
  assert.deepEqual(sent, []);
});
