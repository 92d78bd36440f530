// Keys, indices and values as bytes: for each a byte, a length of four bytes, and the bytes.

import { errorOf } from "./errors.js";

const KEY = 0;
const INDEX = 1;
const SCHEDULED = 2;
const ABSENT = 0;
const FAILED = 2;
const MOST_INDEX = 2n ** 64n;

/** Encodes keys, or indices, for the module. Those of a schedule are sent even if a filter excludes them. */
export function encodeWanted(items, kind, isScheduled = false) {
  if (!Array.isArray(items)) throw new TypeError(`expected an array, found ${typeof items}`);
  const parts = items.map(kind === "key" ? keyBytes : indexBytes);
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 5 + part.length, 0));
  const view = new DataView(bytes.buffer);
  let start = 0;
  const first = (kind === "key" ? KEY : INDEX) | (isScheduled ? SCHEDULED : 0);
  for (const part of parts) {
    bytes[start] = first;
    view.setUint32(start + 1, part.length, true);
    bytes.set(part, start + 5);
    start += 5 + part.length;
  }
  return bytes;
}

function keyBytes(key) {
  if (typeof key === "string") return new TextEncoder().encode(key);
  if (key instanceof Uint8Array) return key;
  throw new TypeError(`expected a key as a string or a Uint8Array, found ${typeof key}`);
}

function indexBytes(index) {
  const whole = typeof index === "bigint" || Number.isSafeInteger(index);
  if (!whole || index < 0 || BigInt(index) >= MOST_INDEX) {
    throw new TypeError(`expected an index as a whole number from 0, found ${String(index)}`);
  }
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(index), true);
  return bytes;
}

/** Decodes values: `null` for a key that the database does not have. Throws the error of the first failed lookup. */
export function decodeValues(bytes) {
  const outcomes = decodeOutcomes(bytes);
  const failed = outcomes.find(({ error }) => error);
  if (failed) throw failed.error;
  return outcomes.map(({ value }) => value);
}

/** Decodes the outcome of each lookup: its `value`, or its `error`. */
export function decodeOutcomes(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const outcomes = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + 5 + view.getUint32(start + 1, true);
    outcomes.push(outcome(bytes[start], bytes.slice(start + 5, end)));
    start = end;
  }
  return outcomes;
}

function outcome(kind, bytes) {
  if (kind === FAILED) return { error: errorOf(JSON.parse(new TextDecoder().decode(bytes))) };
  return { value: kind === ABSENT ? null : bytes };
}
