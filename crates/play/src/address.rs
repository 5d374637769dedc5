//! Addresses on the command line.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use samestep::AddressError;
use samestep::session::JoinTo;

use crate::failure::{Failure, Kind};

/// Resolves an address that may have the host's key behind a `#`, with a failure for the exit code.
pub fn resolve_join(written: &str) -> Result<JoinTo, Failure> {
    samestep::resolve_join(written).map_err(unresolved)
}

fn unresolved(error: AddressError) -> Failure {
    let kind = match error {
        AddressError::Malformed(_) | AddressError::Key { .. } => Kind::Other,
        AddressError::Unknown { .. } => Kind::Unresolved,
    };
    Failure::new(kind, error.to_string())
}

/// Any free port of the family that reaches an address.
pub fn any_port(to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(_) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
        SocketAddr::V6(_) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}
