// Addresses, as the module reads them.

/** The path of a service's databases. */
const DATABASES = "/v1/databases";

/** The address of a service, without a database and slashes at its end. */
export function serviceOf(url) {
  const [before] = url.split(DATABASES);
  return withoutSlashes(before);
}

/** An address without slashes at its end. */
export function withoutSlashes(url) {
  return url.replace(/\/+$/, "");
}
