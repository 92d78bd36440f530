//! A resolver of hickory as the client.

use std::net::IpAddr;

use hickory_resolver::Resolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RecordType;

use crate::support::{PATIENCE, Stub, World};

/// A resolver that asks the stub over one protocol.
fn resolver(stub: &Stub, mut over: ConnectionConfig) -> Resolver<TokioRuntimeProvider> {
    over.port = stub.address().port();
    let server = NameServerConfig::new(stub.address().ip(), true, vec![over]);
    let config = ResolverConfig::from_name_servers(vec![server]);

    let mut builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
    builder.options_mut().use_hosts_file = ResolveHosts::Never;
    builder.options_mut().timeout = PATIENCE;
    builder.build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolver_finds_names_of_the_zone_and_no_blocked_ones() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);

    for over in [ConnectionConfig::udp(), ConnectionConfig::tcp()] {
        let resolver = resolver(&stub, over);
        let found = resolver.lookup_ip("www.home.example.").await.unwrap();
        let mut addresses: Vec<IpAddr> = found.iter().collect();
        addresses.sort();
        let expected: [IpAddr; 2] = [
            "192.0.2.10".parse().unwrap(),
            "2001:db8::10".parse().unwrap(),
        ];
        assert!(!addresses.is_empty());
        assert!(
            addresses.iter().all(|one| expected.contains(one)),
            "{addresses:?}"
        );

        let text = resolver
            .lookup("nas.home.example.", RecordType::TXT)
            .await
            .unwrap();
        assert_eq!(text.answers().len(), 1);
        let blocked = resolver.lookup_ip("www.ads.example.").await.unwrap_err();
        assert!(blocked.is_nx_domain(), "{blocked}");
        let unknown = resolver.lookup_ip("unknown.example.").await.unwrap_err();
        assert!(!unknown.is_nx_domain(), "{unknown}");
    }
}
