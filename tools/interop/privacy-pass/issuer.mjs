// An issuer of private tokens by @cloudflare/privacypass-ts.
//
//   ISSUER_TOKEN=… node issuer.mjs
//
// It makes a key, prints its address, and issues single tokens (RFC 9578, section 6) and batches
// (draft-ietf-privacypass-batched-tokens) to clients that show the bearer token ISSUER_TOKEN.

import { createServer } from "node:http";

import {
  MediaType,
  PRIVATE_TOKEN_ISSUER_DIRECTORY,
  TOKEN_TYPES,
  genericBatched,
  publicVerif,
} from "@cloudflare/privacypass-ts";

const { BLIND_RSA } = TOKEN_TYPES;
const { BlindRSAMode, Issuer, TokenRequest, getPublicKeyBytes } = publicVerif;

const HOST = "127.0.0.1";
const REQUEST_PATH = "/token-request";
/** Longest request that is read, in bytes. */
const MAX_REQUEST_BYTES = 1 << 16;

const bearer = process.env.ISSUER_TOKEN;
if (!bearer) throw new Error("ISSUER_TOKEN has no token");

const keys = await Issuer.generateKey(BlindRSAMode.PSS, {
  modulusLength: 8 * BLIND_RSA.Nk,
  publicExponent: Uint8Array.of(1, 0, 1),
});
const issuer = new Issuer(BlindRSAMode.PSS, HOST, keys.privateKey, keys.publicKey);
const batches = new genericBatched.Issuer(issuer);
const publicKey = Buffer.from(await getPublicKeyBytes(keys.publicKey)).toString("base64url");

const server = createServer((request, response) => {
  answer(request).then(
    ({ status, type, body }) => response.writeHead(status, { "content-type": type }).end(body),
    (error) => response.writeHead(500, { "content-type": "text/plain" }).end(`${error.stack}\n`),
  );
});
server.listen(0, HOST, () => console.log(`listening on ${address()}`));

function address() {
  return `http://${HOST}:${server.address().port}`;
}

/** The response to a request. */
async function answer(request) {
  const { method, url, headers } = request;
  if (method === "GET" && url === PRIVATE_TOKEN_ISSUER_DIRECTORY) {
    return { status: 200, type: MediaType.PRIVATE_TOKEN_ISSUER_DIRECTORY, body: directory() };
  }

  if (method !== "POST" || url !== REQUEST_PATH) return refusal(404, `no ${method} ${url}`);
  if (headers.authorization !== `Bearer ${bearer}`) return refusal(401, "another bearer token");

  const body = await bodyOf(request);
  switch (headers["content-type"]) {
    case MediaType.PRIVATE_TOKEN_REQUEST:
      return { status: 200, type: MediaType.PRIVATE_TOKEN_RESPONSE, body: await single(body) };
    case MediaType.ARBITRARY_BATCHED_TOKEN_REQUEST:
      return { status: 200, type: MediaType.ARBITRARY_BATCHED_TOKEN_RESPONSE, body: await batch(body) };
    default:
      return refusal(415, `the content type ${headers["content-type"]}`);
  }
}

function refusal(status, reason) {
  return { status, type: "text/plain", body: `${reason}\n` };
}

/** The issuer's key as JSON (RFC 9578, section 4). */
function directory() {
  return JSON.stringify({
    "issuer-request-uri": address() + REQUEST_PATH,
    "token-keys": [{ "token-type": BLIND_RSA.value, "token-key": publicKey }],
  });
}

/** The bytes of a request. */
async function bodyOf(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > MAX_REQUEST_BYTES) throw new Error(`a request of more than ${MAX_REQUEST_BYTES} bytes`);
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** The response to a request for one token. */
async function single(body) {
  const request = TokenRequest.deserialize(BLIND_RSA, body);
  const response = await issuer.issue(request);
  return response.serialize();
}

/** The response to a batch of requests. The library leaves out the tokens that it cannot sign. */
async function batch(body) {
  const requests = genericBatched.BatchedTokenRequest.deserialize(body);
  const responses = await batches.issue(requests);
  return responses.serialize();
}
