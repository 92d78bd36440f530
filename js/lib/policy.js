// Reports of the browser about the page's content security policy.

const NAME = "securitypolicyviolation";

/** Collects reports until `end`. The errors of refused requests and workers do not say why. */
export class Reports {
  #seen = [];
  #listener = ({ effectiveDirective, blockedURI }) => this.#seen.push({ directive: effectiveDirective, blocked: blockedURI });

  constructor() {
    globalThis.addEventListener?.(NAME, this.#listener);
  }

  /** Returns true if a directive has kept the page from this origin; from anything, if none is given. */
  has(directive, origin) {
    return this.#seen.some((one) => one.directive === directive && (!origin || parsed(one.blocked)?.origin === origin));
  }

  end() {
    globalThis.removeEventListener?.(NAME, this.#listener);
  }
}

/** Waits for reports about what has failed: the browser sends them in tasks of their own. */
export function reported() {
  return new Promise((resolve) => setTimeout(resolve));
}

/** An address; undefined for a text that is none, such as `inline` in a report. */
export function parsed(address, base) {
  try {
    return new URL(address, base);
  } catch {
    return undefined;
  }
}
