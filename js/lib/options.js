// Options of a connection, checked and in the form of the module.

const TEXT = "a string";
const SECONDS = "a number of seconds from 0";
const FLAG = "true or false";
const COUNT = "a whole number from 0";
const TEXTS = "an array of strings";
const ADDRESS = "an address as a string or a URL";
const BYTES = "a Uint8Array";
const PATCHES = "\"auto\", \"always\" or \"never\"";

const CHECKS = {
  [TEXT]: (value) => typeof value === "string",
  [SECONDS]: (value) => Number.isFinite(value) && value >= 0,
  [FLAG]: (value) => typeof value === "boolean",
  [COUNT]: (value) => Number.isSafeInteger(value) && value >= 0,
  [TEXTS]: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  [ADDRESS]: (value) => typeof value === "string" || value instanceof URL,
  [BYTES]: (value) => value instanceof Uint8Array,
  [PATCHES]: (value) => ["auto", "always", "never"].includes(value),
};

/** Each option: its name in the module, its kind, its default. */
const OPTIONS = {
  database: ["database", TEXT, null],
  token: ["token", TEXT, null],
  insecureHttp: ["insecure_http", FLAG, false],
  relay: ["relay", ADDRESS, null],
  ohttpKeys: ["ohttp_keys", BYTES, null],
  issuer: ["issuer", ADDRESS, null],
  issuerToken: ["issuer_token", TEXT, null],
  owner: ["owner", TEXT, null],
  root: ["root", TEXT, null],
  maxAge: ["max_age", SECONDS, null],
  sequence: ["sequence", COUNT, null],
  witnesses: ["witnesses", TEXTS, []],
  cosignatures: ["cosignatures", COUNT, 0],
  freshness: ["freshness", SECONDS, null],
  patience: ["patience", SECONDS, null],
  maxDownload: ["max_download", COUNT, null],
  cache: ["cache", FLAG, true],
  known: ["known", FLAG, false],
  patches: ["patches", PATCHES, "auto"],
  pin: ["pin", FLAG, true],
  prefilter: ["prefilter", FLAG, true],
  hideTimes: ["hide_times", FLAG, false],
};

/** Options whose values are not shown. */
const SECRET = ["token", "issuerToken"];
/** Options that need another one. */
const NEEDS = [["ohttpKeys", "relay"], ["issuerToken", "issuer"]];
/** Longest time of a timer. A longer timeout is none. */
const LONGEST_MILLISECONDS = 2 ** 31 - 1;
/** Time for which a request is tried again by default. */
export const PATIENCE_SECONDS = 60;
/** Longest list of a gateway's keys. The module refuses longer ones. */
const MOST_KEYS_BYTES = 64 << 10;

/** The timeout of the options in milliseconds; undefined for none. */
export function timeoutOf(seconds) {
  if (seconds === undefined || seconds === null) return undefined;
  if (!CHECKS[SECONDS](seconds)) throw refused("timeout", SECONDS, seconds);
  const milliseconds = seconds * 1000;
  return milliseconds > LONGEST_MILLISECONDS ? undefined : milliseconds;
}

/** The functions of a storage of the application. */
const STORAGE = ["lock", "unlock", "read", "replace"];

/** Checks the storage that an application gives; none if it is undefined or null. */
export function checkStorage(storage) {
  if (storage === undefined || storage === null) return;
  const missing = STORAGE.find((name) => typeof storage[name] !== "function");
  const expected = `an object with the functions ${STORAGE.join(", ")}`;
  if (missing) throw new TypeError(`option \`storage\`: expected ${expected}, found one without ${missing}`);
}

/** The options for the module. `timeout`, in milliseconds, limits retries, so that their failure is the error. */
export function options(address, given, timeout) {
  const url = inJson(address);
  if (!CHECKS[TEXT](url)) throw new TypeError(`expected an address as a string or a URL, found ${typeof url}`);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown) throw new TypeError(`unknown option \`${unknown}\`: expected one of ${Object.keys(OPTIONS).join(", ")}`);
  const checked = { url };
  for (const [name, [inModule, kind, fallback]] of Object.entries(OPTIONS)) {
    const value = given[name] ?? fallback;
    if (value !== null && !CHECKS[kind](value)) {
      throw refused(name, kind, value);
    }
    checked[inModule] = inJson(value);
  }
  for (const [name, needed] of NEEDS) {
    const isMissing = (given[name] ?? null) !== null && (given[needed] ?? null) === null;
    if (isMissing) throw new TypeError(`option \`${name}\`: it needs the option \`${needed}\``);
  }
  if (timeout !== undefined) checked.patience = Math.min(checked.patience ?? PATIENCE_SECONDS, timeout / 1000);
  return checked;
}

/** A value as the module reads it. */
function inJson(value) {
  if (value instanceof URL) return value.href;
  return value instanceof Uint8Array ? Array.from(value.subarray(0, MOST_KEYS_BYTES + 1)) : value;
}

function refused(name, kind, value) {
  // A token in a list is a token still.
  const found = SECRET.includes(name) ? typeof value : JSON.stringify(value);
  return new TypeError(`option \`${name}\`: expected ${kind}, found ${found}`);
}
