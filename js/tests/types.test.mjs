// The declarations fit the code: its exports, and their use in TypeScript.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { built } from "./support.mjs";

test("the declarations are those of the code", async () => {
  const declared = readFileSync(new URL("../lib/index.d.ts", import.meta.url), "utf8");
  const names = [...declared.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(names.sort(), Object.keys(await built("index.js")).sort());
  const { options } = await built("options.js");
  const known = Object.keys(options("http://x", {}));
  const wanted = /export interface ConnectOptions \{([^}]*)\}/.exec(declared)[1];
  const documented = [...wanted.matchAll(/^ {2}(\w+)\?/gm)].map(([, name]) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`));
  assert.deepEqual(documented.filter((name) => !["fetch", "storage", "worker", "module", "signal", "timeout", "on_progress"].includes(name)).sort(), known.filter((name) => name !== "url").sort());
});

test("programs in TypeScript are checked", () => {
  const [tsc, types] = ["node_modules/.bin/tsc", "types.ts"].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  const flags = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
  const { status, stdout } = spawnSync(tsc, [...flags, types], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
});
