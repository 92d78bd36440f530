// The page of the guide in docs/browser.md.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import test from "node:test";

import { browser, origin } from "./browser.mjs";
import { folder, papir, serve } from "./support.mjs";

const GUIDE = readFileSync(new URL("../../docs/browser.md", import.meta.url), "utf8");
/** A page without a policy of its own, as in the guide. */
const ANYTHING = "script-src * 'unsafe-inline' 'wasm-unsafe-eval'";

/** The text between two others in the guide. */
function between(start, end) {
  const [, rest] = GUIDE.split(start);
  assert(rest?.includes(end), `docs/browser.md has no ${start}`);
  return rest.split(end)[0];
}

test("the page of the guide looks up a key", async (t) => {
  const path = folder(t);
  const build = between("\npapir build ", "\n").split(" ").map((word) => word.replace(/^words\./, `${path}/words.`));
  writeFileSync(`${path}/words.csv`, between("printf '", "'").replaceAll("\\n", "\n"));
  papir("build", ...build);
  const { url } = await serve(t, [`${path}/words.papir`], ["--allow-origin", "*"]);
  const html = between("> site/index.html <<'END'\n", "\nEND\n").replace("http://127.0.0.1:7470", url);
  const tab = await (await browser(t)).newPage();
  await tab.goto(await origin(t, ANYTHING, {}, html));
  for (const [key, value] of [["apple", "a fruit"], ["moss", "absent"]]) {
    await tab.getByLabel("Key").fill(key);
    await tab.getByLabel("Key").press("Enter");
    await tab.waitForFunction((value) => document.getElementById("value").textContent === value, value);
  }
});
