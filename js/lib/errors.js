/** What stands for a password or a token. */
const HIDDEN = "***";
/** Ends of a text in which a login may be: a login ends in the line and in the quoted text in which it begins. */
const ENDS = /([`"\n])/;
/**
 * A login in an address: up to the last `@` before its path or, if no port follows the colon, the last one of the text.
 * A password may have characters that should have been escaped.
 */
const LOGIN = /(:\/\/[^\s/?#:[]*:)(?:[^\s/?#]*|(?!\d*[,;:.)]*(?:[/?#\s]|$)).*)@/gs;
/** A user without a password in an address, which is often a token. */
const USER = /:\/\/[^\s/?#:[]+(:?@)/g;
/** Ends of texts before an address whose user is a name: databases. */
const OF_NAMES = ["postgres", "postgresql"];
/** Parameters with secrets. */
const PARAMETER = /((?:passphrase|password|secret|token)=)(?:'[^']*'?|[^\s&`"]+)/gi;
/** An access token of a service. */
const TOKEN = /papir_[0-9a-f]{64,}/gi;

/**
 * A text without passwords and tokens, which end up in logs. The module's texts have none; those of this package, of
 * `fetch` and of workers may name the address that the caller gave.
 */
export function withoutPasswords(text) {
  const shown = text.split(ENDS).map(withoutLogins).join("");
  return shown.replace(PARAMETER, `$1${HIDDEN}`).replace(TOKEN, `papir_${HIDDEN}`);
}

/** A text without quotes and line ends, and without the passwords of its addresses. */
function withoutLogins(text) {
  // Cut there, so that each match ends at once: a text with many addresses would take long.
  const end = text.lastIndexOf("@") + 1;
  const logins = text.slice(0, end).replace(USER, withoutUser).replace(LOGIN, `$1${HIDDEN}@`);
  return logins + text.slice(end);
}

/** The replacement for a match of `USER`. */
function withoutUser(match, end, place, text) {
  const hasName = OF_NAMES.some((scheme) => text.startsWith(scheme, place - scheme.length));
  return hasName ? match : `://${HIDDEN}${end}`;
}

/** Origins of errors after which another one of several servers may be asked. */
const origins = new WeakMap();

/**
 * The origin of an error if another server may be asked after it: "server" if one of several has it, "answer" if it may
 * be of an answer, so that no server may be asked once something was looked up. Undefined for other errors.
 */
export function originOf(error) {
  return origins.get(error);
}

/** An error of papir. Its `code` is a short stable name; `retryable` says whether the same call may succeed later. */
export class PapirError extends Error {
  constructor(message, { code = "unexpected", retryable = false, status, origin } = {}) {
    super(withoutPasswords(String(message)));
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
    this.status = status ?? undefined;
    if (origin) origins.set(this, origin);
  }
}

/** A service that cannot be reached, or refuses a request. */
export class NetworkError extends PapirError {}

/** A call that took longer than the option `timeout`. */
export class TimeoutError extends NetworkError {}

/** An answer, a root or a checkpoint that does not verify: the service does not serve what its owner signed. */
export class VerificationError extends PapirError {}

/** A scheme that hides nothing. No query was sent. */
export class NotPrivateError extends PapirError {}

/** A database that this client does not look up in. */
export class UnsupportedError extends PapirError {}

const CLASSES = {
  network: NetworkError,
  verification: VerificationError,
  not_private: NotPrivateError,
  unsupported: UnsupportedError,
};

/** The error of a plain description, as WebAssembly and a worker send it. */
export function errorOf({ group, message, ...details }) {
  return new (CLASSES[group] ?? PapirError)(message, details);
}

/** The plain description of an error. */
export function description(error) {
  const group = Object.keys(CLASSES).find((name) => error instanceof CLASSES[name]);
  const { message, code, retryable, status } = error;
  return { group, name: error.name, message, code, retryable, status, origin: originOf(error) };
}
