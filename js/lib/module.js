// Finds and compiles the WebAssembly modules beside this file.

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
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url}: HTTP ${response.status}: expected papir's WebAssembly module`);
  }
  // Streaming needs the media type, which not every server of files knows.
  return response.headers.get("content-type")?.startsWith("application/wasm")
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
