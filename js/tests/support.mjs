// Services for the tests: databases of the program, served on loopback.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const PROGRAM = process.env.PAPIR ?? "papir";
const LOOPBACK = "127.0.0.1,localhost";
/** The program reads no settings of the person who runs the tests, and asks no proxy for this machine. */
const ENVIRONMENT = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^PAPIR_(?!BACKEND$)/.test(name))),
  NO_PROXY: LOOPBACK,
  no_proxy: LOOPBACK,
};
/** Longest wait for what takes a moment on an idle machine. */
export const PATIENCE_MILLISECONDS = 120_000;
/** For tests that wait for what a fault would keep from happening. */
export const LIMIT = { timeout: 600_000 };
/** The folder of the built package. */
export const DIST = process.env.PAPIR_JS ?? fileURLToPath(new URL("../dist", import.meta.url));

/** Imports a file of the built package. */
export function built(name) {
  return import(pathToFileURL(join(DIST, name)));
}

/** Runs the program to its end. Returns what it prints. */
export function papir(...args) {
  const { status, stdout, stderr, error } = spawnSync(PROGRAM, args, { encoding: "utf8", env: ENVIRONMENT });
  if (error) throw error;
  if (status !== 0) throw new Error(`papir ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

/** A folder that lasts as long as a test. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "papir-js-"));
  // A service that ends may still write there.
  test.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }));
  return path;
}

/** Builds a database of fruit with their colours, under `inspire` unless `extra` names a scheme. */
export function fruit(path, extra = [], colour = "red") {
  const source = join(path, "fruit.csv");
  const rows = Array.from({ length: 200 }, (_, i) => `fruit-${i},colour-${i}`);
  writeFileSync(source, ["name,colour", `apple,${colour}`, ...rows].join("\n") + "\n");
  const snapshot = join(path, "fruit.papir");
  const scheme = extra.includes("--scheme") ? [] : ["--scheme", "inspire"];
  papir("build", source, "--key", "name", "--value", "colour", "--out", snapshot, ...scheme, ...extra);
  return snapshot;
}

/** Serves snapshots until the end of the test. Returns the service's address. */
export function serve(test, snapshots, extra = []) {
  return listening(test, "serve", [...snapshots, ...extra]);
}

/** Runs a relay to services until the end of the test. Returns the relay's address. */
export function relay(test, services, extra = []) {
  return listening(test, "relay", [...services.flatMap((url) => ["--to", url]), ...extra]);
}

/** Runs an issuer of tokens until the end of the test, with its files in a folder. Returns the options for it. */
export async function issuer(test, path) {
  const clients = join(path, "clients.toml");
  const issuerToken = papir("tokens", clients, "add", "--name", "tests").split(/\s/).at(-1);
  const files = ["--keys", join(path, "issuer.toml"), "--counts", join(path, "counts.redb"), "--tokens", clients];
  const { url } = await listening(test, "issuer", files);
  return { issuer: url, issuerToken };
}

/** Serves fruit for tokens of the issuer at an address until the end of the test. Returns the service's address. */
export async function demanding(test, path, issuer, extra = []) {
  const flags = ["--registry", join(path, "registry"), "--privacy-pass", issuer, "--privacy-pass-origin", "127.0.0.1"];
  const { url } = await serve(test, [fruit(path)], [...flags, ...extra]);
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  // It reads the issuer's keys first.
  while (!(await fetch(`${url}/readyz`)).ok) {
    if (Date.now() > deadline) throw new Error("the service does not become ready");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return url;
}

/** The keys of a service's gateway. */
export async function keysOf(url) {
  const response = await fetch(`${url}/.well-known/ohttp-gateway`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Runs a server of the program until the end of the test. Returns its address, and a function that stops it. */
async function listening(test, command, args) {
  const child = spawn(PROGRAM, [command, "--listen", "127.0.0.1:0", ...args], { env: ENVIRONMENT });
  test.after(() => child.kill("SIGTERM"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const address = /listening on (https?:\/\/\S+)\n/.exec(output);
    if (address) return { url: address[1], stop: () => (child.kill("SIGTERM"), ended) };
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the server ended: ${output}`);
    if (Date.now() > deadline) throw new Error(`the server does not listen: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * A service in front of another, whose address may be a function. `change` may alter its responses, respond itself,
 * or break off by returning none.
 */
export async function between(test, url, change) {
  const behind = typeof url === "function" ? url : () => url;
  const server = createServer(async (request, response) => {
    // The client may stop, and the service may end.
    const answer = await forward(behind(), request).catch(() => undefined);
    const changed = answer && (await change(request, answer.body, response));
    if (response.writableEnded) return;
    if (changed === undefined) return response.destroy();
    response.writeHead(answer.status, answer.headers).end(changed);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

/**
 * A relay before the gateway of the service at `url`, with a record of its requests and of the lengths of its responses.
 * `reply(request, response)` may respond itself, with `true`, else the request is forwarded.
 */
export async function fakeRelay(test, url, reply = () => false) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const record = { method: request.method, path: request.url, headers: request.headers };
    requests.push(record);
    const parts = [];
    for await (const part of request) parts.push(part);
    record.body = Buffer.concat(parts);
    if (await reply(record, response)) return;

    const answer = await toGateway(url, record);
    record.answered = answer.body.length;
    response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => (server.closeAllConnections(), server.close()));
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

/** Sends a request on to a gateway. Returns the status, the media type and the body of the response. */
async function toGateway(url, { method, headers, body }) {
  const response = await fetch(`${url}/.well-known/ohttp-gateway`, {
    method,
    headers: method === "GET" ? {} : { "content-type": headers["content-type"] },
    body: method === "GET" ? undefined : body,
  });
  return { status: response.status, type: response.headers.get("content-type"), body: Buffer.from(await response.arrayBuffer()) };
}

/** Sends a request on. Returns the status, the headers and the body of the response. */
async function forward(url, request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { host, connection, ...headers } = request.headers;
  const response = await fetch(url + request.url, {
    method: request.method,
    headers,
    body: request.method === "GET" ? undefined : Buffer.concat(parts),
  });
  const kept = [...response.headers].filter(([name]) => !/^(content-length|content-encoding|transfer-encoding|connection)$/.test(name));
  return { status: response.status, headers: Object.fromEntries(kept), body: Buffer.from(await response.arrayBuffer()) };
}

/** A promise `happened`, which the test fulfils by `happen`. */
export function event() {
  let happen;
  const happened = new Promise((resolve) => (happen = resolve));
  return { happen, happened };
}

/** The text of a value. */
export function text(value) {
  return value && new TextDecoder().decode(value);
}
