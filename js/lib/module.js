// Finds and compiles the WebAssembly modules beside this file.

import { NetworkError, PapirError } from "./errors.js";
import { Reports, parsed, reported } from "./policy.js";
import { chosenFetch } from "./proxy.js";

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
  "papir.wasm": () => new URL("./papir.wasm", import.meta.url),
  "papir-simd.wasm": () => new URL("./papir-simd.wasm", import.meta.url),
  "papir-all.wasm": () => new URL("./papir-all.wasm", import.meta.url),
  "papir-all-simd.wasm": () => new URL("./papir-all-simd.wasm", import.meta.url),
  "papir-relay.wasm": () => new URL("./papir-relay.wasm", import.meta.url),
  "papir-relay-simd.wasm": () => new URL("./papir-relay-simd.wasm", import.meta.url),
  "papir-tokens.wasm": () => new URL("./papir-tokens.wasm", import.meta.url),
  "papir-tokens-simd.wasm": () => new URL("./papir-tokens-simd.wasm", import.meta.url),
};

const FILES = "node:fs/promises";
/** A promise of each module, by its address. */
const compiled = new Map();

/**
 * The place of the modules, from the option `module`: the address of a folder, which ends in a slash, or of a module;
 * or a compiled module.
 */
export function placeOf(module) {
  if (module === undefined || module === null || isCompiled(module)) return module ?? undefined;
  const isAddress = typeof module === "string" || module instanceof URL;
  const base = globalThis.document?.baseURI ?? globalThis.location?.href;
  const place = isAddress ? parsed(module, base) : undefined;
  if (place) return place.href;
  const found = isAddress ? JSON.stringify(module) : typeof module;
  throw new TypeError(`option \`module\`: expected an address or a WebAssembly.Module, found ${found}`);
}

/** Returns true if a place is a folder. */
export function isFolder(place) {
  return typeof place === "string" && new URL(place).pathname.endsWith("/");
}

/**
 * Which modules are tried, until one has the scheme of a database: one that is given alone has the last word. Requests
 * through a relay, and those that cost tokens of an `issuer`, need modules of their own, with all schemes.
 */
export function modulesOf(place, { isRelay = false, issuer } = {}) {
  if (place !== undefined && !isFolder(place)) return ["all"];
  if (issuer !== undefined) return ["tokens"];
  return isRelay ? ["relay"] : ["short", "all"];
}

/**
 * The module with the schemes of most services (`short`), with all (`all`), with all and requests through relays
 * (`relay`), or with these and tokens (`tokens`). `fetch` is the caller's function.
 */
export async function compile(schemes, simd = hasVectors(), place = undefined, fetch = undefined) {
  if (isCompiled(place)) return place;
  const url = addressOf(schemes, simd, place);
  if (!compiled.has(url.href)) {
    const module = compileFrom(url, fetch);
    compiled.set(url.href, module);
    module.catch(() => compiled.delete(url.href));
  }
  return compiled.get(url.href);
}

/** One of another realm, too. */
function isCompiled(module) {
  return Object.prototype.toString.call(module) === "[object WebAssembly.Module]";
}

function addressOf(schemes, simd, place) {
  const name = `papir${schemes === "short" ? "" : `-${schemes}`}${simd ? "-simd" : ""}.wasm`;
  if (place !== undefined) return isFolder(place) ? new URL(name, place) : new URL(place);
  try {
    return ADDRESSES[name]();
  } catch (error) {
    const remedy = "give the option `module`, the address of the folder with papir's files";
    throw refused(`this bundle does not tell where papir's files are (${error.message}): ${remedy}`);
  }
}

async function compileFrom(url, given) {
  if (url.protocol === "file:") {
    // Only outside of browsers. Bundlers for browsers must not look for it.
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ FILES);
    const missing = (error) => Promise.reject(refused(`${error.message}: ${EXPECTED}`));
    return WebAssembly.compile(await readFile(url).catch(missing));
  }

  // A page fetches all its files by the browser. Elsewhere no proxy of the caller is passed by.
  const chosen = globalThis.location === undefined ? chosenFetch(url.href, given) : undefined;
  const response = await fetchModule(url, chosen);
  try {
    // Streaming needs the engine's own response, and the media type, which not every server of files knows.
    return !chosen && response.headers.get("content-type")?.startsWith("application/wasm")
      ? await WebAssembly.compileStreaming(response)
      : await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    const isForbidden = /unsafe-eval|content security policy/i.test(error.message);
    const expected = isForbidden ? "expected a content security policy with script-src 'wasm-unsafe-eval'" : EXPECTED;
    throw refused(`${url}: ${error.message}: ${expected}`);
  }
}

const EXPECTED = "expected papir's WebAssembly module";

async function fetchModule(url, fetch = globalThis.fetch) {
  const missing = (reason, expected = EXPECTED) => {
    return new NetworkError(`${url}: ${reason}: ${expected}`, { code: "module", retryable: true });
  };
  const reports = new Reports();
  try {
    const response = await fetch(url.href);
    if (!response.ok) throw missing(`HTTP ${response.status}`);
    return response;
  } catch (error) {
    if (error instanceof NetworkError) throw error;
    await reported();
    if (reports.has("connect-src", url.origin)) throw refused(`${url}: expected a content security policy whose connect-src allows it`);
    throw missing(error.message);
  } finally {
    reports.end();
  }
}

function refused(message) {
  return new PapirError(message, { code: "module" });
}
