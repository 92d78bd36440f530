// Chromium, and pages of another origin than the service's.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { delimiter, extname, join, normalize } from "node:path";

import { chromium } from "playwright-core";

import { DIST } from "./support.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css" };
/** What the README says that a page needs. */
export const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' http://127.0.0.1:* https://127.0.0.1:*";

/** Longest wait for a page, in milliseconds: a busy machine starts Chromium's processes slowly. */
const PATIENCE = 180_000;

/** The program in CHROMIUM, else Debian's, else the first in the path. `tools/setup` looks for the same. */
function executable() {
  const folders = process.env.PATH.split(delimiter);
  const found = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) => folders.map((folder) => join(folder, name)));
  return process.env.CHROMIUM || ["/usr/bin/chromium", ...found].find(existsSync);
}

/** Starts Chromium until the end of the test. */
export async function browser(test, args = []) {
  const started = await chromium.launch({
    executablePath: executable(),
    args: ["--no-sandbox", "--no-proxy-server", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", ...args],
  });
  test.after(() => started.close());
  // The pages of a context wait as long, also for an address. `newPage` makes a context, too.
  const newContext = started.newContext.bind(started);
  started.newContext = async (...options) => {
    const context = await newContext(...options);
    context.setDefaultTimeout(PATIENCE);
    return context;
  };
  return started;
}

/** Serves the built package without the file `missing`, and a page, under an origin of its own. Returns the page's address. */
export async function origin(test, policy = POLICY, more = {}, html = "<!doctype html><title>page</title>", missing = undefined) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://x").pathname);
    const type = TYPES[extname(path)] ?? "text/html";
    const headers = { "content-type": type, "content-security-policy": policy, ...more };
    if (path === "/") return response.writeHead(200, headers).end(html);
    const name = path.replace(/^\/papir\//, "");
    const file = name === missing ? undefined : await readFile(join(DIST, name)).catch(() => undefined);
    response.writeHead(file ? 200 : 404, headers).end(file);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}/`;
}

/** Opens an empty page with `papir`, the package, and `open`, `get`: a database, and a value as text. */
export async function page(context, address) {
  const opened = await context.newPage();
  await opened.goto(address);
  await opened.evaluate(async () => {
    globalThis.papir = await import("/papir/index.js");
    globalThis.open = async (url, options) => {
      globalThis.database = await papir.connect(url, options);
      return { costs: database.costs, info: database.info, version: database.version };
    };
    globalThis.get = async (key) => {
      const value = await database.get(key);
      return value && new TextDecoder().decode(value);
    };
    globalThis.failure = (call) => call().then(() => "none", (error) => ({ name: error.name, code: error.code, message: error.message, retryable: error.retryable }));
  });
  return opened;
}
