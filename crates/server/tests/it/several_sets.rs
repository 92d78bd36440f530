//! Intersections with a set that several servers have.

use std::fs;
use std::path::{Path, PathBuf};

use papir_client::psi::Intersection;
use papir_client::{Error, ErrorGroup, Options, Pin};
use papir_core::{NoProgress, Run};
use papir_server::ServerConfig;
use papir_store::psi::{PsiOptions, prepare};
use tempfile::TempDir;
use tokio::runtime::Builder;

use crate::several::options;
use crate::support::files::owner;
use crate::support::tap::{Tap, Verdict, header};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, config, own_address, rng};

/// The path of an evaluation, which has the elements.
const EVALUATE: &str = "POST /v1/psi/evaluate";

over_both_transports!(
    a_server_of_a_set_that_stops_is_passed_over,
    a_server_that_fails_while_it_has_the_elements_is_passed_over,
    a_server_of_another_set_gets_no_elements,
    a_server_that_replaces_its_set_is_followed,
    a_set_that_must_be_signed_is_refused_at_each_server,
    the_choice_of_a_sets_server_does_not_depend_on_the_elements,
);

/// Prepares a set of 40 elements, with labels or without, as `set.psi` in a folder of its own.
fn set(directory: &Path, folder: &str, labels: bool) -> PathBuf {
    let folder = directory.join(folder);
    fs::create_dir_all(&folder).unwrap();
    let source = folder.join("set.tsv");
    let lines: String = (0..40).map(|i| line(i, labels)).collect();
    fs::write(&source, lines).unwrap();

    let out = folder.join("set.psi");
    let options = PsiOptions {
        labels,
        scheme: "simple".to_owned(),
        ..PsiOptions::new(&source, &out)
    };
    prepare(&options, &mut Run::new(&mut rng(), &NoProgress)).unwrap();
    out
}

/// The line of an element.
fn line(number: u64, labels: bool) -> String {
    match labels {
        true => format!("element {number}\tlabel of {number}\n"),
        false => format!("element {number}\n"),
    }
}

/// Serves a set at an address where nothing else listens later.
fn serve(set: &Path) -> Running {
    let config = ServerConfig {
        listen: own_address(),
        psi: Some(set.to_owned()),
        ..config()
    };
    Running::start_files(config).unwrap()
}

/// The positions of the elements that were found, and their labels as text.
fn found(intersection: &Intersection) -> Vec<(usize, String)> {
    let matches = intersection.matches.iter();
    matches
        .map(|one| {
            let label = String::from_utf8(one.label.clone()).unwrap();
            (one.index, label)
        })
        .collect()
}

/// A proxy before a server that cuts each evaluation.
fn cut(server: &Running) -> Tap {
    Tap::new(server.address, |head| match head.starts_with(EVALUATE) {
        true => Verdict::Cut,
        false => Verdict::Pass,
    })
}

/// The number of requests with elements among these.
fn evaluations(heads: &[String]) -> usize {
    let evaluations = heads.iter().filter(|head| head.starts_with(EVALUATE));
    evaluations.count()
}

fn a_server_of_a_set_that_stops_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    for labels in [false, true] {
        let file = set(directory.path(), "own", labels);
        let first = serve(&file);
        let second = serve(&file);
        let tap = Tap::passing(second.address);
        let urls = [first.url(), tap.url()];
        let options = options();

        let expected = match labels {
            true => vec![(1, "label of 7".to_owned())],
            false => vec![(1, String::new())],
        };
        let elements = ["none", "element 7"];
        let intersection = C::intersect_any(&urls, &elements, &options).unwrap();
        assert_eq!(found(&intersection), expected);
        assert_eq!(tap.take(), Vec::<String>::new());

        first.finish();
        let intersection = C::intersect_any(&urls, &elements, &options).unwrap();
        assert_eq!(found(&intersection), expected);
        let heads = tap.take();
        assert_eq!(evaluations(&heads), 1, "{heads:?}");
        let fetched = heads.iter().any(|head| head.contains("/psi/filter"));
        assert!(!fetched, "the same version: {heads:?}");
    }
}

fn a_server_that_fails_while_it_has_the_elements_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let file = set(directory.path(), "own", false);
    let servers = [serve(&file), serve(&file)];
    let urls = [cut(&servers[0]).url(), servers[1].url()];

    let intersection = C::intersect_any(&urls, &["element 3"], &options()).unwrap();
    assert_eq!(found(&intersection), [(0, String::new())]);
    // The elements are padded to 16 of 32 bytes, and were sent to both servers.
    assert_eq!(intersection.sent_bytes, 2 * 16 * 32);
}

fn a_server_of_another_set_gets_no_elements<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    for labels in [false, true] {
        let own = set(directory.path(), "own", labels);
        let again = set(directory.path(), "again", labels);
        let servers = [serve(&own), serve(&again)];
        let first = cut(&servers[0]);
        let second = Tap::passing(servers[1].address);
        let urls = [first.url(), second.url()];

        let error = C::intersect_any(&urls, &["element 3"], &options()).unwrap_err();
        assert!(matches!(&error, Error::NoServer { failures } if failures.len() == 2));
        assert!(error.is_retryable(), "the first server may return");
        let text = error.to_string();
        let expected = format!("as at {}", first.url());
        for part in ["the set has version ", "expected version ", &expected] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let heads = second.take();
        assert_eq!(evaluations(&heads), 0, "{heads:?}");
    }
}

fn a_server_that_replaces_its_set_is_followed<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let file = set(directory.path(), "own", false);
    let next = set(directory.path(), "next", false);
    let server = serve(&file);

    // Between the description and the elements, for which the server has another key by then.
    let handle = server.handle.clone();
    let tap = Tap::new(server.address, move |head| {
        if head.starts_with(EVALUATE) && next.exists() {
            fs::rename(&next, &file).unwrap();
            let runtime = Builder::new_current_thread().build().unwrap();
            runtime.block_on(handle.reload()).unwrap();
        }
        Verdict::Pass
    });
    let urls = [tap.url(), "http://127.0.0.1:1".to_owned()];

    let intersection = C::intersect_any(&urls, &["element 3"], &options()).unwrap();
    assert_eq!(found(&intersection), [(0, String::new())]);
    assert_eq!(evaluations(&tap.take()), 2, "with fresh blinds");
}

fn a_set_that_must_be_signed_is_refused_at_each_server<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let file = set(directory.path(), "own", false);
    let servers = [serve(&file), serve(&file)];
    let urls = servers.each_ref().map(Running::url);

    let mut given = options();
    given.checkpoint.owner = Some(owner().public());
    let error = C::intersect_any(&urls, &["element 3"], &given).unwrap_err();
    assert_eq!(error.group(), ErrorGroup::Verification);
    assert_eq!(error.to_string().matches("has no checkpoint").count(), 2);

    // Otherwise a set needs no signature, and nothing that is pinned.
    let trusting = Options {
        pin: Pin::Nothing,
        ..options()
    };
    C::intersect_any(&urls, &["element 3"], &trusting).unwrap();
}

/// The requests that two servers receive for an intersection, while the first cuts evaluations:
/// their first lines and the lengths of their bodies.
fn observed<C: AnyConnection>(file: &Path, elements: &[&str]) -> [Vec<String>; 2] {
    let servers = [serve(file), serve(file)];
    let first = cut(&servers[0]);
    let second = Tap::passing(servers[1].address);
    let urls = [first.url(), second.url()];

    C::intersect_any(&urls, elements, &options()).unwrap();
    [first.take(), second.take()].map(|heads| heads.iter().map(|head| summary(head)).collect())
}

/// The first line of a request, and the length of its body.
fn summary(head: &str) -> String {
    let line = head.lines().next().unwrap_or_default();
    format!("{line} {}", header(head, "content-length"))
}

fn the_choice_of_a_sets_server_does_not_depend_on_the_elements<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    for labels in [false, true] {
        let file = set(directory.path(), "own", labels);
        let present = observed::<C>(&file, &["element 1", "element 2"]);
        for server in &present {
            assert!(evaluations(server) >= 1, "{server:?}");
        }

        for elements in [["none", "at all"], ["element 1", "element 1"]] {
            assert_eq!(observed::<C>(&file, &elements), present);
        }
    }
}
