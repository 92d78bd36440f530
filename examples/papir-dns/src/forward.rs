//! The resolver that unknown names may be sent to, over UDP and TCP.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use hickory_proto::op::{Edns, Message, MessageType, Query};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::Result;
use crate::handler::LARGEST_UDP;
use crate::reply::Reply;

/// A resolver, which learns every name that it is asked.
pub(crate) struct Forwarder {
    address: SocketAddr,
}

impl Forwarder {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Asks the resolver. Of the client's query, it is sent the name and the type.
    pub(crate) async fn ask(&self, query: &Query) -> Result<Reply> {
        let asked = message_for(query);
        let bytes = asked.to_vec()?;

        let mut answer = self.over_udp(&asked, &bytes).await?;
        if answer.metadata.truncation {
            answer = self.over_tcp(&asked, &bytes).await?;
        }
        Ok(Reply {
            code: answer.metadata.response_code,
            answers: answer.answers,
            authorities: answer.authorities,
        })
    }

    /// A socket, and so a port, for each query: a forged answer must guess it.
    async fn over_udp(&self, asked: &Message, bytes: &[u8]) -> Result<Message> {
        let local: SocketAddr = match self.address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(local).await?;
        socket.connect(self.address).await?;
        socket.send(bytes).await?;

        let mut buffer = [0; LARGEST_UDP as usize];
        loop {
            let length = socket.recv(&mut buffer).await?;
            if let Some(answer) = answer_to(asked, &buffer[..length]) {
                return Ok(answer);
            }
        }
    }

    async fn over_tcp(&self, asked: &Message, bytes: &[u8]) -> Result<Message> {
        let mut stream = TcpStream::connect(self.address).await?;
        let length = u16::try_from(bytes.len())?;
        stream.write_all(&length.to_be_bytes()).await?;
        stream.write_all(bytes).await?;

        let length = stream.read_u16().await?;
        let mut buffer = vec![0; length.into()];
        stream.read_exact(&mut buffer).await?;
        answer_to(asked, &buffer)
            .ok_or_else(|| format!("{}: expected an answer to the query", self.address).into())
    }
}

/// A query with a random number.
fn message_for(query: &Query) -> Message {
    let name = query.name().to_lowercase();
    let mut edns = Edns::new();
    edns.set_max_payload(LARGEST_UDP);

    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name, query.query_type()));
    message.set_edns(edns);
    message
}

/// Decodes an answer; `None` for anything else than an answer to this query.
fn answer_to(asked: &Message, bytes: &[u8]) -> Option<Message> {
    let answer = Message::from_vec(bytes).ok()?;
    let is_answer = answer.metadata.message_type == MessageType::Response
        && answer.metadata.id == asked.metadata.id
        && answer.queries == asked.queries;
    is_answer.then_some(answer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hickory_proto::rr::{Name, RecordType};

    use super::*;

    #[test]
    fn only_the_answer_to_the_query_counts() {
        let name = Name::from_ascii("A.Example.").unwrap();
        let asked = message_for(&Query::query(name, RecordType::A));
        assert_eq!(asked.queries[0].name().to_ascii(), "a.example.");

        let mut answer = asked.clone();
        assert!(answer_to(&asked, &answer.to_vec().unwrap()).is_none());
        answer.metadata.message_type = MessageType::Response;
        assert!(answer_to(&asked, &answer.to_vec().unwrap()).is_some());

        let mut other = answer.clone();
        other.metadata.id ^= 1;
        assert!(answer_to(&asked, &other.to_vec().unwrap()).is_none());
        answer.queries.clear();
        assert!(answer_to(&asked, &answer.to_vec().unwrap()).is_none());
        assert!(answer_to(&asked, b"short").is_none());
    }
}
