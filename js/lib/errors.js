/** An error of papir. Its `code` is a short stable name; `retryable` says whether the same call may succeed later. */
export class PapirError extends Error {
  constructor(message, { code = "unexpected", retryable = false, status } = {}) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
    this.status = status ?? undefined;
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
  return { group, name: error.name, message, code, retryable, status };
}
