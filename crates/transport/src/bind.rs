use std::io;
use std::net::SocketAddr;

/// Explains to the user why a program cannot have its address.
pub(crate) fn explain(protocol: &str, addr: SocketAddr, error: io::Error) -> io::Error {
    let port = addr.port();
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "port {port} is in use by another program; choose another, or 0 for any free one"
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("{} is not an address of this machine", addr.ip())
        }
        io::ErrorKind::PermissionDenied if port < 1024 => {
            format!("ports below 1024 such as {port} need special rights; choose a higher one")
        }
        io::ErrorKind::Unsupported => {
            "this system has no such address family (IPv6 may be off)".to_owned()
        }
        _ => error.to_string(),
    };
    io::Error::new(
        error.kind(),
        format!("cannot open {protocol} {addr}: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use crate::{Tcp, Transport, Udp};

    #[test]
    fn a_taken_port_is_named() {
        let udp = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Udp::bind(udp.local_addr()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(
            text.contains(&udp.local_addr().to_string()) && text.contains("in use"),
            "{text}"
        );

        let tcp = Tcp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let text = Tcp::bind(tcp.local_addr()).unwrap_err().to_string();
        assert!(text.contains("TCP") && text.contains("in use"), "{text}");
    }

    #[test]
    fn a_foreign_address_is_explained() {
        let text = Udp::bind("192.0.2.1:0".parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("192.0.2.1 is not an address of this machine"),
            "{text}"
        );
    }
}
