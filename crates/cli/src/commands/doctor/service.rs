//! Checks of a running service, over the network.

use std::time::{Duration, Instant, SystemTime};

use papir_client::core::Address;
use papir_client::psi::{self, PsiInfo};
use papir_client::{Connection, Error, FinalFailure, Options, Probe};
use papir_plan::units;

use super::finding::{Finding, RENEW_BEFORE};
use super::machine::days;
use crate::arguments::connecting;
use crate::relayed_sizes;

/// Difference of clocks from which on times in tokens and checkpoints go wrong.
const CLOCK_WARN: Duration = Duration::from_secs(60);
/// Difference of clocks from which on certificates and checkpoints are refused.
const CLOCK_FAIL: Duration = Duration::from_secs(3600);
/// A key that no database has.
const ABSENT_KEY: &[u8] = b"papir doctor: a key that no database has";

/// Checks a service. Later checks need the earlier ones, and are left out after a failure.
pub(super) fn check(url: &str, options: &Options) -> Vec<Finding> {
    let probe = match papir_client::probe(url, options) {
        Ok(probe) => probe,
        Err(error) => return vec![unreachable(error)],
    };

    let mut findings = vec![Finding::ok("connection", url)];
    findings.extend(probe.relay.as_deref().map(relay));
    findings.push(certificate(url, &probe));
    findings.extend(clock(&probe));
    findings.push(readiness(&probe));

    match Connection::open_with(url, options) {
        Ok(mut connection) => {
            findings.push(token(options));
            findings.extend(database(&connection));
            findings.push(lookup(&mut connection));
        }
        Err(error @ Error::ChooseDatabase { .. }) => match psi::describe(url, options) {
            Ok(set) => findings.extend([token(options), self::set(&set)]),
            Err(_) => findings.push(refused(error)),
        },
        Err(error) => findings.push(refused(error)),
    }
    findings
}

/// The finding for a service that has a set, and no database by name.
fn set(set: &PsiInfo) -> Finding {
    let PsiInfo {
        elements,
        version,
        kind,
        ..
    } = set;
    Finding::ok(
        "version",
        format!("set of {elements} elements, version {version}, matched by {kind}"),
    )
}

/// The finding for a service that does not answer.
fn unreachable(error: Error) -> Finding {
    let source = match &error {
        Error::Transport { source, .. } => Some(source.as_ref()),
        Error::Relay { failure, .. } => Some(failure.source.as_ref()),
        _ => None,
    };
    let failure = source.and_then(|source| source.downcast_ref::<FinalFailure>());

    let check = match &error {
        Error::Transport { .. } | Error::Relay { .. } => match failure {
            Some(FinalFailure::Certificate { .. } | FinalFailure::ProxyCertificate { .. }) => {
                "certificate"
            }
            Some(FinalFailure::ClientCertificate { .. }) => "client certificate",
            Some(FinalFailure::ProxyLogin { .. }) => "proxy",
            _ if matches!(error, Error::Relay { .. }) => "relay",
            _ => "connection",
        },
        Error::TimedOut { .. } => "connection",
        Error::BadProxy { .. } => "proxy",
        Error::BadRelay { .. } | Error::BadOhttpKeys { .. } => "relay",
        Error::BadIssuer { .. } | Error::NoIssuer { .. } | Error::BadChallenge { .. } => "issuer",
        _ => "address",
    };

    // The order matters: every final failure is of the transport, and the more special ones come
    // first.
    let fix = match (&error, check) {
        (_, "certificate") => {
            "give --ca FILE with the issuer or the certificate itself, or renew it (SIGHUP loads it)"
        }
        (_, "client certificate") => {
            "give --client-cert FILE and --client-key FILE, signed by an authority in the service's --client-ca"
        }
        (_, "proxy") => "give --proxy URL, or --proxy none for a direct connection",
        (Error::BadRelay { .. } | Error::BadOhttpKeys { .. }, _) => {
            "give --relay https://host, and --ohttp-keys FILE with the gateway's keys"
        }
        (_, "issuer") => "give --issuer https://host, and --issuer-token FILE",
        _ if failure.is_some() => "use the other scheme",
        (_, "relay") => {
            "is the relay running, does it know this service, and does the service have a gateway?"
        }
        (_, "connection") => {
            "is the service running, and does --listen name an address that is reachable from here?"
        }
        _ => "give http://host:port, https://host:port or unix:/path/of/a/socket",
    };

    Finding::fail(check, connecting::explain(error), fix)
}

/// The finding for the relay that all checks of the service go through.
fn relay(url: &str) -> Finding {
    Finding::ok("relay", format!("{url}, which everything goes through"))
}

fn certificate(url: &str, probe: &Probe) -> Finding {
    let Some(certificate) = &probe.certificate else {
        let peer = probe.relay.as_deref().unwrap_or(url);
        return match Address::parse(peer).is_ok_and(|address| address.is_local()) {
            true => Finding::ok("certificate", "none: the connection stays on this machine"),
            false if probe.relay.is_some() => Finding::warn(
                "certificate",
                "none: others on the network can replace the keys that the relay carries",
                "give an https relay, or --ohttp-keys FILE",
            ),
            false => Finding::warn(
                "certificate",
                "none: others on the network read the token, the database's name and the times of queries",
                "serve with --tls-cert and --tls-key, or behind a proxy with TLS",
            ),
        };
    };

    // The handshake has verified issuer, name and validity.
    let left = certificate
        .not_after
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    let trusted = match &probe.roots {
        Some(roots) => format!(", trusted by {roots}"),
        None => String::new(),
    };
    let left_days = days(left);
    let detail = format!("{certificate}, valid for {left_days} more days{trusted}");

    match left < RENEW_BEFORE {
        true => Finding::warn(
            "certificate",
            detail,
            "renew it soon: the service loads a new one at SIGHUP",
        ),
        false => Finding::ok("certificate", detail),
    }
}

/// Compares the clocks. `None` if the service sends no time.
fn clock(probe: &Probe) -> Option<Finding> {
    // A service behind a proxy may have no `Date`, or one of the proxy: its absence is no fault.
    let theirs = httpdate::parse_http_date(probe.date.as_deref()?).ok()?;
    let ours = SystemTime::now();
    let apart = ours
        .duration_since(theirs)
        // The error has the distance in the other direction. Either clock may be the wrong one.
        .unwrap_or_else(|error| error.duration());

    let detail = format!("{} s apart", apart.as_secs());
    let fix = "synchronise both clocks (NTP): tokens, certificates and checkpoints have times";
    Some(match apart {
        _ if apart >= CLOCK_FAIL => Finding::fail("clock", detail, fix),
        _ if apart >= CLOCK_WARN => Finding::warn("clock", detail, fix),
        _ => Finding::ok("clock", detail),
    })
}

fn readiness(probe: &Probe) -> Finding {
    match probe.ready {
        true => Finding::ok("ready", "all databases are loaded"),
        false => Finding::fail(
            "ready",
            "not all databases are loaded, or the client registry failed",
            "wait, and see the service's log",
        ),
    }
}

fn token(options: &Options) -> Finding {
    match options.token {
        Some(_) => Finding::ok("token", "accepted"),
        None => Finding::ok("token", "none was given, and the service needs none"),
    }
}

/// The finding for a service that does not show its database.
fn refused(error: Error) -> Finding {
    // The named check is the setting to look at, and not the request that happened to fail.
    let (check, fix) = match &error {
        Error::Http { status: 401, .. } => (
            "token",
            "give a valid one by --token-file (papir tokens FILE add makes one)",
        ),
        Error::Http { status: 403, .. } => (
            "token",
            "give one with the scope query and this database (papir tokens FILE list)",
        ),
        Error::Http { status: 429, .. } => {
            ("limits", "wait, or raise --rate, --burst or --per-client")
        }
        Error::Http {
            status: 502..=504, ..
        } => ("ready", "wait, and see the service's log"),
        Error::NoSuchDatabase { .. } | Error::ChooseDatabase { .. } => {
            ("database", "give --database NAME")
        }
        Error::Checkpoint { .. } | Error::NoCheckpoint { .. } | Error::Root { .. } => (
            "signature",
            "ask the owner: the service shows what its owner did not sign",
        ),
        Error::Relay { .. } => ("relay", "see the logs of the relay and of the service"),
        // The probe has no token, which needs the gateway's keys.
        Error::BadRelay { .. } => ("relay", "give --ohttp-keys FILE with the gateway's keys"),
        _ => (
            "version",
            "the service and this program may be of different versions: papir --version",
        ),
    };

    Finding::fail(check, connecting::explain(error), fix)
}

fn database(connection: &Connection) -> Vec<Finding> {
    let mut findings = vec![version(connection)];

    if let Some(accepted) = connection.checkpoint() {
        let leaf = &accepted.leaf;
        let signed = SystemTime::UNIX_EPOCH + Duration::from_secs(leaf.time);
        let age = days(SystemTime::now().duration_since(signed).unwrap_or_default());
        findings.push(Finding::ok(
            "signature",
            format!(
                "sequence {}, {age} days old, by {}",
                leaf.sequence, accepted.owner
            ),
        ));
    }

    let public = connection.lookup().describe().sizes.public;
    findings.push(Finding::ok(
        "download",
        format!("{} once a version", units::bytes(public)),
    ));
    let sealed = relayed_sizes::of_service(connection);
    findings.push(Finding::ok("messages", relayed_sizes::sentence(sealed)));
    findings
}

fn version(connection: &Connection) -> Finding {
    let info = connection.info();
    let detail = format!(
        "database {}, version {}, scheme {}",
        info.name, info.version, info.scheme
    );

    match info.private {
        true => Finding::ok("version", detail),
        false => Finding::fail(
            "version",
            format!("{detail}, which is not private"),
            "build it with another --scheme: this one shows every query to the service",
        ),
    }
}

/// Sends one query as a client does, which shows the limits of the service and of proxies before
/// it.
fn lookup(connection: &mut Connection) -> Finding {
    let description = connection.lookup().describe();
    // A registration costs the service memory for weeks, and a diagnosis must not.
    if description.limits.client_keys {
        let keys = units::bytes(description.sizes.keys);
        return Finding::ok(
            "lookup",
            format!("not tried: a client first registers {keys} of keys"),
        );
    }

    let start = Instant::now();
    // An absent key is looked up like any other, and no value is fetched that was not asked for.
    let answered = match connection.info().keyed {
        true => connection.get_key(ABSENT_KEY).map(drop),
        false => connection.get_index(0).map(drop),
    };

    let query = units::bytes(description.sizes.query);
    match answered {
        Ok(()) => {
            let time = units::seconds(start.elapsed().as_secs_f64());
            Finding::ok(
                "lookup",
                format!("answered in {time}, with a query of {query}"),
            )
        }
        // A papir service allows the queries of its own databases, so it is a proxy that does not.
        Err(error @ Error::Http { status: 413, .. }) => Finding::fail(
            "limits",
            connecting::explain(error),
            &format!("allow bodies of {query} in the proxy before the service"),
        ),
        Err(error @ Error::Http { status: 429, .. }) => Finding::warn(
            "limits",
            connecting::explain(error),
            "wait, or raise --rate, --burst, --per-client or --max-queued",
        ),
        Err(error) => Finding::fail(
            "lookup",
            connecting::explain(error),
            "see the service's log",
        ),
    }
}
