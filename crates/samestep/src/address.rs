//! Addresses as people write them.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use samestep_session::{JoinTo, PublicKey};

/// The port used where none is named.
pub const DEFAULT_PORT: u16 = 14242;

/// Where a program listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listen {
    /// At a port, 0 for any free one, on every address of this machine.
    Port(u16),
    /// At one address of this machine.
    At(SocketAddr),
}

impl Listen {
    /// A port, or an address with a port.
    pub(crate) fn parse(written: &str) -> Option<Listen> {
        let port = written.parse().map(Listen::Port);
        port.or_else(|_| written.parse().map(Listen::At)).ok()
    }
}

impl From<u16> for Listen {
    fn from(port: u16) -> Listen {
        Listen::Port(port)
    }
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Listen {
        Listen::At(address)
    }
}

/// Resolves an address as people write it: `"example.org:14242"`, `"192.168.0.7"`, `"[::1]:5000"`, `"::1"`. Without a port it
/// is [`DEFAULT_PORT`]. Names are looked up, which may take seconds.
pub fn resolve(written: &str) -> Result<SocketAddr, AddressError> {
    let written = written.trim();
    if let Ok(address) = written.parse::<SocketAddr>() {
        return check(written, address);
    }
    let bare = written.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, DEFAULT_PORT));
    }
    let (name, port) = match written.rsplit_once(':') {
        Some((name, port)) => match port.parse() {
            Ok(port) => (name, port),
            Err(_) => return Err(AddressError::Malformed(written.into())),
        },
        None => (written, DEFAULT_PORT),
    };
    if name.is_empty() || name.contains([':', '/', ' ']) {
        return Err(AddressError::Malformed(written.into()));
    }
    let unknown = |why: String| AddressError::Unknown {
        name: name.into(),
        why,
    };
    let mut found: Vec<SocketAddr> = (name, port)
        .to_socket_addrs()
        .map_err(|error| unknown(plain(&error.to_string())))?
        .collect();
    // Where a name has both, hosts behind home routers are more often reached over IPv4.
    found.sort_by_key(SocketAddr::is_ipv6);
    let address = found
        .first()
        .ok_or_else(|| unknown("it has no address".into()))?;
    check(written, *address)
}

/// Where to join, as people write it: an address as [`resolve`] takes it, and behind a `#` the key of the host, where it is known. Nobody
/// else is then joined in the host's place. Further addresses of the same room may follow, separated by commas: they are tried while nobody answers at the
/// first.
///
/// ```
/// let join = samestep::resolve_join("10.0.0.7:14242#gWIqU1G4nRLB9DMxCXnfDzDQe9H-EAI_dc_ry6FTLQY")?;
/// assert!(join.server_key.is_some());
/// assert!(samestep::resolve_join("10.0.0.7")?.server_key.is_none());
/// assert_eq!(samestep::resolve_join("10.0.0.7, 10.0.0.8:5")?.doors.len(), 1);
/// # Ok::<(), samestep::AddressError>(())
/// ```
pub fn resolve_join(written: &str) -> Result<JoinTo, AddressError> {
    let mut doors = written.split(',').map(resolve_door);
    let (address, server_key) = doors.next().unwrap_or_else(|| resolve_door(written))?;
    let mut join = JoinTo::new(address);
    join.server_key = server_key;
    for door in doors {
        let (address, key) = door?;
        join = join.or_at(address, key);
    }
    Ok(join)
}

/// An address that may have a key behind a `#`.
fn resolve_door(written: &str) -> Result<(SocketAddr, Option<PublicKey>), AddressError> {
    let (address, key) = match written.trim().split_once('#') {
        Some((address, key)) => (address, Some(key)),
        None => (written, None),
    };
    let key = key.map(|key| {
        key.parse().map_err(|error| AddressError::Key {
            key: key.into(),
            error,
        })
    });
    let key = key.transpose()?;
    Ok((resolve(address)?, key))
}

/// The resolver's message without the prefix of the standard library.
fn plain(words: &str) -> String {
    let before = "failed to lookup address information: ";
    words.strip_prefix(before).unwrap_or(words).to_lowercase()
}

fn check(written: &str, address: SocketAddr) -> Result<SocketAddr, AddressError> {
    match address.port() {
        0 => Err(AddressError::Malformed(written.into())),
        _ => Ok(address),
    }
}

/// Why an address cannot be resolved. `Debug` shows the message too, so that `main` may return it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no address.
    #[error(
        "\"{0}\" is no address: write name:port or address:port, such as example.org:{DEFAULT_PORT}"
    )]
    Malformed(String),
    /// What stands behind the `#` is no key.
    #[error("\"{key}\" behind the # is not the key of a host: {error}")]
    Key {
        /// As written.
        key: String,
        /// What is wrong with it.
        error: samestep_proto::PublicKeyError,
    },
    /// Nobody knows the name.
    #[error("nobody knows where \"{name}\" is ({why}): check the spelling, or use its IP address")]
    Unknown {
        /// The name.
        name: String,
        /// What the system says.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_be_left_out() {
        assert_eq!(resolve("10.0.0.1").unwrap(), ([10, 0, 0, 1], 14242).into());
        assert_eq!(resolve(" 10.0.0.1:5 ").unwrap(), ([10, 0, 0, 1], 5).into());
        assert_eq!(resolve("::1").unwrap().to_string(), "[::1]:14242");
        assert_eq!(resolve("[::1]").unwrap().to_string(), "[::1]:14242");
        assert_eq!(resolve("[::1]:5").unwrap().to_string(), "[::1]:5");
        assert_eq!(resolve("localhost:5").unwrap().port(), 5);
    }

    #[test]
    fn several_addresses_are_several_doors() {
        let join = resolve_join("10.0.0.1, 10.0.0.2:5,[::1]").unwrap();
        assert_eq!(join.address, resolve("10.0.0.1").unwrap());
        let doors = ["10.0.0.2:5", "[::1]"].map(|door| (resolve(door).unwrap(), None));
        assert_eq!(join.doors, doors);
        let error = resolve_join("10.0.0.1,,10.0.0.2").unwrap_err().to_string();
        assert!(error.contains("is no address"), "{error}");
    }

    #[test]
    fn a_key_that_is_none_is_explained() {
        let error = resolve_join("10.0.0.1#short").unwrap_err().to_string();
        assert!(error.contains("short") && error.contains("43"), "{error}");
        let error = resolve_join("a b#").unwrap_err().to_string();
        assert!(error.contains("copy all of it"), "{error}");
    }

    #[test]
    fn what_is_no_address_is_explained() {
        for written in [
            "",
            ":5",
            "host:port",
            "a b",
            "http://x",
            "1.2.3.4:0",
            "a:b:5",
        ] {
            let error = resolve(written).unwrap_err().to_string();
            assert!(error.contains("is no address"), "{written}: {error}");
        }
        let error = resolve("no-such-name.invalid").unwrap_err().to_string();
        assert!(error.contains("no-such-name.invalid"), "{error}");
        assert!(error.contains("spelling"), "{error}");
    }
}
