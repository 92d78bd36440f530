// The declarations fit their use. Only checked, never run.

import { connect, NetworkError, PapirError, type ClientStorage, type ConnectOptions, type Database, type Scheduled } from "../lib/index.js";

const options: ConnectOptions = { timeout: 2.5, owner: "name+id+key", onProgress: ({ received, total }) => console.log(received / total) };

export async function lookUp(url: string): Promise<string | undefined> {
  const database: Database = await connect(url, options);
  try {
    const value: Uint8Array | null = await database.get("apple", { signal: AbortSignal.timeout(1000) });
    const [record]: Uint8Array[] = await database.getIndices([1n, 2]);
    return value ? new TextDecoder().decode(value) : String(record?.length);
  } catch (error) {
    if (error instanceof NetworkError && error.retryable) return undefined;
    throw error instanceof PapirError ? new Error(error.code) : error;
  } finally {
    database.close();
  }
}

export async function lookUpInScope(url: URL, witnesses: readonly string[], keys: readonly string[]): Promise<number> {
  using database = await connect(url, { witnesses, module: new URL("papir/", url) });
  await using other = await connect(url, { module: await WebAssembly.compileStreaming(fetch("papir.wasm")) });
  return (await database.getMany(keys)).length + (await other.getIndices([1, 2n] as const)).length;
}

export async function lookUpAtFixedTimes(url: URL): Promise<(Uint8Array | null)[]> {
  using database = await connect(url);
  using scheduled: Scheduled = database.schedule({ every: 60, batch: 4 });
  const record: Uint8Array = await scheduled.getIndex(7n);
  return scheduled.waiting > 10 ? [record] : Promise.all([scheduled.get("apple"), scheduled.get(new Uint8Array(3))]);
}

export async function lookUpThroughRelay(url: URL, keys: Uint8Array): Promise<Uint8Array | null> {
  using database = await connect(url, { relay: "https://relay.example", ohttpKeys: keys });
  await using other = await connect(url, { relay: new URL("https://relay.example/papir"), ohttpKeys: undefined });
  return (await database.get("apple")) ?? other.get("apple");
}

export async function lookUpAtSeveralServers(url: URL, others: readonly string[]): Promise<Uint8Array | null> {
  using database = await connect([url, ...others], { sequence: 3 });
  await using other = await connect(others);
  return (await database.get("apple")) ?? other.get("apple");
}

export async function lookUpWithStorage(url: URL, entries: Map<string, Uint8Array>): Promise<Uint8Array | null> {
  const storage: ClientStorage = {
    lock() {},
    async unlock() {},
    read: (slot, entry) => entries.get(`${slot}/${entry}`),
    replace: async (slot, entry, bytes) => void entries.set(`${slot}/${entry}`, bytes),
  };
  using database = await connect(url, { storage, known: true });
  return database.get("apple");
}

export async function lookUpWithTokens(url: URL, issuerToken: string): Promise<Uint8Array | null> {
  using database = await connect(url, { issuer: "https://issuer.example", issuerToken });
  await using other = await connect(url, { issuer: new URL("https://issuer.example:8443") });
  return (await database.get("apple")) ?? other.get("apple");
}

// @ts-expect-error There is no such option.
void connect("https://lookup.example", { tokn: "a" });
// @ts-expect-error A key is a string or bytes.
void connect("https://lookup.example").then((database) => database.get(7));
