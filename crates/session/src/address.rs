//! Addresses as they travel.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use samestep_wire::Wire;

/// Where a member of a mesh can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub(crate) enum Address {
    V4([u8; 4], u16),
    V6([u8; 16], u16),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        match address.ip() {
            IpAddr::V4(ip) => Self::V4(ip.octets(), address.port()),
            IpAddr::V6(ip) => Self::V6(ip.octets(), address.port()),
        }
    }
}

impl From<Address> for SocketAddr {
    fn from(address: Address) -> Self {
        match address {
            Address::V4(ip, port) => SocketAddr::new(Ipv4Addr::from(ip).into(), port),
            Address::V6(ip, port) => SocketAddr::new(Ipv6Addr::from(ip).into(), port),
        }
    }
}
