// The function that sends requests, and the proxies that Node's own does not use.

import { PapirError } from "./errors.js";

/** Hosts that are this machine. Its traffic must not be carried to another one. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Engines that are compatible with Node. Each has a global of its name. */
const ENGINES = ["Deno", "Bun"];

/**
 * The `fetch` that the caller gives, else undefined for the global one.
 *
 * Browsers use the proxy of their settings. Elsewhere the global `fetch` may pass by the one that `environment` names:
 * nothing tells which variables it has read at its start.
 */
export function chosenFetch(url, given, environment = environmentOfNode()) {
  if (given !== undefined && given !== null) {
    if (typeof given === "function") return given;
    throw new TypeError(`option \`fetch\`: expected a function, found ${typeof given}`);
  }

  const name = proxyVariable(url, environment);
  if (!name) return undefined;
  throw new PapirError(`${name} names a proxy, and no \`fetch\` was given: ${remedy(name)}`, { code: "bad_proxy" });
}

/** Both ways to a `fetch` that uses the proxy of a variable: the engine's own, and one of the caller. */
export function remedy(name, globals = globalThis) {
  const engine = ENGINES.find((one) => globals[one] !== undefined);
  const own = engine
    ? `the fetch of ${engine} uses HTTPS_PROXY and HTTP_PROXY: give \`fetch: globalThis.fetch\``
    : "the fetch of Node 24 or later uses HTTPS_PROXY and HTTP_PROXY if NODE_USE_ENV_PROXY=1 is set at its start: " +
      "give `fetch: globalThis.fetch`";
  const agent = "or give a `fetch` with an agent for the proxy, such as undici's with a ProxyAgent";
  return /^all_proxy$/i.test(name) ? `${own}, and set them, since it ignores ${name}; ${agent}` : `${own}; ${agent}`;
}

/** The variable with the proxy for an address; undefined if there is none, or the address is not valid. */
export function proxyVariable(url, environment) {
  const { protocol, hostname, port } = parsed(url);
  const own = { "https:": "https_proxy", "http:": "http_proxy" }[protocol];
  if (!own || LOOPBACK.test(hostname)) return undefined;

  const names = [own, "all_proxy"].flatMap((name) => [name, name.toUpperCase()]);
  const name = names.find((one) => environment[one]);
  const excluded = environment.no_proxy || environment.NO_PROXY || "";
  const isExcluded = excluded.split(/[\s,]+/).some((entry) => excludes(entry, hostname, port || defaultPort(protocol)));
  return isExcluded ? undefined : name;
}

/** The parts of an address; none if it is not valid. The module refuses it later. */
function parsed(url) {
  try {
    return new URL(url);
  } catch {
    return {};
  }
}

/** Returns true if an entry of NO_PROXY excludes a host. Networks exclude none here: their hosts are refused, too. */
function excludes(entry, host, port) {
  const [, pattern, onlyPort] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase());
  if (onlyPort !== undefined && onlyPort !== port) return false;
  if (pattern === "*") return true;
  const domain = pattern.replace(/^\*?\.?/, "");
  if (domain === "" || domain.includes("*")) return false;
  return host === domain || (!/^[\d.]+$/.test(host) && host.endsWith(`.${domain}`));
}

function defaultPort(protocol) {
  return protocol === "https:" ? "443" : "80";
}

/** The variables of Node, and of programs that are compatible with it; none in a browser. */
function environmentOfNode() {
  const { process } = globalThis;
  return process?.versions?.node ? process.env : {};
}
