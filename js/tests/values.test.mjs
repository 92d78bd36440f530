// Options, keys and values, without a service.

import assert from "node:assert/strict";
import test from "node:test";

import { built } from "./support.mjs";

const { options } = await built("options.js");
const { decodeValues, encodeWanted } = await built("wanted.js");
const { connect, PapirError } = await built("index.js");

test("options that do not exist or have another type are refused by name", async () => {
  const refused = (given, pattern) => assert.throws(() => options("http://x", given), pattern);
  refused({ tokn: "a" }, /unknown option `tokn`: expected one of database, token/);
  refused({ token: 7 }, /option `token`: expected a string, found 7/);
  refused({ maxAge: -1 }, /expected a number of seconds/);
  refused({ witnesses: ["a", 1] }, /expected an array of strings/);
  await assert.rejects(connect(7), /expected an address as a string, found number/);
  await assert.rejects(connect("ftp://x", { worker: false }), (error) => {
    assert(error instanceof PapirError);
    return error.code === "bad_url" && error.name === "PapirError";
  });
});

test("keys and indices are encoded, and wrong ones refused", () => {
  const bytes = encodeWanted(["é", new Uint8Array([1, 2])], "key");
  assert.deepEqual([...bytes], [0, 2, 0, 0, 0, 0xc3, 0xa9, 0, 2, 0, 0, 0, 1, 2]);
  assert.deepEqual([...encodeWanted([258n], "index")], [1, 8, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
  for (const wrong of [-1, 0.5, 2 ** 53, 2n ** 64n, "1", null]) {
    assert.throws(() => encodeWanted([wrong], "index"), /expected an index/, String(wrong));
  }
  for (const wrong of [1, null, undefined, [1]]) {
    assert.throws(() => encodeWanted([wrong], "key"), /expected a key/, String(wrong));
  }
});

test("absent values are null, empty ones are not", () => {
  assert.deepEqual(decodeValues(new Uint8Array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 9])), [
    null,
    new Uint8Array(),
    new Uint8Array([9]),
  ]);
});
