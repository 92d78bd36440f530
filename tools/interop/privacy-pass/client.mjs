// A client of private tokens by @cloudflare/privacypass-ts.
//
//   ISSUER_TOKEN=… node client.mjs ISSUER URL COUNT
//
// It sends a request to URL, which costs a token. For the challenge of the refusal it fetches COUNT
// tokens from the issuer at the address ISSUER, with the bearer token ISSUER_TOKEN: one as in RFC
// 9578, section 6, several in a batch (draft-ietf-privacypass-batched-tokens). It sends the request
// again with each token, twice. For the challenge and each response it prints a line of JSON.

import {
  AuthorizationHeader,
  MediaType,
  PRIVATE_TOKEN_ISSUER_DIRECTORY,
  TOKEN_TYPES,
  Token,
  WWWAuthenticateHeader,
  genericBatched,
  publicVerif,
  sendTokenRequest,
} from "@cloudflare/privacypass-ts";

const { BLIND_RSA } = TOKEN_TYPES;
const { BlindRSAMode, Client, TokenResponse } = publicVerif;

/** A body that is no query of any scheme. */
const BODY = new Uint8Array(100_000).fill(7);

const [issuer, url, count] = process.argv.slice(2);
const bearer = process.env.ISSUER_TOKEN;
if (!count || !bearer) throw new Error("usage: ISSUER_TOKEN=… node client.mjs ISSUER URL COUNT");

const refused = await send("none");
const [offer] = WWWAuthenticateHeader.parse(refused.headers.get("www-authenticate"));
const { tokenType, issuerName, originInfo, redemptionContext } = offer.challenge;
print({ challenge: { tokenType, issuerName, originInfo, context: redemptionContext.length } });

const requestUrl = await requestUrlFor(offer.tokenKey);
const tokens = Number(count) === 1 ? [await single()] : await batch(Number(count));
await send("changed", changed(tokens[0]));
for (const token of tokens) {
  await send("fresh", token);
  await send("again", token);
}

function print(line) {
  console.log(JSON.stringify(line));
}

/** Sends the request, with a token or none. Prints the status and the code of the problem. */
async function send(kind, token) {
  const headers = { "content-type": "application/octet-stream" };
  // In quotes, since the padding of base64 is no token of HTTP.
  if (token) headers.authorization = new AuthorizationHeader(token).toString(true);

  const response = await fetch(url, { method: "POST", body: BODY, headers });
  const { code } = await response.json();
  print({ token: kind, status: response.status, code });
  return response;
}

/** The address for requests to the issuer, whose directory must have the key of the challenge. */
async function requestUrlFor(tokenKey) {
  const address = issuer + PRIVATE_TOKEN_ISSUER_DIRECTORY;
  const response = await fetch(address);
  const type = response.headers.get("content-type");
  if (type !== MediaType.PRIVATE_TOKEN_ISSUER_DIRECTORY) throw new Error(`the directory has the type ${type}`);

  const directory = await response.json();
  const known = directory["token-keys"].some(
    (entry) => entry["token-type"] === BLIND_RSA.value && Buffer.from(entry["token-key"], "base64url").equals(tokenKey),
  );
  if (!known) throw new Error("the issuer's directory does not have the key of the challenge");
  return new URL(directory["issuer-request-uri"], address);
}

/** One token. */
async function single() {
  const client = new Client(BlindRSAMode.PSS);
  const request = await client.createTokenRequest(offer.challenge, offer.tokenKey);
  const headers = new Headers({ authorization: `Bearer ${bearer}` });
  const response = await sendTokenRequest(request.serialize(), requestUrl, headers);
  return client.finalize(TokenResponse.deserialize(response));
}

/** The tokens of a batch. */
async function batch(size) {
  const clients = Array.from({ length: size }, () => new Client(BlindRSAMode.PSS));
  const requests = [];
  for (const client of clients) {
    const request = await client.createTokenRequest(offer.challenge, offer.tokenKey);
    requests.push(new genericBatched.TokenRequest(request));
  }

  const client = new genericBatched.Client();
  const body = client.createTokenRequest(requests).serialize();
  const responses = [...client.deserializeTokenResponse(await sendBatch(body))];
  if (responses.length !== size) throw new Error(`${responses.length} responses to ${size} requests`);
  return Promise.all(clients.map((client, place) => client.finalize(responses[place].tokenResponse)));
}

/** Sends a batch, for which the library has no function. Returns the bytes of the response. */
async function sendBatch(body) {
  const headers = {
    authorization: `Bearer ${bearer}`,
    "content-type": MediaType.ARBITRARY_BATCHED_TOKEN_REQUEST,
    accept: MediaType.ARBITRARY_BATCHED_TOKEN_RESPONSE,
  };
  const response = await fetch(requestUrl, { method: "POST", body, headers });
  const type = response.headers.get("content-type");
  if (response.status !== 200 || type !== MediaType.ARBITRARY_BATCHED_TOKEN_RESPONSE) {
    throw new Error(`the issuer: status ${response.status}, ${type}: ${await response.text()}`);
  }
  return new Uint8Array(await response.arrayBuffer());
}

/** The same token with another signature. */
function changed(token) {
  const authenticator = Uint8Array.from(token.authenticator);
  authenticator[authenticator.length - 1] ^= 1;
  return new Token(BLIND_RSA, token.authInput, authenticator);
}
