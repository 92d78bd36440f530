// What a release promises: the modules' lengths, and one version everywhere.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { DIST } from "./support.mjs";

/** Longest module with the schemes of most services, compressed. */
const MOST_BYTES = 500 << 10;
const MODULES = ["papir.wasm", "papir-simd.wasm"];
/** Longest module with all schemes, compressed. */
const MOST_ALL_BYTES = 650 << 10;
const ALL_MODULES = ["papir-all.wasm", "papir-all-simd.wasm"];
/** Longest module with requests through relays, compressed: these have ciphers, too. */
const MOST_RELAY_BYTES = 800 << 10;
const RELAY_MODULES = ["papir-relay.wasm", "papir-relay-simd.wasm"];
/** Longest module with tokens of issuers, compressed: these have blind signatures, too. */
const MOST_TOKENS_BYTES = 950 << 10;
const TOKENS_MODULES = ["papir-tokens.wasm", "papir-tokens-simd.wasm"];
/** The limit of each module. */
const LIMITS = [
  [MODULES, MOST_BYTES],
  [ALL_MODULES, MOST_ALL_BYTES],
  [RELAY_MODULES, MOST_RELAY_BYTES],
  [TOKENS_MODULES, MOST_TOKENS_BYTES],
];

test("modules are short", { skip: process.env.PAPIR_RELEASED ? false : "only released modules are" }, (t) => {
  for (const [names, most] of LIMITS) {
    for (const name of names) {
      const { length } = gzipSync(readFileSync(join(DIST, name)), { level: 9 });
      t.diagnostic(`${name}: ${length} bytes compressed`);
      assert(length <= most, `${name}: ${length} bytes`);
    }
  }
});

test("the package has every file that it names, and papir's version", () => {
  const description = JSON.parse(readFileSync(join(DIST, "package.json")));
  const workspace = readFileSync(new URL("../../Cargo.toml", import.meta.url), "utf8");
  assert.equal(description.version, /^version = "(.*)"$/m.exec(workspace)[1]);
  for (const file of [description.types, description.exports["."].default, "worker.js", "README.md", "LICENSE-MIT"]) {
    assert(existsSync(join(DIST, file)), file);
  }
});
