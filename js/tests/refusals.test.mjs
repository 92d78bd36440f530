// Why a browser keeps a page from a service, a worker or a module: told apart without a browser.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";

import { built } from "./support.mjs";

const { send } = await built("http.js");
const { compile } = await built("module.js");
const { RemoteBackend } = await built("remote.js");
const { NetworkError, PapirError } = await built("errors.js");

const PAGE = "https://app.example";
const REQUEST = { method: "GET", path: "/v1/databases", headers: [] };

/** Globals as they were before a test. */
const before = new Map();

/** Sets a global for the time of a test. */
function globally(test, name, value) {
  if (!before.has(name)) {
    before.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
    test.after(() => restore(name));
  }
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

function restore(name) {
  const descriptor = before.get(name);
  before.delete(name);
  if (descriptor) Object.defineProperty(globalThis, name, descriptor);
  else delete globalThis[name];
}

/** A page, and its reports of refusals by its policy. */
function page(test) {
  const reports = new EventTarget();
  globally(test, "location", new URL(PAGE));
  globally(test, "addEventListener", reports.addEventListener.bind(reports));
  globally(test, "removeEventListener", reports.removeEventListener.bind(reports));
  return (effectiveDirective, blockedURI) => {
    reports.dispatchEvent(Object.assign(new Event("securitypolicyviolation"), { effectiveDirective, blockedURI }));
  };
}

/** A service of its own for each test, since a page remembers which have answered. */
let count = 0;
function service() {
  return `https://lookup-${++count}.example`;
}

const failed = () => Promise.reject(new TypeError("Failed to fetch"));

test("a service that allows no page of this origin is told from one that is away", async (t) => {
  page(t);
  const [refusing, away, starting] = [service(), service(), service()];
  const asked = [];
  t.mock.method(globalThis, "fetch", async (url, { mode }) => {
    asked.push([url, mode]);
    if (url.startsWith(refusing)) return mode === "no-cors" ? new Response() : failed();
    return url.startsWith(away) || asked.length === 1 ? failed() : new Response();
  });
  assert.deepEqual(await send(away, REQUEST, () => 100, {}), { head: { failure: "Failed to fetch" } });
  asked.length = 0;
  // It is tried again, as it came up meanwhile.
  assert.deepEqual(await send(starting, REQUEST, () => 100, {}), { head: { failure: "Failed to fetch" } });
  asked.length = 0;
  await assert.rejects(send(refusing, REQUEST, () => 100, {}), (error) => {
    assert(error instanceof NetworkError);
    assert.equal(error.code, "origin_refused");
    assert.match(error.message, /--allow-origin https:\/\/app\.example$/);
    return error.message.startsWith(refusing);
  });
  assert.deepEqual(asked.map(([, mode]) => mode), ["cors", "no-cors", "cors"]);
});

test("a service that has answered is not refused later", async (t) => {
  page(t);
  const url = service();
  const outcomes = [() => new Response("{}"), failed];
  const fetched = t.mock.method(globalThis, "fetch", async () => outcomes.shift()());
  assert.equal((await send(url, REQUEST, () => 100, {})).head.status, 200);
  assert.deepEqual(await send(url, REQUEST, () => 100, {}), { head: { failure: "Failed to fetch" } });
  assert.equal(fetched.mock.callCount(), 2);
});

test("a policy that forbids the service is named", async (t) => {
  const report = page(t);
  const url = service();
  t.mock.method(globalThis, "fetch", (asked) => (report("connect-src", asked), failed()));
  await assert.rejects(send(url, REQUEST, () => 100, {}), (error) => {
    return error instanceof NetworkError && error.code === "policy" && error.message.includes(`add ${url} to connect-src`);
  });
});

test("a page asks a relay or an issuer that it does not reach in no other way", async (t) => {
  const report = page(t);
  const [away, forbidden] = [service(), service()];
  const fetched = t.mock.method(globalThis, "fetch", (asked) => {
    if (asked.startsWith(forbidden)) report("connect-src", asked);
    return failed();
  });
  // A request without CORS would follow a redirection, to wherever the relay likes.
  assert.deepEqual(await send(away, REQUEST, () => 100, { isService: false }), { head: { failure: "Failed to fetch" } });
  assert.deepEqual(fetched.mock.calls.map(({ arguments: [, { mode, redirect }] }) => [mode, redirect]), [["cors", "error"]]);
  await assert.rejects(send(forbidden, REQUEST, () => 100, { isService: false }), { code: "policy" });
});

test("with the caller's fetch, a page asks no service in another way", async (t) => {
  page(t);
  const url = service();
  const outside = t.mock.method(globalThis, "fetch", async () => new Response());
  const given = t.mock.fn(failed);
  assert.deepEqual(await send(url, REQUEST, () => 100, { fetch: given }), { head: { failure: "Failed to fetch" } });
  assert.deepEqual([given.mock.callCount(), outside.mock.callCount()], [1, 0]);

  // An answer by the caller's way does not show that the browser allows the service.
  given.mock.mockImplementation(async () => new Response("{}"));
  assert.equal((await send(url, REQUEST, () => 100, { fetch: given })).head.status, 200);
  outside.mock.mockImplementation(async (_, { mode }) => (mode === "no-cors" ? new Response() : failed()));
  await assert.rejects(send(url, REQUEST, () => 100, {}), { code: "origin_refused" });
});

test("outside of a page, a failure is only a failure", async (t) => {
  const fetched = t.mock.method(globalThis, "fetch", failed);
  assert.deepEqual(await send(service(), REQUEST, () => 100, {}), { head: { failure: "Failed to fetch" } });
  assert.equal(fetched.mock.callCount(), 1);
});

test("a redirection is not followed, and cookies are for pages only", async (t) => {
  let asked = 0;
  const statuses = [307, 308, 304];
  const server = createServer((request, response) => (asked++, response.writeHead(statuses.shift(), { location: "/elsewhere" }).end()));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => (server.closeAllConnections(), server.close()));
  const url = `http://127.0.0.1:${server.address().port}`;
  for (const count of [1, 2]) {
    const { head } = await send(url, REQUEST, () => 100, {});
    assert.deepEqual([head, asked], [{ failure: "a redirection, which is not followed" }, count]);
  }
  // What the client has is still right.
  assert.equal((await send(url, REQUEST, () => 100, {})).head.status, 304);

  page(t);
  const fetched = t.mock.method(globalThis, "fetch", async () => new Response("{}"));
  await send(service(), REQUEST, () => 100, {});
  const { credentials, redirect, cache, referrerPolicy } = fetched.mock.calls[0].arguments[1];
  assert.deepEqual([credentials, redirect, cache, referrerPolicy], ["omit", "error", "no-store", "no-referrer"]);
});

/** A worker that fails to start, after what `fail` does. */
function failing(test, fail) {
  globally(test, "Worker", class {
    constructor() {
      queueMicrotask(() => (fail(), this.onerror({})));
    }
    postMessage() {}
    terminate() {}
  });
  const backend = new RemoteBackend({ place: `${PAGE}/papir/` }, () => {});
  return backend.open({}, {}).then(assert.fail, (error) => {
    assert(error instanceof PapirError);
    assert.equal(error.code, "worker");
    assert.match(error.message, /worker: false/);
    return error.message;
  });
}

test("a worker whose file is missing is told from one that a policy forbids", async (t) => {
  const report = page(t);
  const script = { "content-type": "text/javascript" };
  const responses = [
    new Response("", { status: 404 }),
    new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
    new Response("", { headers: script }),
    new Response("", { headers: script }),
  ];
  t.mock.method(globalThis, "fetch", async (url) => {
    assert.equal(String(url), `${PAGE}/papir/worker.js`);
    return responses.shift();
  });
  assert.match(await failing(t, () => {}), /app\.example\/papir\/worker\.js: HTTP 404: expected papir's file worker\.js/);
  assert.match(await failing(t, () => {}), /text\/html in place of JavaScript/);
  assert.match(await failing(t, () => report("worker-src", `${PAGE}/papir/worker.js`)), /policy forbids it: add 'self' to worker-src/);
  assert.match(await failing(t, () => {}), /it did not start: expected all of papir's files beside it/);
});

test("a worker that cannot be named is told the option that names it", (t) => {
  for (const [name, remedy] of [["SecurityError", /serve papir's files from the page's own origin/], ["TypeError", /give the option `module`/]]) {
    globally(t, "Worker", class {
      constructor() {
        throw Object.assign(new Error("no worker"), { name });
      }
    });
    assert.throws(() => new RemoteBackend({}, () => {}), (error) => error.code === "worker" && remedy.test(error.message));
  }
});

test("outside of a page, a worker ends with its last database", async (t) => {
  const ended = [];
  globally(t, "Worker", class {
    postMessage({ id, call }) {
      if (call === "open") queueMicrotask(() => this.onmessage({ data: { id, result: { number: id } } }));
    }
    terminate() {
      ended.push("worker");
    }
  });
  const backend = new RemoteBackend({}, () => ended.push("backend"));
  const [one, two] = [await backend.open({}, {}), await backend.open({}, {})];
  backend.close(one.number);
  assert.deepEqual(ended, []);
  backend.close(two.number);
  assert.deepEqual(ended, ["worker", "backend"]);
});

test("outside of a page, a worker ends after a call that is stopped", async (t) => {
  const ended = [];
  const workers = [];
  globally(t, "Worker", class {
    constructor() {
      workers.push(this);
    }
    postMessage({ id, call }) {
      // It answers a stopped call, as it does any other.
      if (call === "abort") queueMicrotask(() => this.onmessage({ data: { id, failure: { message: "stopped" } } }));
    }
    terminate() {
      ended.push(workers.indexOf(this));
    }
  });
  const early = new RemoteBackend({}, () => {});
  await assert.rejects(early.open({}, { signal: AbortSignal.abort(new Error("early")) }), /early/);
  assert.deepEqual(ended, [0]);

  const abort = new AbortController();
  const late = new RemoteBackend({}, () => {});
  const opening = late.open({}, { signal: abort.signal });
  abort.abort(new Error("late"));
  await assert.rejects(opening, /late/);
  await new Promise(setImmediate);
  assert.deepEqual(ended, [0, 1]);
  // It is refused, not left without an answer.
  await assert.rejects(late.open({}, {}), { code: "worker" });
});

test("a worker that has ended does not end the one in its place", async (t) => {
  let ends = 0;
  globally(t, "Worker", class {
    postMessage({ id, call }) {
      if (call === "open") queueMicrotask(() => this.onmessage({ data: { id, result: { number: id } } }));
    }
    terminate() {}
  });
  const backend = new RemoteBackend({}, () => ends++);
  let worker;
  globally(t, "Worker", class extends Worker {
    constructor() {
      super();
      worker = this;
    }
  });
  const failing = new RemoteBackend({}, () => ends++);
  const { number } = await failing.open({}, {});
  worker.onerror({ message: "a fault" });
  assert.equal(ends, 1);
  // Another backend may have its name by now.
  failing.close(number);
  assert.equal(ends, 1);
  backend.close((await backend.open({}, {})).number);
  assert.equal(ends, 2);
});

test("outside of a page, a module comes through the caller's fetch, and no proxy is passed by", async (t) => {
  const place = "https://papir.invalid/papir.wasm";
  const outside = t.mock.method(globalThis, "fetch", failed);
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  const headers = { "content-type": "application/wasm" };

  const before = { ...process.env };
  Object.assign(process.env, { ALL_PROXY: "socks5://127.0.0.1:9", NO_PROXY: "", no_proxy: "" });
  t.after(() => {
    for (const name of ["ALL_PROXY", "NO_PROXY", "no_proxy"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });

  await assert.rejects(compile("all", true, place), { code: "bad_proxy" });
  const given = t.mock.fn(async () => new Response(empty, { headers }));
  assert(await compile("all", true, place, given));
  assert.deepEqual([given.mock.callCount(), outside.mock.callCount()], [1, 0]);
});

test("a file that is missing is named", async () => {
  await assert.rejects(compile("all", true, "file:///nowhere/papir/"), (error) => {
    return error instanceof PapirError && error.code === "module" && /papir-all-simd\.wasm.*expected papir's/.test(error.message);
  });
});

test("a module that is missing is told from one that a policy forbids", async (t) => {
  const report = page(t);
  const compiling = t.mock.method(WebAssembly, "compile", async () => {
    throw new Error("Refused to compile: neither 'wasm-unsafe-eval' nor 'unsafe-eval' is allowed");
  });
  const outcomes = [
    () => new Response("", { status: 404 }),
    failed,
    () => (report("connect-src", `${PAGE}/papir.wasm`), failed()),
    () => new Response(""),
  ];
  t.mock.method(globalThis, "fetch", async () => outcomes.shift()());
  const refused = () => compile("all", true, `${PAGE}/papir.wasm`).then(assert.fail, (error) => error);

  const [missing, away, forbidden, uncompiled] = [await refused(), await refused(), await refused(), await refused()];
  for (const error of [missing, away, forbidden, uncompiled]) assert.equal(error.code, "module");
  assert.match(missing.message, /HTTP 404: expected papir's WebAssembly module/);
  assert.match(away.message, /Failed to fetch: expected papir's WebAssembly module/);
  assert.deepEqual([away.retryable, forbidden.retryable], [true, false]);
  assert.match(forbidden.message, /policy whose connect-src allows it/);
  assert.match(uncompiled.message, /script-src 'wasm-unsafe-eval'/);

  compiling.mock.restore();
  outcomes.push(() => new Response("<!doctype html>"));
  assert.match((await refused()).message, /expected papir's WebAssembly module/);
});
