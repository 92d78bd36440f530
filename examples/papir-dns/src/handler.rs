//! Requests and responses of the DNS server.

use async_trait::async_trait;
use hickory_proto::op::{Edns, Header, HeaderCounts, MessageType, Metadata, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, RecordType};
use hickory_server::net::runtime::Time;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;

use crate::reply::Reply;
use crate::stub::Stub;

/// Most bytes of a message over UDP, which no network divides (DNS flag day 2020).
pub(crate) const LARGEST_UDP: u16 = 1232;

/// Answers the queries of programs on this machine.
///
/// The server's library writes each name to `tracing`. This program has no subscriber of it, so
/// that names are logged nowhere.
pub(crate) struct Handler {
    stub: Stub,
}

impl Handler {
    pub(crate) fn new(stub: Stub) -> Self {
        Self { stub }
    }

    async fn reply(&self, request: &Request) -> Reply {
        if request.metadata.op_code != OpCode::Query {
            return Reply::of_code(ResponseCode::NotImp);
        }
        if request.version() > 0 {
            return Reply::of_code(ResponseCode::BADVERS);
        }
        let [query] = request.queries.queries() else {
            return Reply::of_code(ResponseCode::FormErr);
        };

        let is_transfer = matches!(query.query_type(), RecordType::AXFR | RecordType::IXFR);
        if is_transfer || query.query_class() != DNSClass::IN {
            return Reply::of_code(ResponseCode::Refused);
        }
        self.stub.reply(query.original()).await
    }
}

#[async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response_handle: R,
    ) -> ResponseInfo {
        let reply = self.reply(request).await;

        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.response_code = reply.code;
        metadata.recursion_available = true;
        let edns = request.edns.as_ref().map(own_edns);
        let mut builder = MessageResponseBuilder::from_message_request(request);
        if let Some(edns) = &edns {
            builder.edns(edns);
        }

        let response = builder.build(metadata, &reply.answers, &reply.authorities, [], []);
        response_handle
            .send_response(response)
            .await
            .unwrap_or_else(|_| failed(&request.metadata))
    }
}

/// The extension of a response, with the client's limit of a message.
fn own_edns(client: &Edns) -> Edns {
    let mut edns = Edns::new();
    edns.set_max_payload(client.max_payload().min(LARGEST_UDP));
    edns
}

/// Describes a response that could not be sent.
fn failed(request: &Metadata) -> ResponseInfo {
    let mut metadata = Metadata::new(request.id, MessageType::Response, request.op_code);
    metadata.response_code = ResponseCode::ServFail;
    ResponseInfo::from(Header {
        metadata,
        counts: HeaderCounts::default(),
    })
}
