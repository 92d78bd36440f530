// Lookups from pages in Chromium, in services on another origin.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { POLICY, browser, origin, page } from "./browser.mjs";
import { DIST, LIMIT, PATIENCE_MILLISECONDS, between, demanding, folder, fruit, issuer, papir, relay, serve } from "./support.mjs";

const ANY = ["--allow-origin", "*"];

test("keys are looked up in a worker, and the page's thread does nothing with WebAssembly", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const context = await (await browser(t)).newContext();
  // A worker has functions of its own, which are not watched.
  await context.addInitScript(() => {
    globalThis.done = [];
    for (const name of ["compile", "compileStreaming", "instantiate", "instantiateStreaming", "Module", "Instance"]) {
      WebAssembly[name] = new Proxy(WebAssembly[name], {
        apply: (call, self, given) => (done.push(name), Reflect.apply(call, self, given)),
        construct: (call, given) => (done.push(name), Reflect.construct(call, given)),
      });
    }
  });
  const tab = await page(context, await origin(t));
  const violations = [];
  tab.on("console", (message) => message.text().includes("Content Security Policy") && violations.push(message.text()));

  const start = await tab.evaluate(async (url) => {
    const start = performance.now();
    await open(url);
    const value = await get("apple");
    return { value, milliseconds: performance.now() - start };
  }, url);
  assert.equal(start.value, "red");
  t.diagnostic(`from connect to the first value: ${Math.round(start.milliseconds)} ms`);
  assert.equal(await tab.evaluate(() => get("no such fruit")), null);
  assert.deepEqual(await tab.evaluate(() => Promise.all(["fruit-1", "fruit-2"].map(get))), ["colour-1", "colour-2"]);
  assert.equal(tab.workers().length, 1);
  assert.deepEqual(await tab.evaluate(() => done), []);
  assert.deepEqual(violations, []);

  // Without a worker it would be seen.
  await tab.evaluate((url) => open(url, { worker: false }), url);
  assert.deepEqual(await tab.evaluate(() => done), ["compileStreaming", "instantiate"]);
});

test("a token and TLS work across origins, and an origin that is not allowed does not", async (t) => {
  const path = folder(t);
  const [certificate, key, tokens] = ["cert.pem", "key.pem", "tokens.toml"].map((name) => join(path, name));
  const made = spawnSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate]);
  assert.equal(made.status, 0, String(made.stderr));
  const token = papir("tokens", tokens, "add", "--name", "tests").split(/\s/).at(-1);
  const own = await origin(t);
  const flags = ["--tls-cert", certificate, "--tls-key", key, "--tokens", tokens, "--allow-origin", own.replace(/\/$/, "")];
  const { url } = await serve(t, [fruit(path)], flags);
  const context = await (await browser(t)).newContext({ ignoreHTTPSErrors: true });
  const tab = await page(context, own);
  await tab.evaluate(([url, token]) => open(url, { token }), [url, token]);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
  const refused = await tab.evaluate((url) => failure(() => open(url)), url);
  assert.deepEqual([refused.name, refused.code], ["NetworkError", "unauthorized"]);
  const foreign = await page(context, await origin(t));
  const blocked = await foreign.evaluate(([url, token]) => failure(() => open(url, { token, patience: 0.1 })), [url, token]);
  assert.deepEqual([blocked.name, blocked.code], ["NetworkError", "origin_refused"]);
  assert.match(blocked.message, /start it with --allow-origin http:\/\/127\.0\.0\.1:\d+$/);
  const away = await foreign.evaluate(() => failure(() => open("http://127.0.0.1:9", { patience: 0.1 })));
  assert.deepEqual([away.name, away.code], ["NetworkError", "transport"]);
});

const WITHOUT_VECTORS = existsSync(join(DIST, "papir.wasm")) ? false : "this build has no such module";

test("vectors that the browser does not have are not needed", { skip: WITHOUT_VECTORS }, async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  // WebAssembly has no vectors on a processor without these instructions.
  const old = await browser(t, ["--js-flags=--no-enable-sse3 --no-enable-ssse3 --no-enable-sse4-1 --no-enable-sse4-2 --no-enable-avx"]);
  const tab = await page(await old.newContext(), await origin(t));
  const { hasVectors, value } = await tab.evaluate(async (url) => {
    const { hasVectors } = await import("/papir/module.js");
    await open(url);
    return { hasVectors: hasVectors(), value: await get("apple") };
  }, url);
  assert.deepEqual([hasVectors, value], [false, "red"]);
});

test("an update under way is followed, and two tabs see it", async (t) => {
  const path = folder(t);
  const snapshot = fruit(path);
  const { url } = await serve(t, [snapshot], [...ANY, "--watch", "--keep-old", "0"]);
  const context = await (await browser(t)).newContext();
  const address = await origin(t);
  const tabs = [await page(context, address), await page(context, address)];
  await Promise.all(tabs.map((tab) => tab.evaluate((url) => open(url), url)));
  assert.deepEqual(await Promise.all(tabs.map((tab) => tab.evaluate(() => get("apple")))), ["red", "red"]);
  fruit(path, [], "green");
  for (const tab of tabs) {
    const deadline = Date.now() + PATIENCE_MILLISECONDS;
    while ((await tab.evaluate(() => get("apple"))) !== "green") assert(Date.now() < deadline, "the old version stays");
  }
});

test("the owner's key is remembered by all tabs, also after a reload", async (t) => {
  const path = folder(t);
  const keys = ["owner", "thief"].map((name) => join(path, name));
  keys.forEach((key) => papir("checkpoint", "keygen", key, "--name", "tests/owner"));
  const context = await (await browser(t)).newContext();
  const address = await origin(t);
  const services = [await serve(t, [fruit(path, ["--sign", keys[0]])], ANY)];
  // One address for both services: another program may get the first one's port once it has ended.
  const url = await between(t, () => services.at(-1).url, async (request, body) => body);
  const tabs = [await page(context, address), await page(context, address)];
  const opened = await Promise.all(tabs.map((tab) => tab.evaluate((url) => open(url), url)));
  assert.equal(opened.length, 2);
  await services[0].stop();
  services.push(await serve(t, [fruit(folder(t), ["--sign", keys[1]])], ANY));
  const later = await page(context, address);
  const refused = await later.evaluate((url) => failure(() => open(url)), url);
  assert.equal(refused.name, "VerificationError", JSON.stringify(refused));
});

test("a public part is fetched once, with progress, and kept for the next visit", async (t) => {
  const { url } = await serve(t, [fruit(folder(t), ["--scheme", "simple"])], ANY);
  const context = await (await browser(t)).newContext();
  const address = await origin(t);
  const visit = async () => {
    const tab = await page(context, address);
    return tab.evaluate(async (url) => {
      const progress = [];
      const { costs } = await open(url, { onProgress: (one) => progress.push(one) });
      return { bytes: costs.publicBytes, last: progress.at(-1), value: await get("apple") };
    }, url);
  };
  const [first, second] = [await visit(), await visit()];
  assert(first.bytes > 64 << 10 && first.last.received === first.last.total, JSON.stringify(first));
  assert.deepEqual([second.bytes, second.last, second.value], [0, undefined, "red"]);
});

test("a page goes on at another server while one is away", async (t) => {
  const path = folder(t);
  const key = join(path, "owner.key");
  const owner = papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const file = fruit(path, ["--sign", key]);
  const services = [await serve(t, [file], ANY), await serve(t, [file], ANY)];
  const urls = services.map(({ url }) => url);
  const tab = await page(await (await browser(t)).newContext(), await origin(t));

  await tab.evaluate(([urls, owner]) => open(urls, { owner, patience: 0 }), [urls, owner]);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
  await services[0].stop();
  assert.equal(await tab.evaluate(() => get("apple")), "red");
  await services[1].stop();
  const away = await tab.evaluate(() => failure(() => get("apple")));
  assert.deepEqual([away.name, away.code, away.retryable], ["NetworkError", "no_server", true]);
  assert(urls.every((url) => away.message.includes(url)), away.message);
});

test("a service that lies gives an error, and no value", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const lying = await between(t, url, async (request, body) => {
    if (request.method === "POST") body[body.length >> 1] ^= 1;
    return body;
  });
  const tab = await page(await (await browser(t)).newContext(), await origin(t));
  await tab.evaluate((url) => open(url), lying);
  assert.equal((await tab.evaluate(() => failure(() => get("apple")))).code, "checksum");
});

test("without a network the error may pass, and the next lookup works", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const context = await (await browser(t)).newContext();
  const tab = await page(context, await origin(t));
  await tab.evaluate((url) => open(url, { patience: 0.5 }), url);
  await context.setOffline(true);
  const failed = await tab.evaluate(() => failure(() => get("apple")));
  assert.deepEqual([failed.name, failed.retryable], ["NetworkError", true]);
  await context.setOffline(false);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
});

test("a page looks up through a relay, and asks nothing of the service", async (t) => {
  const path = folder(t);
  // It allows no page of another origin.
  const { url } = await serve(t, [fruit(path)], ["--ohttp", join(path, "ohttp.toml")]);
  const carrier = await relay(t, [url]);
  const context = await (await browser(t)).newContext();
  const tab = await page(context, await origin(t));
  const asked = [];
  context.on("request", (request) => asked.push(request.url()));
  for (const worker of [true, false]) {
    await tab.evaluate(([url, relay, worker]) => open(url, { relay, worker }), [url, carrier.url, worker]);
    assert.equal(await tab.evaluate(() => get("apple")), "red");
  }
  assert(asked.includes(`${carrier.url}/${new URL(url).host}`), asked.join());

  const away = await tab.evaluate((url) => failure(() => open(url, { relay: "http://127.0.0.1:9", patience: 0 })), url);
  assert.deepEqual([away.name, away.code], ["NetworkError", "relay"], JSON.stringify(away));
  assert(asked.every((address) => !address.startsWith(`${url}/`)), asked.join());
});

test("tabs share the tokens of an issuer, also after a reload, and spend each once", LIMIT, async (t) => {
  const path = folder(t);
  const given = await issuer(t, path);
  const batches = [];
  const issuing = await between(t, given.issuer, ({ method }, body) => (method === "POST" && batches.push(body.length), body));
  const service = await demanding(t, path, issuing, ANY);
  const spent = [];
  const url = await between(t, service, ({ headers }, body) => (headers.authorization && spent.push(headers.authorization), body));
  const context = await (await browser(t)).newContext();
  const address = await origin(t);
  const look = (tab) => {
    return tab.evaluate(async ([url, options]) => {
      await open(url, options);
      const values = [];
      for (const key of ["apple", "fruit-1", "fruit-2"]) values.push(await get(key));
      return values;
    }, [url, { ...given, issuer: issuing }]);
  };

  const tabs = [await page(context, address), await page(context, address)];
  const found = await Promise.all(tabs.map(look));
  for (const tab of tabs) await tab.close();
  found.push(await look(await page(context, address)));
  assert.deepEqual(found, Array(3).fill(["red", "colour-1", "colour-2"]));
  assert.equal(batches.length, 1);
  assert.deepEqual([spent.length, new Set(spent).size], [9, 9]);
  assert(spent.every((header) => header.startsWith("PrivateToken ")), spent.join());
});

test("a slow line is waited for", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const slow = await between(t, url, async (request, body, response) => {
    if (request.method !== "POST") return body;
    await new Promise((resolve) => setTimeout(resolve, 1000));
    response.writeHead(200, { "content-type": "application/octet-stream", "access-control-allow-origin": "*" });
    for (let start = 0; start < body.length; start += 4096) {
      response.write(body.subarray(start, start + 4096));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    response.end();
    return undefined;
  });
  const tab = await page(await (await browser(t)).newContext(), await origin(t));
  await tab.evaluate((url) => open(url), slow);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
});

test("a page that forbids workers is told so, and looks up without one", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const address = await origin(t, POLICY.replace("worker-src 'self'", "worker-src 'none'"));
  const tab = await page(await (await browser(t)).newContext(), address);
  for (let attempt = 0; attempt < 2; attempt++) {
    const refused = await tab.evaluate((url) => failure(() => open(url)), url);
    assert.equal(refused.code, "worker", JSON.stringify(refused));
    assert.match(refused.message, /policy forbids it: add 'self' to worker-src.*worker: false/);
  }
  await tab.evaluate((url) => open(url, { worker: false }), url);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
});

test("a page without the worker's file is told which is missing", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const address = await origin(t, POLICY, {}, undefined, "worker.js");
  const tab = await page(await (await browser(t)).newContext(), address);
  const refused = await tab.evaluate((url) => failure(() => open(url)), url);
  assert.equal(refused.code, "worker", JSON.stringify(refused));
  assert.match(refused.message, /papir\/worker\.js: HTTP 404: expected papir's file worker\.js/);
});

test("a policy that forbids the service, or WebAssembly, is named", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const context = await (await browser(t)).newContext();
  const own = POLICY.replace(/connect-src .*/, "connect-src 'self'");
  const without = POLICY.replace(" 'wasm-unsafe-eval'", "");
  for (const worker of [true, false]) {
    const unconnected = await page(context, await origin(t, own));
    const refused = await unconnected.evaluate(([url, worker]) => failure(() => open(url, { worker })), [url, worker]);
    assert.deepEqual([refused.name, refused.code], ["NetworkError", "policy"], JSON.stringify(refused));
    assert.match(refused.message, /add http:\/\/127\.0\.0\.1:\d+ to connect-src/);
    const uncompiled = await page(context, await origin(t, without));
    const forbidden = await uncompiled.evaluate(([url, worker]) => failure(() => open(url, { worker })), [url, worker]);
    assert.equal(forbidden.code, "module", JSON.stringify(forbidden));
    assert.match(forbidden.message, /script-src 'wasm-unsafe-eval'/);
  }
});

test("papir's files may lie in another folder, and a module may be given", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const tab = await page(await (await browser(t)).newContext(), await origin(t));
  // The server of the tests has the files in both folders.
  await tab.evaluate((url) => open(url, { module: "/" }), url);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
  assert.deepEqual(tab.workers().map((worker) => new URL(worker.url()).pathname), ["/worker.js"]);
  await tab.evaluate(async (url) => open(url, { module: await WebAssembly.compileStreaming(fetch("/papir-simd.wasm")) }), url);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
});

test("the page's thread compiles and instantiates no module at once", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const context = await (await browser(t)).newContext();
  // As Chromium does for modules of more than 8 MiB.
  await context.addInitScript(() => {
    for (const name of ["Module", "Instance"]) {
      WebAssembly[name] = class extends WebAssembly[name] {
        constructor() {
          throw new RangeError(`WebAssembly.${name} is disallowed on the main thread`);
        }
      };
    }
  });
  const tab = await page(context, await origin(t));
  await tab.evaluate((url) => Promise.all([1, 2].map(() => open(url, { worker: false }))), url);
  assert.equal(await tab.evaluate(() => get("apple")), "red");
});

test("a lookup that is stopped while another tab has the lock leaves the lock free", LIMIT, async (t) => {
  const path = folder(t);
  const key = join(path, "owner.key");
  papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const { url } = await serve(t, [fruit(path, ["--sign", key])], ANY);
  const context = await (await browser(t)).newContext();
  const address = await origin(t);
  const [holder, waiter] = [await page(context, address), await page(context, address)];
  // Without a worker, so that the test sees the lock's name.
  const name = await waiter.evaluate(async (url) => {
    const request = navigator.locks.request.bind(navigator.locks);
    navigator.locks.request = (name, ...more) => request((globalThis.locked = name), ...more);
    await open(url, { worker: false });
    // The next connection pins the key again.
    await new Promise((removed) => (indexedDB.deleteDatabase("papir").onsuccess = removed));
    return locked;
  }, url);
  await holder.evaluate((name) => {
    return new Promise((held) => {
      navigator.locks.request(name, () => new Promise((release) => (globalThis.release = release, held())));
    });
  }, name);
  const locks = () => waiter.evaluate(() => navigator.locks.query());

  const stopped = waiter.evaluate((url) => {
    globalThis.stopper = new AbortController();
    return failure(() => papir.connect(url, { signal: stopper.signal, worker: false }));
  }, url);
  while ((await locks()).pending.length === 0);
  await waiter.evaluate(() => stopper.abort());
  assert.equal((await stopped).name, "AbortError");

  // The browser hears of the release a moment later.
  await holder.evaluate(() => release());
  while ((await locks()).held.length > 0);
  await waiter.evaluate((url) => open(url, { worker: false }), url);
});

test("an error of the page's own progress function fails no lookup", async (t) => {
  const { url } = await serve(t, [fruit(folder(t), ["--scheme", "simple"])], ANY);
  const tab = await page(await (await browser(t)).newContext(), await origin(t));
  const errors = [];
  tab.on("pageerror", (error) => errors.push(error.message));
  for (const worker of [true, false]) {
    await tab.evaluate(([url, worker]) => {
      const onProgress = () => {
        throw new Error("a bug of the page");
      };
      return open(url, { worker, cache: false, onProgress });
    }, [url, worker]);
    assert.equal(await tab.evaluate(() => get("apple")), "red");
    assert(errors.splice(0).every((message) => message === "a bug of the page"));
  }
});

test("a package of another origin is told that workers need the page's own", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], ANY);
  const elsewhere = await origin(t, POLICY, { "access-control-allow-origin": "*" });
  const anywhere = POLICY.replace("script-src 'self'", "script-src *");
  const tab = await page(await (await browser(t)).newContext(), await origin(t, anywhere));
  const outcome = await tab.evaluate(async ([elsewhere, url]) => {
    const { connect } = await import(`${elsewhere}papir/index.js`);
    const refused = await failure(() => connect(url));
    const database = await connect(url, { worker: false });
    return { refused, value: new TextDecoder().decode(await database.get("apple")) };
  }, [elsewhere, url]);
  assert.deepEqual([outcome.refused.name, outcome.refused.code, outcome.value], ["PapirError", "worker", "red"]);
});
