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
  element("cost").textContent = "Nothing yet: you have not looked anything up.";
  for (const id of ["sent", "received", "time"]) element(id).textContent = "–";
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
  document.title = `${info.name}: private lookup`;
  element("name").textContent = info.name;
  element("named").hidden = false;
  element("key-label").textContent = info.keyed ? "Key" : "Number of the record";
  element("key-hint").textContent = info.keyed
    ? "A key is what an entry of the database is filed under, such as a word or a number. Type it exactly as the database has it."
    : `The records of this database are numbered from 0 to ${(info.records - 1).toLocaleString()}.`;
  element("key").inputMode = info.keyed ? "text" : "numeric";
  element("scheme").textContent = info.scheme;
  element("size").textContent = bytes(Math.ceil((info.records * info.recordBits) / 8));
  element("version").textContent = version;
  element("owner").textContent = checkpoint ? `${checkpoint.owner}, version ${checkpoint.sequence}` : "nobody";
  element("once").textContent = bytes(costs.publicBytes);
}

async function lookUp(asked) {
  const before = asked.costs;
  const wanted = element("key").value;
  element("ask").disabled = true;
  // It is the answer for another key.
  element("answer").hidden = true;
  say("Asking…");
  const started = performance.now();
  try {
    const value = asked.info.keyed ? await asked.get(wanted) : await asked.getIndex(index(wanted));
    if (asked !== database) return;
    show(wanted, value, asked.info);
    count(before, asked.costs, performance.now() - started);
    say(value === null ? "Not found." : "Found.");
    describe();
  } catch (error) {
    if (asked !== database) return;
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
  if (!/^[0-9]+$/.test(text.trim())) throw new Error("Expected the number of a record: a whole number from 0.");
  return BigInt(text.trim());
}

function show(wanted, value, info) {
  const isFound = value !== null;
  const kind = info.keyed ? `the key “${wanted}”` : `record ${wanted}`;
  element("answer").hidden = false;
  element("absent").hidden = isFound;
  element("value").hidden = element("meaning").hidden = !isFound;
  element("absent").textContent = `The database ${info.name} does not have ${kind}.`;
  element("value").textContent = isFound ? readable(value) : "";
  element("meaning").textContent = `This is what the database ${info.name} holds for ${kind}. Its owner can tell what it means.`;
}

/** Says what a lookup cost, from the costs before and after it. */
function count(before, after, milliseconds) {
  const sent = bytes(after.queryBytes - before.queryBytes);
  const received = bytes(after.answerBytes - before.answerBytes);
  const seconds = (milliseconds / 1000).toLocaleString(undefined, { maximumSignificantDigits: 2 });
  element("sent").textContent = sent;
  element("received").textContent = received;
  element("time").textContent = `${Math.round(milliseconds)} ms`;
  element("cost").textContent = `Your last lookup sent ${sent} of encrypted data, received ${received} and took ${seconds} seconds.`;
}

function readable(value) {
  try {
    return DECODER.decode(value);
  } catch {
    return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  }
}

function onProgress({ received, total }) {
  // A proxy may leave the length out.
  if (total === 0) return;
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
