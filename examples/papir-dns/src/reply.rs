//! Replies: their code, their records, and how long they stay true.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use hickory_proto::op::{Query, ResponseCode};
use hickory_proto::rr::{RData, Record, RecordType};

use crate::arguments::BlockedAnswer;
use crate::zone::alias_of;

/// Longest time for which a reply or a verdict is cached.
pub(crate) const LONGEST_LIFETIME: Duration = Duration::from_secs(3600);
/// Lifetime of a reply or a verdict that has no records.
pub(crate) const SHORT_LIFETIME: Duration = Duration::from_secs(60);

/// A reply to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) code: ResponseCode,
    pub(crate) answers: Vec<Record>,
    pub(crate) authorities: Vec<Record>,
}

impl Reply {
    /// A reply without records.
    pub(crate) fn of_code(code: ResponseCode) -> Self {
        Self::of_answers(code, Vec::new())
    }

    fn of_answers(code: ResponseCode, answers: Vec<Record>) -> Self {
        Self {
            code,
            answers,
            authorities: Vec::new(),
        }
    }

    /// The reply for a blocked name.
    pub(crate) fn blocked(query: &Query, answer: BlockedAnswer) -> Self {
        let data: RData = match (answer, query.query_type()) {
            (BlockedAnswer::Nxdomain, _) => return Self::of_code(ResponseCode::NXDomain),
            (BlockedAnswer::Zero, RecordType::A) => Ipv4Addr::UNSPECIFIED.into(),
            (BlockedAnswer::Zero, RecordType::AAAA) => Ipv6Addr::UNSPECIFIED.into(),
            (BlockedAnswer::Zero, _) => return Self::of_code(ResponseCode::NoError),
        };
        let ttl = u32::try_from(SHORT_LIFETIME.as_secs()).unwrap_or(u32::MAX);
        let record = Record::from_rdata(query.name().clone(), ttl, data);
        Self::of_answers(ResponseCode::NoError, vec![record])
    }

    /// The reply for a name with these records, which include the targets of its aliases. It has no
    /// records if the name has none of the type.
    pub(crate) fn known(query: &Query, records: &[Record]) -> Self {
        let mut answers = Vec::new();
        let mut owner = query.name();

        // Each step finds another alias, or is the last: at most one for each record.
        for _ in records {
            let of_owner: Vec<&Record> = records.iter().filter(|one| one.name == *owner).collect();
            for record in &of_owner {
                if query.query_type().is_any() || record.record_type() == query.query_type() {
                    answers.push((*record).clone());
                }
            }

            let alias = of_owner.into_iter().find(|one| alias_of(one).is_some());
            let Some(alias) = alias.filter(|_| !ends_at_alias(query)) else {
                break;
            };
            answers.push(alias.clone());
            owner = alias_of(alias).unwrap_or(owner);
        }
        Self::of_answers(ResponseCode::NoError, answers)
    }

    /// The time for which the reply may be cached.
    pub(crate) fn lifetime(&self) -> Duration {
        match self.code {
            ResponseCode::NoError if !self.answers.is_empty() => lifetime_of(&self.answers),
            ResponseCode::NoError | ResponseCode::NXDomain => SHORT_LIFETIME,
            // A failure may pass.
            _ => Duration::ZERO,
        }
    }

    /// The reply after it was cached for a time.
    pub(crate) fn aged(mut self, age: Duration) -> Self {
        let seconds = u32::try_from(age.as_secs()).unwrap_or(u32::MAX);
        for record in self.answers.iter_mut().chain(&mut self.authorities) {
            record.decrement_ttl(seconds);
        }
        self
    }
}

/// Returns the least TTL of records, at most [`LONGEST_LIFETIME`].
pub(crate) fn lifetime_of(records: &[Record]) -> Duration {
    let least = records.iter().map(|record| record.ttl).min();
    Duration::from_secs(least.unwrap_or(0).into()).min(LONGEST_LIFETIME)
}

/// Returns whether an alias itself answers a query.
fn ends_at_alias(query: &Query) -> bool {
    matches!(query.query_type(), RecordType::CNAME | RecordType::ANY)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hickory_proto::rr::Name;

    use super::*;
    use crate::zone::records_of;

    const WWW: &[u8] = b"www.example. 60 CNAME web.example.
web.example. 3600 CNAME host.example.
host.example. 300 A 192.0.2.1
host.example. 300 A 192.0.2.2
host.example. 20 AAAA 2001:db8::1
";

    fn query(name: &str, record_type: RecordType) -> Query {
        Query::query(Name::from_ascii(name).unwrap(), record_type)
    }

    fn types(reply: &Reply) -> Vec<RecordType> {
        reply.answers.iter().map(Record::record_type).collect()
    }

    #[test]
    fn an_alias_is_followed_to_the_records_of_the_type() {
        let records = records_of(WWW).unwrap();
        let of_type = |wanted| Reply::known(&query("WWW.example.", wanted), &records);

        let expected = [
            RecordType::CNAME,
            RecordType::CNAME,
            RecordType::A,
            RecordType::A,
        ];
        assert_eq!(types(&of_type(RecordType::A)), expected);
        assert_eq!(types(&of_type(RecordType::MX)), expected[..2]);
        assert_eq!(types(&of_type(RecordType::CNAME)), expected[..1]);
        assert_eq!(types(&of_type(RecordType::ANY)), expected[..1]);
        assert_eq!(
            of_type(RecordType::AAAA).lifetime(),
            Duration::from_secs(20)
        );
    }

    #[test]
    fn records_of_another_name_answer_nothing() {
        let records = records_of(WWW).unwrap();
        let reply = Reply::known(&query("other.example.", RecordType::A), &records);
        assert_eq!(reply, Reply::of_code(ResponseCode::NoError));
    }

    #[test]
    fn a_circle_of_aliases_ends() {
        let records = records_of(b"a. 60 CNAME b.\nb. 60 CNAME a.\n").unwrap();
        let reply = Reply::known(&query("a.", RecordType::A), &records);
        assert_eq!(reply.answers.len(), 2);
    }

    #[test]
    fn a_blocked_name_does_not_exist_or_has_no_address() {
        let wanted = query("ads.example.", RecordType::A);
        let none = Reply::blocked(&wanted, BlockedAnswer::Nxdomain);
        assert_eq!(none, Reply::of_code(ResponseCode::NXDomain));

        let zero = Reply::blocked(&wanted, BlockedAnswer::Zero);
        assert_eq!(zero.answers[0].data, RData::from(Ipv4Addr::UNSPECIFIED));
        let mail = Reply::blocked(&query("ads.example.", RecordType::MX), BlockedAnswer::Zero);
        assert_eq!(mail, Reply::of_code(ResponseCode::NoError));
    }

    #[test]
    fn times_are_bounded_and_count_down() {
        let records = records_of(b"a. 99999 A 192.0.2.1\n").unwrap();
        let reply = Reply::known(&query("a.", RecordType::A), &records);
        assert_eq!(reply.lifetime(), LONGEST_LIFETIME);
        assert_eq!(reply.aged(Duration::from_secs(10)).answers[0].ttl, 99_989);
        assert!(Reply::of_code(ResponseCode::ServFail).lifetime().is_zero());
    }
}
