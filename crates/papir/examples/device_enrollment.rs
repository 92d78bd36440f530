//! Private enrollment of devices.
//!
//! This is the application of section 8.2 of the InsPIRe paper (Mahdavi, Patel, Seo, Yeo 2025). At
//! its first start, a new device asks for the organisation that it belongs to, if there is one. The
//! service that answers should not learn which devices start, nor that a device belongs to nobody.
//! The device had no occasion to fetch anything before, so InsPIRe⁽²⁾ suits it: the device sends
//! few bytes and stores nothing.
//!
//! Devices are found by their serial numbers: the table arranges 64 bytes for each enrolled device in
//! buckets, which are the scheme's records.
//!
//! The example runs in one process, without a network, with 100,000 devices by default. The paper
//! has 20, 40 and 80 million: `papir-papers --table inspire-7`, and `papir bench devices`.
//!
//! `cargo run --release -p papir --example device_enrollment -- [DEVICES]`

use std::time::Instant;

use papir::{Database, Goal, Options, Result, client_of, system_rng};

/// Bytes of an enrollment. It has the organisation's name, padded with zeros, and a token for its
/// service.
const ENROLLMENT_BYTES: usize = 64;
const NAME_BYTES: usize = 32;
const ORGANISATIONS: [&str; 4] = [
    "City Library",
    "Elm Street School",
    "Harbour Hospital",
    "Northern Railway",
];

fn main() -> Result<()> {
    let devices = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(100_000);
    let service = Service::new(devices)?;
    println!("{devices} devices are enrolled; {}", service.parameters());
    for number in [0, devices / 2, devices] {
        let start = Instant::now();
        let started = start_device(&service, &serial(number))?;
        let whose = started.organisation.as_deref().unwrap_or("nobody");
        let milliseconds = 1e3 * start.elapsed().as_secs_f64();
        let Started {
            fetched,
            sent,
            received,
            ..
        } = started;
        println!(
            "{}  belongs to {whose}: fetched {fetched} bytes, sent {sent}, received {received}, {milliseconds:.1} ms",
            serial(number)
        );
    }
    Ok(())
}

/// The service that knows all enrolled devices.
struct Service {
    database: Database,
}

impl Service {
    /// Enrolls devices 0 to `devices`.
    fn new(devices: u64) -> Result<Self> {
        let options = Options {
            scheme: "inspire2".to_owned(),
            goal: Goal::MinCommunication,
            ..Options::default()
        };
        let pairs = (0..devices).map(|number| (serial(number), enrollment(number)));
        Ok(Self {
            database: Database::build(pairs, &options)?,
        })
    }

    fn parameters(&self) -> String {
        let description = self.database.describe();
        let security = description.security.map_or(0.0, |security| security.bits);
        format!(
            "{} buckets, {security} bits of security",
            description.shape.records()
        )
    }
}

/// Returns a device's serial number.
fn serial(number: u64) -> String {
    format!("SN-{number:010}")
}

fn enrollment(number: u64) -> Vec<u8> {
    let name = ORGANISATIONS[number as usize % ORGANISATIONS.len()];
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(NAME_BYTES, 0);
    bytes.extend(
        number
            .to_be_bytes()
            .repeat((ENROLLMENT_BYTES - NAME_BYTES) / 8),
    );
    bytes
}

/// The result of a device's first start, and its traffic in bytes.
struct Started {
    organisation: Option<String>,
    fetched: usize,
    sent: usize,
    received: usize,
}

/// Starts a device for the first time: it fetches the public part, and looks itself up.
fn start_device(service: &Service, serial: &str) -> Result<Started> {
    let bundle = service.database.bundle();
    let client = client_of(&bundle)?;
    let pending = client.prepare_key(serial.as_bytes(), &mut system_rng())?;
    let sent = pending.queries().iter().map(Vec::len).sum();
    let answers = service.database.answer(pending.queries())?;
    let received = answers.iter().map(Vec::len).sum();
    let organisation = pending
        .finish(&answers)?
        .map(|bytes| organisation_of(&bytes));
    Ok(Started {
        organisation,
        fetched: bundle.len(),
        sent,
        received,
    })
}

/// Returns the name in an enrollment.
fn organisation_of(enrollment: &[u8]) -> String {
    let name = enrollment
        .iter()
        .copied()
        .take(NAME_BYTES)
        .take_while(|&byte| byte != 0);
    String::from_utf8_lossy(&name.collect::<Vec<_>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_learn_whose_they_are_and_their_traffic_is_the_same() -> Result<()> {
        let service = Service::new(2000)?;
        let [first, last, stranger] =
            [0, 1999, 2000].map(|number| start_device(&service, &serial(number)));
        let first = first?;
        let last = last?;
        let stranger = stranger?;
        assert_eq!(first.organisation.as_deref(), Some("City Library"));
        assert_eq!(last.organisation.as_deref(), Some("Northern Railway"));
        assert_eq!(stranger.organisation, None);
        let traffic = |started: &Started| [started.fetched, started.sent, started.received];
        assert_eq!(
            [traffic(&last), traffic(&stranger)],
            [traffic(&first), traffic(&first)]
        );
        Ok(())
    }
}
