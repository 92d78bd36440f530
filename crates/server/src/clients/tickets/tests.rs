//! Tables of one client, step by step.

use super::super::numbers::TicketCounts;
use super::super::quota::Quota;
use super::super::test_stores::TestStore;
use super::*;

const OLD: Version = Version([1; 8]);
const NEW: Version = Version([2; 8]);
const QUOTA: Quota = Quota {
    clients: 10,
    bytes: 1000,
};

struct Table {
    store: TestStore,
}

impl Table {
    /// A client with tickets 0 to 3 of the old version, in each kind of storage.
    fn of_each_kind() -> impl Iterator<Item = Self> {
        TestStore::of_each_kind().into_iter().map(|store| {
            store
                .add(
                    "a",
                    id(),
                    &ClientRow::new([0; 16], 10, OLD, 0, 1000),
                    QUOTA,
                    0,
                )
                .unwrap();

            let table = Self { store };
            (0..4).for_each(|number| table.put(OLD, number));
            table
        })
    }

    fn put(&self, version: Version, number: u64) {
        assert!(
            self.store
                .put_ticket("a", id(), version, number, &[number as u8; 3])
                .unwrap()
        );
    }

    fn take(
        &self,
        version: Version,
        uses: &[(u64, u8)],
    ) -> std::result::Result<Vec<Vec<u8>>, TakeError> {
        let claim = |&(number, hash): &(u64, u8)| Claim {
            number,
            version,
            hash: [hash; 32],
        };
        let claims: Vec<Claim> = uses.iter().map(claim).collect();
        let taken = self.store.take_tickets("a", id(), &claims, |_| {}, 16)?;
        Ok(taken.into_iter().flatten().collect())
    }

    fn numbers(&self) -> Numbers {
        self.store.numbers(id()).unwrap()
    }

    fn row(&self) -> ClientRow {
        self.store.get("a", id()).unwrap().unwrap()
    }
}

fn id() -> ClientId {
    ClientId::of(7)
}

#[test]
fn a_used_ticket_is_available_only_to_the_identical_query() {
    Table::of_each_kind().for_each(|table| {
        for _ in 0..3 {
            assert_eq!(table.take(OLD, &[(1, 9)]).unwrap(), [[1; 3]]);
        }
        assert!(matches!(
            table.take(OLD, &[(1, 8)]),
            Err(TakeError::Used(1))
        ));
        assert_eq!(table.row().next_ticket, 2);

        assert_eq!(
            table.take(OLD, &[(0, 8)]).unwrap(),
            [[0; 3]],
            "an older ticket that is ready"
        );
        assert_eq!(table.row().next_ticket, 2);

        let claims = [Claim {
            number: 2,
            version: OLD,
            hash: [0; 32],
        }];
        let stranger = table
            .store
            .take_tickets("a", ClientId::of(8), &claims, |_| {}, 16);
        assert!(matches!(stranger, Err(TakeError::Gone)));
    });
}

#[test]
fn a_refused_query_claims_its_number() {
    Table::of_each_kind().for_each(|table| {
        assert!(matches!(
            table.take(OLD, &[(4, 8)]),
            Err(TakeError::NotReady(4))
        ));
        assert_eq!(table.row().next_ticket, 5);
        assert!(table.numbers().lacks(OLD, 4), "it is still to be prepared");

        table.put(OLD, 4);
        assert!(matches!(
            table.take(OLD, &[(4, 9)]),
            Err(TakeError::Used(4))
        ));
        assert_eq!(table.take(OLD, &[(4, 8)]).unwrap(), [[4; 3]]);
    });
}

#[test]
fn a_query_for_a_version_that_is_not_answered_claims_its_number() {
    Table::of_each_kind().for_each(|table| {
        table.take(OLD, &[(0, 8)]).unwrap();
        for _ in 0..2 {
            table
                .store
                .claim_unanswered("a", id(), &[0, 2, u64::MAX], 16)
                .unwrap();
        }

        assert_eq!(
            table.take(OLD, &[(0, 8)]).unwrap(),
            [[0; 3]],
            "the first claim stays"
        );
        assert_eq!(table.row().next_ticket, 3);
        assert_eq!(table.row().ticket_bytes, 3 * 3, "no query gets ticket 2");

        for version in [OLD, NEW] {
            assert!(matches!(
                table.take(version, &[(2, 0)]),
                Err(TakeError::Used(2))
            ));
            assert!(!table.numbers().lacks(version, 2));
        }

        table
            .store
            .claim_unanswered("a", ClientId::of(8), &[0], 16)
            .unwrap();
    });
}

#[test]
fn tickets_are_taken_all_or_none() {
    Table::of_each_kind().for_each(|table| {
        let three = [(2, 1), (3, 1), (4, 1)];
        assert!(matches!(
            table.take(OLD, &three),
            Err(TakeError::NotReady(4))
        ));
        assert_eq!(table.row().next_ticket, 5);

        assert!(matches!(
            table.take(OLD, &[(2, 2), (5, 2)]),
            Err(TakeError::Used(2))
        ));
        assert!(
            matches!(table.take(OLD, &[(5, 3)]), Err(TakeError::Used(5))),
            "claimed by a refused query"
        );

        table.put(OLD, 4);
        assert_eq!(table.take(OLD, &three).unwrap(), [[2; 3], [3; 3], [4; 3]]);
        assert_eq!(table.numbers().counts(), TicketCounts { ready: 2, used: 4 });
    });
}

#[test]
fn tickets_are_ready_up_to_the_first_gap() {
    Table::of_each_kind().for_each(|table| {
        let ready = || table.numbers().ready_from(OLD, table.row().next_ticket);
        table.put(OLD, 5);
        table.put(NEW, 4);
        assert_eq!(ready(), 4);

        table.take(OLD, &[(1, 1)]).unwrap();
        assert_eq!(ready(), 2, "without the skipped ticket 0");

        table.put(OLD, 4);
        assert_eq!(ready(), 4);
        assert_eq!(table.numbers().ready_from(NEW, 5), 0);
        assert_eq!(table.numbers().ready_from(OLD, u64::MAX), 0);
        assert_eq!(
            table
                .store
                .numbers(ClientId::of(6))
                .unwrap()
                .ready_from(OLD, 0),
            0
        );
    });
}

/// Queries are lost before the service sees them; it follows the client's numbers.
#[test]
fn a_client_that_is_far_ahead_is_not_shut_out() {
    Table::of_each_kind().for_each(|table| {
        assert!(matches!(
            table.take(OLD, &[(1000, 1)]),
            Err(TakeError::NotReady(1000))
        ));

        table.put(OLD, 1000);
        assert_eq!(table.take(OLD, &[(1000, 1)]).unwrap(), [[1000u64 as u8; 3]]);
        assert!(matches!(
            table.take(OLD, &[(3, 1)]),
            Err(TakeError::Used(3))
        ));
    });
}

#[test]
fn a_number_is_used_in_one_version_only() {
    Table::of_each_kind().for_each(|table| {
        (0..4).for_each(|number| table.put(NEW, number));
        assert_eq!(table.row().ticket_bytes, 8 * 3);

        table.take(OLD, &[(0, 1)]).unwrap();
        assert!(matches!(
            table.take(NEW, &[(0, 1)]),
            Err(TakeError::Used(0))
        ));
        assert!(
            !table.store.put_ticket("a", id(), NEW, 0, b"late").unwrap(),
            "used meanwhile"
        );
        assert!(!table.numbers().lacks(NEW, 0));
        assert_eq!(table.row().ticket_bytes, 7 * 3);

        table.store.keep_versions("a", &[NEW]).unwrap();
        assert_eq!(table.row().ticket_bytes, 3 * 3);
        assert!(table.numbers().lacks(OLD, 1));
        assert_eq!(table.take(NEW, &[(1, 1)]).unwrap(), [[1; 3]]);
    });
}

#[test]
fn numbers_older_than_the_window_are_dropped_and_refused() {
    Table::of_each_kind().for_each(|table| {
        table.take(OLD, &[(0, 1)]).unwrap();
        table.put(OLD, 18);
        table.take(OLD, &[(18, 1)]).unwrap();
        assert_eq!(table.row().ticket_bytes, 2 * 3, "tickets 3 and 18 are left");

        for (number, hash) in [(0, 1), (0, 2), (2, 1)] {
            assert!(
                matches!(table.take(OLD, &[(number, hash)]), Err(TakeError::Used(_))),
                "{number}"
            );
        }
        assert_eq!(table.take(OLD, &[(3, 1)]).unwrap(), [[3; 3]]);
        assert_eq!(table.numbers().counts(), TicketCounts { ready: 0, used: 2 });
    });
}

#[test]
fn a_key_sent_ahead_is_used_by_one_query_without_a_ticket() {
    Table::of_each_kind().for_each(|table| {
        let nothing: Vec<Vec<u8>> = Vec::new();

        for _ in 0..2 {
            assert_eq!(table.take(OLD, &[(SENT_AHEAD + 1, 5)]).unwrap(), nothing);
        }
        assert!(matches!(
            table.take(OLD, &[(SENT_AHEAD + 1, 6)]),
            Err(TakeError::Used(_))
        ));
        assert!(matches!(
            table.take(NEW, &[(SENT_AHEAD + 1, 5)]),
            Err(TakeError::Used(_))
        ));
        assert_eq!(
            (table.row().next_sent_ahead, table.row().next_ticket),
            (2, 0)
        );

        assert_eq!(
            table.take(OLD, &[(1, 7)]).unwrap(),
            [[1; 3]],
            "the ticket has a claim of its own"
        );
        assert_eq!(table.take(OLD, &[(SENT_AHEAD + 40, 5)]).unwrap(), nothing);
        assert!(
            matches!(
                table.take(OLD, &[(SENT_AHEAD + 1, 5)]),
                Err(TakeError::Used(_))
            ),
            "too old"
        );
        assert_eq!(
            table.take(OLD, &[(1, 7)]).unwrap(),
            [[1; 3]],
            "tickets have a window of their own"
        );
        assert_eq!(table.numbers().counts().used, 1);

        assert_eq!(table.take(OLD, &[(u64::MAX, 5)]).unwrap(), nothing);
        assert_eq!(table.row().next_sent_ahead, SENT_AHEAD);
    });
}
