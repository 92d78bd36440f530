// Waits that a signal ends, and calls that run one after the other.

/** The promise's outcome, or the signal's reason if that comes first. */
export function stoppable(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/**
 * Makes a call with a signal that ends it after `milliseconds`, if given, or by the caller's signal. The call must
 * reject with the signal's reason.
 */
export async function within(milliseconds, signal, late, call) {
  if (milliseconds === undefined) return call(signal);
  const abort = new AbortController();
  const stop = () => abort.abort(signal.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => abort.abort(late()), milliseconds);
  try {
    return await call(abort.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** Waits, and replies to the task that asked for it. */
export async function wait(milliseconds, signal) {
  let timer;
  const over = new Promise((resolve) => (timer = setTimeout(resolve, milliseconds)));
  try {
    await stoppable(over, signal);
  } finally {
    clearTimeout(timer);
  }
  return { head: {} };
}

/** Runs calls one after the other. */
export class Turns {
  #last = Promise.resolve();

  /** Runs a call after those before, whatever becomes of them. Returns its outcome. */
  take(call) {
    const outcome = this.#last.then(call);
    // Without the outcome: the values of an answer would stay in memory until the next one.
    this.#last = outcome.then(forget, forget);
    return outcome;
  }

  /** Fulfilled, with nothing, once no call runs. */
  get last() {
    return this.#last;
  }
}

function forget() {}
