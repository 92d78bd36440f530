// What a release promises: the modules' lengths, and one version everywhere.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { DIST } from "./support.mjs";

/** Longest module, compressed. */
const MOST_BYTES = 600 << 10;
const MODULES = ["papir.wasm", "papir-simd.wasm", "papir-all.wasm", "papir-all-simd.wasm"];
/** Longest module with requests through relays, compressed: these have ciphers, too. */
const MOST_RELAY_BYTES = 800 << 10;
const RELAY_MODULES = ["papir-relay.wasm", "papir-relay-simd.wasm"];

test("modules are short", { skip: process.env.PAPIR_RELEASED ? false : "only released modules are" }, (t) => {
  for (const name of [...MODULES, ...RELAY_MODULES]) {
    const { length } = gzipSync(readFileSync(join(DIST, name)), { level: 9 });
    t.diagnostic(`${name}: ${length} bytes compressed`);
    assert(length <= (RELAY_MODULES.includes(name) ? MOST_RELAY_BYTES : MOST_BYTES), `${name}: ${length} bytes`);
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
