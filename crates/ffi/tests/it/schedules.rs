//! Lookups at fixed times.

use std::sync::Arc;
use std::time::Duration;

use papir_ffi::{Database, ErrorKind, LookupSchedule, Options, PapirError};
use tokio::task::JoinHandle;

use crate::support::{Service, capitals, options, serve, stored_in};

/// A time between two requests that is short for tests.
const EVERY: Duration = Duration::from_millis(20);

async fn connect(service: &Service) -> Database {
    Database::connect(service.url.clone(), stored_in(&Arc::default()))
        .await
        .unwrap()
}

/// The value of a key, through the call that consumes one reference.
async fn get(schedule: &Arc<LookupSchedule>, key: &str) -> Option<Vec<u8>> {
    let schedule = Arc::clone(schedule);
    schedule.get(key.as_bytes().to_vec()).await.unwrap()
}

/// A task that waits for the value of a key.
async fn submitted(
    schedule: &Arc<LookupSchedule>,
) -> JoinHandle<Result<Option<Vec<u8>>, PapirError>> {
    let waiting = tokio::spawn(Arc::clone(schedule).get(b"Peru".to_vec()));
    while schedule.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    waiting
}

/// The kind and the code of an error.
fn kind_and_code(error: PapirError) -> (ErrorKind, String) {
    let PapirError::Failed { kind, code, .. } = error;
    (kind, code)
}

#[tokio::test]
async fn scheduled_keys_are_looked_up() {
    let service = capitals("simple").await;
    let database = connect(&service).await;
    let schedule = database.schedule(EVERY, 2).await.unwrap();

    assert_eq!(get(&schedule, "Peru").await.unwrap(), b"Lima");
    assert_eq!(get(&schedule, "Atlantis").await, None);
    assert_eq!(schedule.waiting(), 0);

    let index = Arc::clone(&schedule).get_index(0).await.unwrap_err();
    assert_eq!(kind_and_code(index).1, "keyed");
    let long = Arc::clone(&schedule).get(vec![0; 5000]).await.unwrap_err();
    assert_eq!(kind_and_code(long).1, "out_of_bounds");

    // The database can be used beside it, and freed.
    assert_eq!(
        database.get(b"Kenya".to_vec()).await.unwrap().unwrap(),
        b"Nairobi"
    );
    drop(database);
    assert_eq!(get(&schedule, "Kenya").await.unwrap(), b"Nairobi");
}

#[tokio::test]
async fn a_client_that_hides_times_looks_up_in_schedules_only() {
    let service = capitals("simple").await;
    let options = Options {
        hide_times: true,
        ..stored_in(&Arc::default())
    };
    let database = Database::connect(service.url.clone(), options)
        .await
        .unwrap();

    let refused = database.get(b"Peru".to_vec()).await.unwrap_err();
    assert_eq!(kind_and_code(refused).1, "unscheduled");
    let schedule = database.schedule(EVERY, 2).await.unwrap();
    assert_eq!(get(&schedule, "Peru").await.unwrap(), b"Lima");
}

#[tokio::test]
async fn scheduled_indices_are_looked_up() {
    let records = papir::RecordBuffer::from_records((0..40u8).map(|index| [index; 3])).unwrap();
    let service =
        serve(papir::Database::build_records(&records, &options("simple")).unwrap()).await;
    let schedule = connect(&service).await.schedule(EVERY, 3).await.unwrap();

    let record = Arc::clone(&schedule).get_index(39).await.unwrap();
    assert_eq!(record, [39; 3]);
    let beyond = Arc::clone(&schedule).get_index(40).await.unwrap_err();
    assert_eq!(kind_and_code(beyond).1, "index_out_of_range");
}

#[tokio::test]
async fn requests_are_sent_while_nothing_is_looked_up() {
    let service = capitals("simple").await;
    let database = connect(&service).await;
    let info = database.info().await;
    let schedule = database.schedule(EVERY, 3).await.unwrap();

    while schedule.costs().requests < 3 {
        tokio::time::sleep(EVERY).await;
    }
    let sent = schedule.costs().query_bytes;
    assert!(sent >= 3 * 3 * info.query_bytes, "{sent}");
}

#[tokio::test]
async fn the_end_of_a_schedule_fails_lookups_that_wait() {
    let service = capitals("simple").await;
    let hour = Duration::from_secs(3600);
    let schedule = connect(&service).await.schedule(hour, 1).await.unwrap();

    let waiting = submitted(&schedule).await;

    // The last reference of the application: the call that waits has none.
    drop(schedule);
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        kind_and_code(error),
        (ErrorKind::Other, "schedule_closed".to_owned())
    );
}

#[tokio::test]
async fn a_cancelled_lookup_keeps_its_place() {
    let service = capitals("simple").await;
    let hour = Duration::from_secs(3600);
    let schedule = connect(&service).await.schedule(hour, 1).await.unwrap();
    let waiting = submitted(&schedule).await;

    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(schedule.waiting(), 1);
}

#[tokio::test]
async fn a_schedule_outlives_the_timeout_of_the_call_that_started_it() {
    let service = capitals("simple").await;
    let timeout = Duration::from_secs(3);
    let options = Options {
        timeout: Some(timeout),
        ..stored_in(&Arc::default())
    };

    let database = Database::connect(service.url.clone(), options)
        .await
        .unwrap();
    let schedule = database.schedule(EVERY, 1).await.unwrap();
    tokio::time::sleep(timeout).await;
    assert_eq!(get(&schedule, "Peru").await.unwrap(), b"Lima");
}

#[tokio::test]
async fn impossible_schedules_are_refused() {
    let service = capitals("simple").await;
    let database = connect(&service).await;
    for (every, batch) in [(Duration::ZERO, 1), (EVERY, 0), (EVERY, u32::MAX)] {
        let error = database.schedule(every, batch).await.err().unwrap();
        let expected = (ErrorKind::Other, "schedule".to_owned());
        assert_eq!(kind_and_code(error), expected, "{every:?}, {batch}");
    }
}
