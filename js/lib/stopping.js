// Waits that a signal ends.

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
