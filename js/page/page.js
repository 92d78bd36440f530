// The page of a service: a field, the answer, and what the service saw of it.

import { connect } from "./papir/index.js";

const element = (id) => document.getElementById(id);
/** The service is the folder above the page's. */
const SERVICE = new URL("..", location.href).href.replace(/\/$/, "");
/** Values of other bytes are shown in hexadecimal. */
const DECODER = new TextDecoder("utf-8", { fatal: true });

/** The database in use; undefined while none is open. */
let database;
let token;
/** Number of the newest request to open a database. */
let newest = 0;

element("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = element("token").value.trim();
  start();
});
element("lookup").addEventListener("submit", (event) => {
  event.preventDefault();
  if (database) lookUp(database);
});
element("database").addEventListener("change", () => open(element("database").value));

start();

/** Lists the service's databases, and opens the first. */
async function start() {
  try {
    const names = await databases();
    element("access").hidden = true;
    element("choice").hidden = names.length < 2;
    element("database").replaceChildren(...names.map((name) => new Option(name)));
    if (names.length === 0) return say("This service has no database.", true);
    await open(names[0]);
  } catch (error) {
    say(error.message, true);
  }
}

async function databases() {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(`${SERVICE}/v1/databases`, { headers, cache: "no-store" });
  if (response.status === 401) throw unauthorized();
  if (!response.ok) throw new Error(`The service refuses: HTTP ${response.status}.`);
  return (await response.json()).databases.map((one) => one.name);
}

/** Asks for a token, but not over plain HTTP, where anyone on the way could read it. */
function unauthorized() {
  if (!isSecureContext) return new Error("The service asks for a token, which needs HTTPS.");
  element("access").hidden = false;
  element("token").focus();
  return new Error(token ? "The service refuses this token." : "The service asks for a token.");
}

async function open(name) {
  const number = ++newest;
  database?.close();
  database = undefined;
  element("ask").disabled = true;
  element("answer").hidden = true;
  say("Connecting…");
  try {
    const opened = await connect(SERVICE, { database: name, token, onProgress });
    // Another one was chosen meanwhile.
    if (number !== newest) return opened.close();
    database = opened;
  } catch (error) {
    if (number === newest) fail(error);
    return;
  } finally {
    if (number === newest) element("progress").hidden = true;
  }
  describe();
  element("ask").disabled = false;
  say("Ready.");
  element("key").focus();
}

function describe() {
  const { info, checkpoint, costs, version } = database;
  element("key-label").textContent = info.keyed ? "Key" : "Index, from 0";
  element("key").inputMode = info.keyed ? "text" : "numeric";
  element("scheme").textContent = info.scheme;
  const bits = info.recordBits % 8 ? `${info.recordBits} bits` : bytes(info.recordBits / 8);
  element("records").textContent = `${info.records.toLocaleString()} × ${bits}`;
  element("version").textContent = version;
  element("owner").textContent = checkpoint ? `${checkpoint.owner}, version ${checkpoint.sequence}` : "nobody";
  element("once").textContent = bytes(costs.publicBytes);
}

async function lookUp(asked) {
  const before = asked.costs;
  element("ask").disabled = true;
  say("Asking…");
  const started = performance.now();
  try {
    const wanted = element("key").value;
    const value = asked.info.keyed ? await asked.get(wanted) : await asked.getIndex(index(wanted));
    if (asked !== database) return;
    show(value);
    const { queryBytes, answerBytes } = asked.costs;
    element("sent").textContent = bytes(queryBytes - before.queryBytes);
    element("received").textContent = bytes(answerBytes - before.answerBytes);
    element("time").textContent = `${Math.round(performance.now() - started)} ms`;
    say(value === null ? "Not found." : "Found.");
    describe();
  } catch (error) {
    if (asked !== database) return;
    element("answer").hidden = true;
    fail(error);
  } finally {
    if (asked === database) {
      element("ask").disabled = false;
      element("progress").hidden = true;
    }
  }
}

function fail(error) {
  say((error.status === 401 ? unauthorized() : error).message, true);
}

function index(text) {
  if (!/^[0-9]+$/.test(text.trim())) throw new Error("Expected an index: a whole number from 0.");
  return BigInt(text.trim());
}

function show(value) {
  element("answer").hidden = false;
  element("absent").hidden = value !== null;
  element("value").hidden = value === null;
  element("value").textContent = value && readable(value);
}

function readable(value) {
  try {
    return DECODER.decode(value);
  } catch {
    return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  }
}

function onProgress({ received, total }) {
  Object.assign(element("progress"), { hidden: received === total, max: total, value: received });
}

function say(text, bad = false) {
  element("status").textContent = text;
  element("status").classList.toggle("bad", bad);
}

function bytes(count) {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`;
}
