//! Messages of PostgreSQL's output plugin `pgoutput`, protocol version 1.
//!
//! All numbers are big-endian. A name ends with a zero byte.

use std::str::from_utf8;

/// A message about rows, or another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// A transaction ends; the place in the log after it.
    Commit { end: u64 },
    /// The columns of a table, before its first row.
    Table(PublishedTable),
    /// A row is added.
    Insert { table: u32, new: Vec<Field<'a>> },
    /// A row changes. `old` has the fields before, of the columns that identify the row or of all;
    /// without it, the fields that identify the row stay.
    Update {
        table: u32,
        old: Option<Vec<Field<'a>>>,
        new: Vec<Field<'a>>,
    },
    /// A row is removed.
    Delete { table: u32, old: Vec<Field<'a>> },
    /// All rows of tables are removed.
    Truncate,
    /// Anything else, which says nothing about rows.
    Other,
}

/// A table of the publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublishedTable {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) columns: Vec<RelationColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RelationColumn {
    pub(super) name: String,
    /// Set if old fields state it.
    pub(super) identifies: bool,
}

/// A field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Null,
    /// Stored outside the row, and not changed: the message does not have it.
    Unchanged,
    Text(&'a [u8]),
}

/// Parses a message; `None` for one that is damaged or of another version.
pub(super) fn parse(bytes: &[u8]) -> Option<Message<'_>> {
    let mut rest = MessageBytes(bytes);

    Some(match rest.u8()? {
        b'C' => {
            rest.take(1 + 8)?;
            Message::Commit { end: rest.u64()? }
        }
        b'R' => Message::Table(table(&mut rest)?),
        b'I' => Message::Insert {
            table: rest.u32()?,
            new: rest.marked_row(b"N")?,
        },
        b'U' => {
            let table = rest.u32()?;
            let old = if rest.0.first() == Some(&b'N') {
                None
            } else {
                Some(rest.marked_row(b"KO")?)
            };
            Message::Update {
                table,
                old,
                new: rest.marked_row(b"N")?,
            }
        }
        b'D' => Message::Delete {
            table: rest.u32()?,
            old: rest.marked_row(b"KO")?,
        },
        b'T' => Message::Truncate,
        _ => Message::Other,
    })
}

fn table(rest: &mut MessageBytes<'_>) -> Option<PublishedTable> {
    let id = rest.u32()?;
    let schema = rest.name()?;
    let name = format!("{schema}.{}", rest.name()?);

    // The table's replica identity: each column says whether it is part of it.
    rest.take(1)?;
    let count = rest.u16()?;

    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(column(rest)?);
    }
    Some(PublishedTable { id, name, columns })
}

fn column(rest: &mut MessageBytes<'_>) -> Option<RelationColumn> {
    let identifies = rest.u8()? & 1 == 1;
    let name = rest.name()?.to_owned();

    // Its type, and the type's modifier.
    rest.take(4 + 4)?;
    Some(RelationColumn { name, identifies })
}

/// The bytes of a message that are left.
struct MessageBytes<'a>(&'a [u8]);

impl<'a> MessageBytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn name(&mut self) -> Option<&'a str> {
        let length = self.0.iter().position(|&byte| byte == 0)?;
        let name = from_utf8(self.take(length)?).ok()?;

        // The zero byte at its end.
        self.take(1)?;
        Some(name)
    }

    /// A row after one of these marks.
    fn marked_row(&mut self, marks: &[u8]) -> Option<Vec<Field<'a>>> {
        let mark = self.u8()?;
        if !marks.contains(&mark) {
            return None;
        }

        let count = self.u16()?;
        (0..count).map(|_| self.field()).collect()
    }

    fn field(&mut self) -> Option<Field<'a>> {
        Some(match self.u8()? {
            b'n' => Field::Null,
            b'u' => Field::Unchanged,
            b't' => {
                let length = self.u32()?;
                Field::Text(self.take(length as usize)?)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::*;

    fn row(fields: &[Field<'_>]) -> Vec<u8> {
        let mut bytes = (fields.len() as u16).to_be_bytes().to_vec();
        for field in fields {
            match field {
                Field::Null => bytes.push(b'n'),
                Field::Unchanged => bytes.push(b'u'),
                Field::Text(text) => {
                    bytes.push(b't');
                    bytes.extend((text.len() as u32).to_be_bytes());
                    bytes.extend(*text);
                }
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(kind in 0..6usize, rest in vec(any::<u8>(), 0..64)) {
            let _ = parse(&[&b"CRIUDT"[kind..=kind], &rest].concat());
        }
    }

    #[test]
    fn messages_are_read_and_torn_ones_refused() {
        let key = Field::Text(b"k");
        let value = Field::Text(b"some value");
        let table = [
            &b"R\0\0\0\x07public\0words\0d\0\x02\x01key\0\0\0\0\x19\xff\xff\xff\xff"[..],
            b"\0value\0\0\0\0\x19\xff\xff\xff\xff",
        ];
        let update = [
            &b"U\0\0\0\x07K"[..],
            &row(&[key, Field::Null]),
            b"N",
            &row(&[key, Field::Unchanged]),
        ];
        let column = |name: &str, identifies| RelationColumn {
            name: name.into(),
            identifies,
        };
        let columns = vec![column("key", true), column("value", false)];

        let messages = [
            (
                table.concat(),
                Message::Table(PublishedTable {
                    id: 7,
                    name: "public.words".into(),
                    columns,
                }),
            ),
            (
                [&b"I\0\0\0\x07N"[..], &row(&[key, value])].concat(),
                Message::Insert {
                    table: 7,
                    new: vec![key, value],
                },
            ),
            (
                update.concat(),
                Message::Update {
                    table: 7,
                    old: Some(vec![key, Field::Null]),
                    new: vec![key, Field::Unchanged],
                },
            ),
            (
                [&b"U\0\0\0\x07N"[..], &row(&[key, value])].concat(),
                Message::Update {
                    table: 7,
                    old: None,
                    new: vec![key, value],
                },
            ),
            (
                [&b"D\0\0\0\x07O"[..], &row(&[key, value])].concat(),
                Message::Delete {
                    table: 7,
                    old: vec![key, value],
                },
            ),
            (
                b"C\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x01\x02".to_vec(),
                Message::Commit { end: 258 },
            ),
        ];
        for (bytes, expected) in messages {
            assert_eq!(parse(&bytes).unwrap(), expected);
            (0..bytes.len()).for_each(|end| assert_eq!(parse(&bytes[..end]), None, "{end} bytes"));
        }

        assert_eq!(parse(b"T").unwrap(), Message::Truncate);
        assert_eq!(parse(b"B and more").unwrap(), Message::Other);
        assert_eq!(parse(b"I\0\0\0\x07X\0\0"), None);
    }
}
