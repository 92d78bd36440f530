// The page of `papir serve --page`, as people use it.

import assert from "node:assert/strict";
import { cpSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect as connectTo } from "node:net";
import { basename, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { browser } from "./browser.mjs";
import { DIST, LIMIT, between, event, folder, fruit, papir, serve } from "./support.mjs";

/** The folder that `make page` builds. */
const PAGE = process.env.PAPIR_PAGE ?? fileURLToPath(new URL("../../target/page", import.meta.url));
/** The example of a form. */
const FORM = fileURLToPath(new URL("../../examples/breached-form", import.meta.url));
/** A folder for screenshots. */
const SCREENSHOTS = process.env.PAPIR_SCREENSHOTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The texts of elements by their ids. */
function texts(tab, ...ids) {
  return Promise.all(ids.map((id) => tab.textContent(`#${id}`)));
}

/** The first line of the response to a request for exactly this path. */
function statusLine(url, path) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connectTo({ host: hostname, port }, () => socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\n\r\n`));
    socket.on("data", (data) => (received += data)).on("error", reject).on("close", () => resolve(received.split("\r\n")[0]));
  });
}

/** The form in a folder, with the package beside it. Its service needs no module with all schemes. */
function formIn(path) {
  const form = join(path, "form");
  cpSync(FORM, form, { recursive: true });
  cpSync(DIST, join(form, "papir"), { recursive: true, filter: (from) => !basename(from).startsWith("papir-all") });
  return form;
}

async function ready(tab) {
  await tab.waitForSelector("#ask:not([disabled])");
}

test("a key is looked up by keyboard, and the page says what the service saw", async (t) => {
  const path = folder(t);
  const key = join(path, "owner.key");
  const owner = papir("checkpoint", "keygen", key, "--name", "tests/owner");
  const { url } = await serve(t, [fruit(path, ["--sign", key])], [`--page=${PAGE}`]);
  const tab = await (await browser(t)).newPage();
  const [errors, requests] = [[], []];
  tab.on("pageerror", (error) => errors.push(error.message));
  tab.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  tab.on("request", (request) => requests.push(new URL(request.url()).origin));
  await tab.goto(url);
  assert.equal(tab.url(), `${url}/page/`);
  await ready(tab);
  assert.equal(await tab.evaluate(() => document.activeElement.id), "key");
  assert.deepEqual([await tab.title(), ...(await texts(tab, "name"))], ["fruit: private lookup", "fruit"]);
  assert.match((await texts(tab, "key-hint", "cost")).join(" "), /^A key is what an entry of the database is filed under.*Nothing yet/);
  await tab.keyboard.type("apple");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#value:visible");
  assert.deepEqual(await texts(tab, "value", "status"), ["red", "Found."]);
  const seen = await texts(tab, "sent", "received");
  assert.match(seen.join(" "), /^[\d.]+ KiB [\d.]+ KiB$/);
  const [meaning, cost] = await texts(tab, "meaning", "cost");
  assert.match(meaning, /^This is what the database fruit holds for the key “apple”\./);
  assert.match(cost, new RegExp(`^Your last lookup sent ${seen[0]} of encrypted data, received ${seen[1]} and took [\\d.,]+ seconds\\.$`));
  await tab.fill("#key", "a key that is not there, and longer");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#absent:visible");
  assert.deepEqual(await texts(tab, "sent", "received", "status"), [...seen, "Not found."]);
  assert.deepEqual(await texts(tab, "absent"), ["The database fruit does not have the key “a key that is not there, and longer”."]);
  assert.equal(await tab.isVisible("#meaning"), false);
  assert((await tab.textContent("#owner")).startsWith(owner));
  assert.deepEqual(errors, []);
  assert.deepEqual([...new Set(requests)], [url]);
});

test("the page meets the rules of accessibility, wide and narrow, light and dark", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], [`--page=${PAGE}`]);
  const started = await browser(t);
  for (const colorScheme of ["light", "dark"]) {
    for (const [name, width] of [["wide", 1200], ["narrow", 360]]) {
      // axe is a script of the test's own, which the page's policy would refuse.
      const context = await started.newContext({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
      const tab = await context.newPage();
      await tab.goto(url);
      await ready(tab);
      await tab.fill("#key", "apple");
      await tab.click("#ask");
      await tab.waitForSelector("#value:visible");
      await tab.addScriptTag({ content: AXE });
      const { violations } = await tab.evaluate(() => axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), [], `${colorScheme} ${name}`);
      assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name}: it scrolls sideways`);
      if (SCREENSHOTS) await tab.screenshot({ path: join(SCREENSHOTS, `page-${name}-${colorScheme}.png`), fullPage: true });
    }
  }
});

test("several databases are chosen from, and a token is asked for", async (t) => {
  const path = folder(t);
  const tokens = join(path, "tokens.toml");
  const token = papir("tokens", tokens, "add", "--name", "tests").split(/\s/).at(-1);
  const other = join(path, "other.papir");
  renameSync(fruit(path, [], "blue"), other);
  const { url } = await serve(t, [fruit(path), other], [`--page=${PAGE}`, "--tokens", tokens]);
  const tab = await (await browser(t)).newPage();
  await tab.goto(`${url}/page/`);
  await tab.waitForSelector("#access:visible");
  await tab.fill("#token", "wrong");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("text=The service refuses this token.");
  await tab.fill("#token", token);
  await tab.keyboard.press("Enter");
  await ready(tab);
  await tab.selectOption("#database", "other");
  await tab.waitForSelector("text=Ready.");
  await ready(tab);
  await tab.fill("#key", "apple");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#value:visible");
  assert.equal(await tab.textContent("#value"), "blue");
  assert.deepEqual(await texts(tab, "name"), ["other"]);
});

test("a database without keys is looked up by number, and says which there are", async (t) => {
  const path = folder(t);
  const source = join(path, "table.csv");
  writeFileSync(source, "record\n" + Array.from({ length: 300 }, (_, i) => `record-${1000 + i}`).join("\n") + "\n");
  papir("build", source, "--value", "record", "--scheme", "inspire", "--out", join(path, "table.papir"));
  const { url } = await serve(t, [join(path, "table.papir")], [`--page=${PAGE}`]);
  const tab = await (await browser(t)).newPage();
  await tab.goto(url);
  await ready(tab);
  assert.deepEqual(await texts(tab, "key-label", "key-hint"), ["Number of the record", "The records of this database are numbered from 0 to 299."]);
  await tab.fill("#key", "299");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#value:visible");
  assert.match((await texts(tab, "value"))[0], /^record-1299/);
  assert.match((await texts(tab, "meaning"))[0], /holds for record 299\./);
});

test("the database that is chosen last is asked, whatever is under way", LIMIT, async (t) => {
  const path = folder(t);
  const other = join(path, "other.papir");
  renameSync(fruit(path, [], "blue"), other);
  const { url } = await serve(t, [fruit(path), other], [`--page=${PAGE}`]);
  const [connecting, asked, answering] = [event(), event(), event()];
  let isHeld = false;
  const holding = await between(t, url, async (request, body) => {
    const [asksFor] = request.url.split("?");
    if (asksFor.endsWith("/other/public")) await connecting.happened;
    if (isHeld && asksFor.endsWith("/query")) {
      asked.happen();
      await answering.happened;
    }
    return body;
  });
  const tab = await (await browser(t)).newPage();
  const errors = [];
  tab.on("pageerror", (error) => errors.push(error.message));
  // The page hears of an answer after this.
  await tab.addInitScript(() => {
    globalThis.answers = 0;
    globalThis.Worker = class extends Worker {
      constructor(...given) {
        super(...given);
        this.addEventListener("message", ({ data }) => (answers += data.progress ? 0 : 1));
      }
    };
  });
  const answered = (count) => tab.waitForFunction((count) => answers === count, count);
  await tab.goto(`${holding}/page/`);
  await ready(tab);

  // Another choice while the page connects.
  await tab.selectOption("#database", "other");
  await tab.selectOption("#database", "fruit");
  await ready(tab);
  connecting.happen();
  await answered(3);
  await tab.fill("#key", "apple");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#value:visible");
  assert.equal(await tab.textContent("#value"), "red");

  // Another choice while a lookup is under way.
  isHeld = true;
  await tab.keyboard.press("Enter");
  await asked.happened;
  // The answer of the lookup before is not shown for this one.
  assert.equal(await tab.isVisible("#answer"), false);
  await tab.selectOption("#database", "other");
  await ready(tab);
  answering.happen();
  await answered(6);
  assert.deepEqual(await texts(tab, "status"), ["Ready."]);
  assert.equal(await tab.isVisible("#value"), false);
  assert.deepEqual(errors, []);
});

test("the page is served with a strict policy, compressed, and beside it nothing else", async (t) => {
  const { url } = await serve(t, [fruit(folder(t))], [`--page=${PAGE}`]);
  const response = await fetch(`${url}/page/papir/papir-simd.wasm`, { headers: { "accept-encoding": "gzip" } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/wasm");
  assert.equal(response.headers.get("content-encoding"), "gzip");
  const policy = response.headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
  // As they are: `fetch` would resolve the dots.
  for (const path of ["/page/../Cargo.toml", "/page/%2e%2e/Cargo.toml", "/page/..%2fCargo.toml", "/page//etc/passwd", "/page/none"]) {
    assert.match(await statusLine(url, path), /^HTTP\/1\.1 404 /, path);
  }
  assert.match(await statusLine(url, "/page/index.html"), /^HTTP\/1\.1 200 /);
  const bare = await fetch(`${url}/page`, { redirect: "manual" });
  assert.deepEqual([bare.status, bare.headers.get("location")], [307, "page/"]);
  // A browser that keeps no file asks for none by its date, which a rollback may turn back.
  assert.equal((await fetch(`${url}/page/page.js`)).headers.get("cache-control"), "no-store");
  const without = await serve(t, [fruit(folder(t))]);
  assert.equal((await fetch(`${without.url}/page/`)).status, 404);
});

test("the form of the example warns of a leaked password, and of no other", async (t) => {
  const path = folder(t);
  const passwords = join(path, "passwords.csv");
  writeFileSync(passwords, "password,rank\n123456,1\nletmein,7\n");
  const snapshot = join(path, "passwords.papir");
  papir("build", passwords, "--key", "password", "--value", "rank", "--scheme", "inspire", "--out", snapshot);
  const { url } = await serve(t, [snapshot], [`--page=${formIn(path)}`]);
  const tab = await (await browser(t)).newPage();
  await tab.goto(`${url}/page/`);
  await tab.fill("#email", "somebody@example.org");
  await tab.fill("#password", "letmein");
  await tab.keyboard.press("Tab");
  await tab.waitForSelector("text=This password has leaked: it is number 7 of the most common ones.");
  await tab.click("button");
  assert.equal(await tab.textContent("#done"), "");
  await tab.fill("#password", "a password of my own");
  await tab.click("button");
  await tab.waitForSelector("text=Account created.");
  assert.equal(await tab.getAttribute("#password", "aria-invalid"), "false");
});

test("the form checks again after a failure, and a password that changes meanwhile", LIMIT, async (t) => {
  const path = folder(t);
  const { url } = await serve(t, [fruit(path)], [`--page=${formIn(path)}`]);
  const [asked, answering] = [event(), event()];
  const service = await between(t, url, async (request, body) => {
    if (!request.url.endsWith("/query")) return body;
    asked.happen();
    await answering.happened;
    return body;
  });
  const tab = await (await browser(t)).newPage();
  let away = true;
  await tab.context().route("**/v1/**", (route) => (away ? route.abort() : route.continue()));
  await tab.goto(`${service}/page/`);
  await tab.fill("#email", "somebody@example.org");
  await tab.fill("#password", "fruit-17");
  await tab.keyboard.press("Tab");
  await tab.waitForSelector("text=The check is not available now.");
  away = false;
  await tab.fill("#password", "a password of my own");
  await tab.click("button");
  await asked.happened;
  await tab.fill("#password", "fruit-17");
  answering.happen();
  await tab.waitForSelector("text=This password has leaked");
  assert.equal(await tab.textContent("#done"), "");
});
