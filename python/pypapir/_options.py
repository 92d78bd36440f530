"""Options of clients, and settings of services."""

import os
from collections.abc import Sequence
from typing import Literal, TypedDict


class ConnectOptions(TypedDict, total=False):
    """Options of `connect`. Times are in seconds.

    Attributes:
        database: The name of the database, if the service has several.
        token: A token for the service.
        insecure_http: True if the token may be sent over plain HTTP to another machine, or through a relay without
            `ohttp_keys`, which can then read it; False by default.
        ca: A PEM file of root certificates, in place of the public ones.
        owner: The public key that must have signed the database.
        max_age: The most that a signed version may be old. A database that is not signed is refused.
        sequence: The lowest sequence of a signed version that is accepted. A database that is not signed is refused.
        witnesses: Public keys of witnesses, whose signatures beside the owner's are counted.
        cosignatures: The number of these witnesses that must have signed.
        pin: True if the owner's key is remembered from its first use; True by default.
        root: The root of a verifiable database, against which every record is verified.
        state: The directory of registered clients, pins and copies of public parts.
        passphrase: The passphrase that encrypts registrations in this directory.
        cache: True if public parts are kept in this directory; True by default.
        known: True (or `use`) if the version that an earlier connection kept in this directory is used without asking
            for the newest one. A lookup is then one request, and a newer version is fetched once the service refuses
            the known one. With `renew` the newest one is fetched and kept in its place, and queries in messages that
            wait for their answers are dropped. False (or `ask`) by default.
        patches: When a kept public part of an earlier version is brought up to date by the blocks that have changed,
            from which the service learns the version of the copy: `never`, `always`, or `auto`, the default, which
            does so without a relay, if the owner of a signed database was pinned before, or if this connection has
            fetched the copy's version.
        prefilter: True if the filter of the database's keys is used, if its owner has added one; True by default.
            Nothing is then sent for keys that it excludes, and the service learns of each lookup that its key is
            probably present. It is not used with `known`.
        hide_times: True if lookups outside a schedule are refused with the code `unscheduled`; False by default.
        owner_key: The key of an encrypted database: the line in its file.
        allow_not_private: True if a scheme that hides nothing is allowed; False by default.
        proxy: The proxy, as `socks5://HOST:PORT` or `http://NAME:PASSWORD@HOST:PORT`, or `none` for direct
            connections. By default it is the one of the variables HTTPS_PROXY, HTTP_PROXY and ALL_PROXY.
        relay: The relay of Oblivious HTTP, as `https://HOST`, through which everything goes. The service then does not
            see this machine's address. `ca`, `proxy` and `insecure_http` apply to the relay.
        ohttp_keys: A file with the keys of the service's gateway. By default they are fetched through the relay, which
            can then replace them and read everything; a token is refused then. With `owner`, only fetched keys are
            used that the owner of the database names, and a token is sent.
        issuer: The issuer of private tokens, as `https://HOST`, for a service that demands them. Tokens are kept in the
            directory of client state. `ca`, `proxy` and `insecure_http` apply to the issuer, and `relay` does not.
        issuer_token: A token for the issuer.
        max_download: The longest public part that is fetched, in bytes; 1 GiB by default.
        patience: How long a busy service is tried again; 60 by default.
        timeout: The most that a call takes, with all its waits and retries: `connect`, and each lookup. Unlimited by
            default.
        freshness: The age of a version after which a lookup first asks for a newer one, if changes of the
            database are published beside it; 10 by default.
    """

    database: str | None
    token: str | None
    insecure_http: bool
    ca: str | os.PathLike[str] | None
    owner: str | None
    max_age: float | None
    sequence: int | None
    witnesses: Sequence[str]
    cosignatures: int
    pin: bool
    root: str | None
    state: str | os.PathLike[str] | None
    passphrase: str | None
    cache: bool
    known: bool | Literal["ask", "use", "renew"]
    patches: Literal["auto", "always", "never"]
    prefilter: bool
    hide_times: bool
    owner_key: str | None
    allow_not_private: bool
    proxy: str | None
    relay: str | None
    ohttp_keys: str | os.PathLike[str] | None
    issuer: str | None
    issuer_token: str | None
    max_download: int | None
    patience: float | None
    timeout: float | None
    freshness: float | None


class ServeSettings(TypedDict, total=False):
    """Settings of `serve`. Times are in seconds.

    Attributes:
        listen: An address with a port, or `unix:PATH`; `127.0.0.1:0`, the default, picks a free port.
        threads: The number of answering threads; by default one for each processor.
        tokens: A file of `papir tokens`. Without one, anyone who reaches the service may query it.
        tls_cert: A PEM file of the certificate chain.
        tls_key: A PEM file of its key.
        watch: How often the files are checked for new versions; never by default.
        keep_old: How long a replaced version is still answered.
        mapped: True if snapshots stay in their files, in place of memory.
        metrics: True if the service has `/metrics`; True by default.
        max_queued: The most requests that wait.
        allow_not_private: True if a scheme that hides nothing is allowed; False by default.
    """

    listen: str
    threads: int
    tokens: str | os.PathLike[str] | None
    tls_cert: str | os.PathLike[str] | None
    tls_key: str | os.PathLike[str] | None
    watch: float | None
    keep_old: float
    mapped: bool
    metrics: bool
    max_queued: int
    allow_not_private: bool


def addresses(url: str | Sequence[str]) -> list[str]:
    """The addresses of the services, of which a single one may be given as it is."""
    return [url] if isinstance(url, str) else list(url)
