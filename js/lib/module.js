// Finds and compiles the WebAssembly modules beside this file.

import { NetworkError } from "./errors.js";

// A function that returns a vector: () -> v128, `i32.const 0`, `i32x4.splat`.
const VECTORS = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, // magic, version
  1, 5, 1, 96, 0, 1, 123, // types
  3, 2, 1, 0, // functions
  10, 8, 1, 6, 0, 65, 0, 253, 17, 11, // code
]);

/** Whether this engine has vectors of 128 bits. */
export function hasVectors() {
  return WebAssembly.validate(VECTORS);
}

// Bundlers recognize addresses in this form.
const ADDRESSES = {
  "short": () => new URL("./papir.wasm", import.meta.url),
  "short-simd": () => new URL("./papir-simd.wasm", import.meta.url),
  "all": () => new URL("./papir-all.wasm", import.meta.url),
  "all-simd": () => new URL("./papir-all-simd.wasm", import.meta.url),
};

const FILES = "node:fs/promises";
const compiled = new Map();

/** The module with the schemes of most services (`short`), or with all (`all`). */
export function compile(schemes, simd = hasVectors()) {
  const name = simd ? `${schemes}-simd` : schemes;
  if (!compiled.has(name)) {
    const module = compileFrom(ADDRESSES[name]());
    compiled.set(name, module);
    module.catch(() => compiled.delete(name));
  }
  return compiled.get(name);
}

async function compileFrom(url) {
  if (url.protocol === "file:") {
    // Only in Node. Bundlers for browsers must not look for it.
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ FILES);
    return WebAssembly.compile(await readFile(url));
  }
  const missing = (reason) => {
    const message = `${url}: ${reason}: expected papir's WebAssembly module`;
    return new NetworkError(message, { code: "module", retryable: true });
  };
  const response = await fetch(url).catch((error) => {
    throw missing(error.message);
  });
  if (!response.ok) throw missing(`HTTP ${response.status}`);
  // Streaming needs the media type, which not every server of files knows.
  return response.headers.get("content-type")?.startsWith("application/wasm")
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
