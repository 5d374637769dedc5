//! Addresses as people write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use crate::failure::{Failure, Kind};

/// The port of a room unless another is given.
pub const DEFAULT_PORT: u16 = 14242;

/// `host`, `host:port`, `1.2.3.4`, `::1`, `[::1]:port`; a missing port is `default_port`. Of several addresses the first IPv4
/// one is taken, since that is what most hosts listen to.
pub fn resolve(text: &str, default_port: u16) -> Result<SocketAddr, Failure> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, default_port));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') => {
            let port = port.parse().map_err(|_| {
                let words = format!("\"{port}\" in \"{text}\" is no port: use 1 to 65535");
                Failure::new(Kind::Other, words)
            })?;
            (name, port)
        }
        _ => (text, default_port),
    };
    let unresolved = |why: &str| {
        let words = format!("\"{name}\" has no address: {why}. Check the spelling and the network");
        Failure::new(Kind::Unresolved, words)
    };
    if name.is_empty() {
        return Err(unresolved("it is empty"));
    }
    let found: Vec<SocketAddr> = (name, port)
        .to_socket_addrs()
        .map_err(|error| unresolved(&plain(&error.to_string())))?
        .collect();
    let v4 = found.iter().find(|address| address.is_ipv4());
    v4.or(found.first())
        .copied()
        .ok_or_else(|| unresolved("none is known"))
}

/// The resolver's words without what the standard library puts before them.
fn plain(words: &str) -> String {
    let words = words
        .strip_prefix("failed to lookup address information: ")
        .unwrap_or(words);
    words.to_lowercase()
}

/// Any free port of the family that reaches an address.
pub fn any_port(to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(_) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
        SocketAddr::V6(_) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let of = |text| resolve(text, 14242).map(|address| address.to_string());
        assert_eq!(of("10.0.0.1").unwrap(), "10.0.0.1:14242");
        assert_eq!(of("10.0.0.1:5").unwrap(), "10.0.0.1:5");
        assert_eq!(of("::1").unwrap(), "[::1]:14242");
        assert_eq!(of("[::1]:5").unwrap(), "[::1]:5");
        assert_eq!(of("localhost:5").unwrap(), "127.0.0.1:5");
        let failure = of("localhost:lots").unwrap_err();
        assert_eq!(failure.kind, Kind::Other);
        let failure = of("no-such-host.invalid").unwrap_err();
        assert_eq!(failure.kind, Kind::Unresolved);
        assert!(failure.to_string().contains("no-such-host.invalid"));
        assert_eq!(of(":5").unwrap_err().kind, Kind::Unresolved);
    }
}
