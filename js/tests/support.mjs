// Services for the tests: databases of the program, served on loopback.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const PROGRAM = process.env.PAPIR ?? "papir";
/** The folder of the built package. */
export const DIST = process.env.PAPIR_JS ?? new URL("../dist", import.meta.url).pathname;

/** Imports a file of the built package. */
export function built(name) {
  return import(pathToFileURL(join(DIST, name)));
}

/** Runs the program to its end. Returns what it prints. */
export function papir(...args) {
  const { status, stdout, stderr, error } = spawnSync(PROGRAM, args, { encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`papir ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

/** A folder that lasts as long as a test. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "papir-js-"));
  test.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Builds a database of fruit with their colours. */
export function fruit(path, extra = [], colour = "red") {
  const source = join(path, "fruit.csv");
  const rows = Array.from({ length: 200 }, (_, i) => `fruit-${i},colour-${i}`);
  writeFileSync(source, ["name,colour", `apple,${colour}`, ...rows].join("\n") + "\n");
  const snapshot = join(path, "fruit.papir");
  papir("build", source, "--key", "name", "--value", "colour", "--out", snapshot, ...extra);
  return snapshot;
}

/** Serves snapshots until the end of the test. Returns the service's address. */
export async function serve(test, snapshots, extra = []) {
  const listen = extra.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const child = spawn(PROGRAM, ["serve", ...snapshots, ...listen, ...extra]);
  test.after(() => child.kill("SIGTERM"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  for (;;) {
    const address = /listening on (https?:\/\/\S+)/.exec(output);
    if (address) return { url: address[1], stop: () => (child.kill("SIGTERM"), ended) };
    if (child.exitCode !== null) throw new Error(output);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A service in front of another. `change` may alter its responses, respond itself, or break off by returning none. */
export async function between(test, url, change) {
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { host, connection, ...headers } = request.headers;
    const forwarded = await fetch(url + request.url, {
      method: request.method,
      headers,
      body: request.method === "GET" ? undefined : body,
    });
    const answer = Buffer.from(await forwarded.arrayBuffer());
    const changed = await change(request, answer, response);
    if (response.writableEnded) return;
    if (changed === undefined) return response.destroy();
    const kept = [...forwarded.headers].filter(([name]) => !/^(content-length|content-encoding|transfer-encoding|connection)$/.test(name));
    response.writeHead(forwarded.status, Object.fromEntries(kept)).end(changed);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

/** The text of a value. */
export function text(value) {
  return value && new TextDecoder().decode(value);
}
