// Options, keys and values, without a service.

import assert from "node:assert/strict";
import test from "node:test";

import { built } from "./support.mjs";

const { serviceOf } = await built("address.js");
const { modulesOf, placeOf } = await built("module.js");
const { options, timeoutOf } = await built("options.js");
const { errorOf, withoutPasswords } = await built("errors.js");
const { chosenFetch, proxyVariable, remedy } = await built("proxy.js");
const { Turns, within } = await built("stopping.js");
const { decodeOutcomes, decodeValues, encodeWanted } = await built("wanted.js");
const { connect, PapirError } = await built("index.js");

test("options that do not exist or have another type are refused by name", async () => {
  const refused = (given, pattern) => assert.throws(() => options("http://x", given), pattern);
  refused({ tokn: "a" }, /unknown option `tokn`: expected one of database, token/);
  refused({ token: 7 }, /option `token`: expected a string, found number/);
  refused({ maxAge: -1 }, /expected a number of seconds/);
  refused({ witnesses: ["a", 1] }, /expected an array of strings/);
  refused({ patches: "yes" }, /option `patches`: expected "auto", "always" or "never", found "yes"/);
  assert.equal(options("http://x", {}).patches, "auto");
  await assert.rejects(connect(7), /expected an address as a string or a URL, found number/);
  await assert.rejects(connect("ftp://x", { worker: false }), (error) => {
    assert(error instanceof PapirError);
    return error.code === "bad_url" && error.name === "PapirError";
  });
});

test("the address of a service is without a database and slashes at its end", () => {
  for (const url of ["http://h/pir", "http://h/pir//", "http://h/pir/v1/databases", "http://h/pir//v1/databases/words/"]) {
    assert.equal(serviceOf(url), "http://h/pir", url);
  }
});

test("the timeout is in seconds, and limits the patience", () => {
  assert.deepEqual([undefined, null, 1.5, 0, 1e9].map(timeoutOf), [undefined, undefined, 1500, 0, undefined]);
  for (const wrong of [-1, NaN, "5"]) assert.throws(() => timeoutOf(wrong), /option `timeout`: expected a number of seconds/);
  const patience = (given, timeout) => options("http://x", given, timeout).patience;
  assert.deepEqual([patience({}, undefined), patience({}, 5000), patience({}, 90_000)], [null, 5, 60]);
  assert.deepEqual([patience({ patience: 2 }, 5000), patience({ patience: 9 }, 5000)], [2, 5]);
});

test("a call ends by its timeout or by the caller's signal, whichever comes first", async () => {
  const never = (signal) => new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  const late = () => new Error("late");
  await assert.rejects(within(1, undefined, late, never), /late/);
  await assert.rejects(within(1e6, AbortSignal.abort(new Error("stopped")), late, never), /stopped/);
  const caller = new AbortController();
  const stopped = within(1e6, caller.signal, late, never);
  caller.abort(new Error("stopped"));
  await assert.rejects(stopped, /stopped/);
  assert.equal(await within(1e6, caller.signal, late, async () => 7), 7);
});

test("keys and indices are encoded, and wrong ones refused", () => {
  const bytes = encodeWanted(["é", new Uint8Array([1, 2])], "key");
  assert.deepEqual([...bytes], [0, 2, 0, 0, 0, 0xc3, 0xa9, 0, 2, 0, 0, 0, 1, 2]);
  assert.deepEqual([...encodeWanted([258n], "index")], [1, 8, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual([...encodeWanted(["a"], "key", true)], [2, 1, 0, 0, 0, 0x61]);
  assert.equal(encodeWanted([0], "index", true)[0], 3);
  for (const wrong of [-1, 0.5, 2 ** 53, 2n ** 64n, "1", null]) {
    assert.throws(() => encodeWanted([wrong], "index"), /expected an index/, String(wrong));
  }
  for (const wrong of [1, null, undefined, [1]]) {
    assert.throws(() => encodeWanted([wrong], "key"), /expected a key/, String(wrong));
  }
});

test("absent values are null, empty ones are not", () => {
  assert.deepEqual(decodeValues(new Uint8Array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 9])), [
    null,
    new Uint8Array(),
    new Uint8Array([9]),
  ]);
});

test("an outcome is a value or an error, and values are those of lookups that all succeed", () => {
  const error = new TextEncoder().encode(JSON.stringify({ code: "index_out_of_range", message: "too large" }));
  const bytes = new Uint8Array([1, 1, 0, 0, 0, 9, 2, error.length, 0, 0, 0, ...error, 0, 0, 0, 0, 0]);
  const [value, failed, absent] = decodeOutcomes(bytes);
  assert.deepEqual([value, absent], [{ value: new Uint8Array([9]) }, { value: null }]);
  assert.deepEqual([failed.error.name, failed.error.code], ["PapirError", "index_out_of_range"]);
  assert.throws(() => decodeValues(bytes), { code: "index_out_of_range" });
});

test("the variable that names a proxy is found as by the other clients", () => {
  for (const [url, environment, expected] of [
    ["https://h", {}, undefined],
    ["https://h", { HTTPS_PROXY: "p" }, "HTTPS_PROXY"],
    ["http://h", { HTTPS_PROXY: "p" }, undefined],
    ["http://h", { HTTP_PROXY: "p", ALL_PROXY: "q" }, "HTTP_PROXY"],
    ["https://h", { HTTP_PROXY: "p", all_proxy: "q" }, "all_proxy"],
    ["https://h", { https_proxy: "", ALL_PROXY: "q" }, "ALL_PROXY"],
    ["http://localhost:1", { ALL_PROXY: "p" }, undefined],
    ["http://127.0.0.1:1", { ALL_PROXY: "p" }, undefined],
    ["http://[::1]:1", { ALL_PROXY: "p" }, undefined],
    ["http://127.0.0.1.example", { ALL_PROXY: "p" }, "ALL_PROXY"],
    ["https://h", { ALL_PROXY: "p", NO_PROXY: "*" }, undefined],
    ["https://a.example", { ALL_PROXY: "p", no_proxy: "x, .example" }, undefined],
    ["https://a.example", { ALL_PROXY: "p", no_proxy: "example:443" }, undefined],
    ["https://a.example:8443", { ALL_PROXY: "p", no_proxy: "example:443" }, "ALL_PROXY"],
    ["https://badexample", { ALL_PROXY: "p", no_proxy: "example" }, "ALL_PROXY"],
    ["https://10.0.0.1", { ALL_PROXY: "p", no_proxy: "0.0.1" }, "ALL_PROXY"],
    ["no address", { ALL_PROXY: "p" }, undefined],
  ]) {
    assert.equal(proxyVariable(url, environment), expected, `${url} ${JSON.stringify(environment)}`);
  }
});

test("a proxy of the environment is not passed by", async () => {
  const environment = { ALL_PROXY: "socks5://127.0.0.1:9" };
  assert.throws(() => chosenFetch("https://papir.invalid", undefined, environment), { code: "bad_proxy" });
  const own = () => {};
  assert.equal(chosenFetch("https://papir.invalid", own, environment), own);
  assert.throws(() => chosenFetch("https://papir.invalid", "own", environment), /expected a function, found string/);
  await assert.rejects(connect("https://papir.invalid", { fetch: own, worker: true }), /a worker cannot call it/);

  const before = { ...process.env };
  Object.assign(process.env, { ALL_PROXY: environment.ALL_PROXY, NO_PROXY: "", no_proxy: "" });
  try {
    await assert.rejects(connect("https://papir.invalid", { patience: 0 }), (error) => {
      return error instanceof PapirError && error.code === "bad_proxy" && /names a proxy/.test(error.message);
    });
  } finally {
    for (const name of ["ALL_PROXY", "NO_PROXY", "no_proxy"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
});

test("the refusal of a proxy names both ways to use it", () => {
  const refusal = (name, environment) => {
    try {
      chosenFetch("https://papir.invalid", undefined, environment);
    } catch (error) {
      return error.message;
    }
    return assert.fail(name);
  };
  const ofNode = refusal("https_proxy", { https_proxy: "http://p" });
  for (const part of ["https_proxy names a proxy", "NODE_USE_ENV_PROXY=1", "fetch: globalThis.fetch", "ProxyAgent"]) {
    assert(ofNode.includes(part), ofNode);
  }
  assert(!ofNode.includes("ignores"), ofNode);
  assert(refusal("ALL_PROXY", { ALL_PROXY: "http://p" }).includes("ignores ALL_PROXY"));

  for (const engine of ["Deno", "Bun"]) {
    const text = remedy("HTTPS_PROXY", { [engine]: {} });
    assert(text.includes(`the fetch of ${engine}`) && !text.includes("NODE_USE_ENV_PROXY"), text);
  }
});

test("errors show no passwords and no tokens", async () => {
  const token = `papir_${"5e".repeat(32)}`;
  for (const [text, expected] of [
    ["http://u:secret@h:1/a: refused", "http://u:***@h:1/a: refused"],
    ["http://u:sec@ret@h", "http://u:***@h"],
    ["http://u:sec/ret@h/d", "http://u:***@h/d"],
    ["`http://u:sec ret@h`: a space", "`http://u:***@h`: a space"],
    ["https://ghp_secret@h/a: refused", "https://***@h/a: refused"],
    ["https://sec@ret@h", "https://***@h"],
    ["https://secret:@h:80", "https://***:***@h:80"],
    ["http://h/?to=https://secret@i and s3://secret@b", "http://h/?to=https://***@i and s3://***@b"],
    ["postgres://papir@db/shop", "postgres://papir@db/shop"],
    ["postgresql://papir@db,db2/shop", "postgresql://papir@db,db2/shop"],
    ["https://@h", "https://@h"],
    ["http://me@i:secret@h/d", "http://***@i:***@h/d"],
    ["postgres://me@i:secret@h/d", "postgres://me@i:***@h/d"],
    ["postgres://papir@db:5432/shop, ask a@b", "postgres://papir@db:5432/shop, ask a@b"],
    ["host=h password='sec ret' user=u", "host=h password=*** user=u"],
    ["http://h/?token=secret&a=b", "http://h/?token=***&a=b"],
    [`Bearer ${token}`, "Bearer papir_***"],
    ["http://h:7470/users/@me", "http://h:7470/users/@me"],
    ["http://h: away, ask a@b", "http://h: away, ask a@b"],
    ["http://h:1, then http://i:2 and a@b", "http://h:1, then http://i:2 and a@b"],
    ["http://[::1]:80/@", "http://[::1]:80/@"],
  ]) {
    assert.equal(withoutPasswords(text), expected);
    assert.equal(errorOf({ group: "network", message: text }).message, expected);
  }

  assert.throws(
    () => options("https://h", { token: ["secret"] }),
    (error) => error instanceof TypeError && !error.message.includes("secret"),
  );
  const url = "http://user:secret@127.0.0.1:1";
  for (const given of [{ patience: 0 }, { timeout: 0 }]) {
    await assert.rejects(connect(url, given), (error) => error instanceof PapirError && !error.message.includes("secret"));
  }
});

test("addresses may be URLs, and lists frozen", () => {
  const given = options(new URL("https://lookup.example/papir"), { witnesses: Object.freeze(["a"]) });
  assert.deepEqual([given.url, given.witnesses], ["https://lookup.example/papir", ["a"]]);
  assert.equal(encodeWanted(Object.freeze(["a"]), "key").length, 6);
});

test("a relay is an address, and the gateway's keys are bytes for it", () => {
  const given = options("http://x", { relay: new URL("https://r.example/papir"), ohttpKeys: Buffer.from([0, 1, 255]) });
  assert.deepEqual([given.relay, given.ohttp_keys], ["https://r.example/papir", [0, 1, 255]]);
  assert.deepEqual(JSON.parse(JSON.stringify(given)), given);
  // The module refuses a longer list by its length.
  assert.equal(options("http://x", { relay: "https://r", ohttpKeys: new Uint8Array(1 << 24) }).ohttp_keys.length, 65_537);

  const refused = (given, pattern) => assert.throws(() => options("http://x", given), pattern);
  refused({ relay: 7 }, /option `relay`: expected an address as a string or a URL, found 7/);
  refused({ relay: "https://r", ohttpKeys: "AAEC" }, /option `ohttpKeys`: expected a Uint8Array/);
  refused({ ohttpKeys: new Uint8Array(3) }, /option `ohttpKeys`: it needs the option `relay`/);
});

test("an issuer is an address, and its token a secret", () => {
  const given = options("http://x", { issuer: new URL("https://i.example/"), issuerToken: "secret" });
  assert.deepEqual([given.issuer, given.issuer_token], ["https://i.example/", "secret"]);
  assert.deepEqual([options("http://x", {}).issuer, options("http://x", {}).issuer_token], [null, null]);

  const refused = (given, pattern) => assert.throws(() => options("http://x", given), pattern);
  refused({ issuer: 7 }, /option `issuer`: expected an address as a string or a URL, found 7/);
  refused({ issuer: "https://i.example", issuerToken: ["secret"] }, /option `issuerToken`: expected a string, found object$/);
  refused({ issuerToken: "secret" }, /option `issuerToken`: it needs the option `issuer`/);
});

test("requests through a relay, and those with tokens, have modules of their own", () => {
  const issuer = "https://i.example";
  for (const [peer, name] of [[{ isRelay: true }, "relay"], [{ issuer }, "tokens"], [{ isRelay: true, issuer }, "tokens"]]) {
    assert.deepEqual(modulesOf(undefined, peer), [name]);
    assert.deepEqual(modulesOf("https://app.example/papir/", peer), [name]);
    assert.deepEqual(modulesOf("https://app.example/papir.wasm", peer), ["all"]);
  }
});

test("the proxy of a variable is that for the relay, and for the issuer", async () => {
  const before = { ...process.env };
  Object.assign(process.env, { HTTPS_PROXY: "http://127.0.0.1:9", https_proxy: "", ALL_PROXY: "", all_proxy: "", NO_PROXY: "service.invalid", no_proxy: "" });
  try {
    for (const given of [{ relay: "https://relay.invalid" }, { issuer: "https://issuer.invalid" }]) {
      await assert.rejects(connect("https://service.invalid", given), { code: "bad_proxy" });
    }
  } finally {
    for (const name of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
});

test("the place of the modules is a folder, a module's address or a module", async () => {
  const empty = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
  for (const [given, place, modules] of [
    [undefined, undefined, ["short", "all"]],
    [null, undefined, ["short", "all"]],
    ["https://app.example/papir/", "https://app.example/papir/", ["short", "all"]],
    [new URL("https://app.example/papir.wasm"), "https://app.example/papir.wasm", ["all"]],
    [empty, empty, ["all"]],
  ]) {
    assert.deepEqual([placeOf(given), modulesOf(placeOf(given))], [place, modules]);
  }
  // Outside of a page there is no address that one may be relative to.
  for (const wrong of [7, {}, "papir/"]) {
    assert.throws(() => placeOf(wrong), /option `module`: expected an address or a WebAssembly.Module/, String(wrong));
    await assert.rejects(connect("http://127.0.0.1:9", { module: wrong }), TypeError);
  }
});

test("calls run one after the other, and leave nothing behind", async () => {
  const turns = new Turns();
  const order = [];
  const failing = turns.take(async () => (order.push(1), Promise.reject(new Error("first"))));
  const second = turns.take(async () => (order.push(2), "values"));
  await assert.rejects(failing, /first/);
  assert.equal(await second, "values");
  assert.deepEqual(order, [1, 2]);
  // What a call returns is its caller's alone.
  assert.equal(await turns.last, undefined);
});
