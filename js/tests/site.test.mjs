// The documentation site (make site), as people read it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import test from "node:test";

import { browser } from "./browser.mjs";

/** The folder that `make site` builds. Without it nothing is tested: another folder could hold an old site. */
const SITE = process.env.PAPIR_SITE;
/** A folder for screenshots. */
const SCREENSHOTS = process.env.PAPIR_SCREENSHOTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const skip = SITE ? false : "only with PAPIR_SITE";

/** Pages with figures, wide tables and code. */
const PAGES = ["index", "concepts", "compare", "capacity", "faq"];
const TYPES = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml" };

/** Serves the site until the end of the test. Returns its address. */
async function served(test) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
    try {
      const body = await readFile(join(SITE, path.endsWith("/") ? `${path}index.html` : path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

/** Opens a tab that records errors, failed requests, and requests to other hosts. */
async function watched(context, url) {
  const tab = await context.newPage();
  const faults = [];
  tab.on("pageerror", (error) => faults.push(error.message));
  tab.on("request", (request) => request.url().startsWith(url) || request.url().startsWith("data:") || faults.push(request.url()));
  tab.on("response", (response) => response.status() < 400 || faults.push(`${response.status()} ${response.url()}`));
  return { tab, faults };
}

test("pages meet the rules of accessibility, wide and narrow, light and dark", { skip }, async (t) => {
  const url = await served(t);
  const started = await browser(t);
  for (const colorScheme of ["light", "dark"]) {
    for (const [name, width] of [["wide", 1280], ["narrow", 375]]) {
      const context = await started.newContext({ colorScheme, viewport: { width, height: 900 }, reducedMotion: "reduce" });
      for (const page of PAGES) {
        const { tab, faults } = await watched(context, url);
        await tab.goto(`${url}/${page}.html`, { waitUntil: "networkidle" });
        const where = `${page} ${name} ${colorScheme}`;
        assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${where}: it scrolls sideways`);
        if (SCREENSHOTS) await tab.screenshot({ path: join(SCREENSHOTS, `site-${page}-${name}-${colorScheme}.png`), fullPage: true });
        await tab.addScriptTag({ content: AXE });
        // The theme puts the buttons that copy code into landmarks without names.
        const { violations } = await tab.evaluate(() => axe.run({ exclude: [".md-code__nav"] }));
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), [], where);
        assert.deepEqual(faults, [], where);
        await tab.close();
      }
      await context.close();
    }
  }
});

test("the search finds pages without another host", { skip }, async (t) => {
  const url = await served(t);
  const { tab, faults } = await watched(await browser(t), url);
  await tab.goto(`${url}/index.html`);
  await tab.click("[data-md-component=search-query]");
  await tab.keyboard.type("pirouette");
  await tab.waitForSelector(".md-search-result__link[href*='schemes.html']");
  assert.deepEqual(faults, []);
});
