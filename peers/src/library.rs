//! Which libraries are compared, in which modes, and what each of them encrypts.

use std::{error::Error, fmt, net::SocketAddr, sync::Arc};

use clap::ValueEnum;

use crate::{
    control::Control,
    enet,
    load::{Load, Service},
    quinn, renet, samestep, tcp, udp,
};

/// One column of the comparison: a library in one configuration. Tables are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Library {
    /// Bare datagrams: no connection, no protocol. What the sockets alone cost, not a competitor.
    Udp,
    /// Bare datagrams through Samestep's transport: what its sockets cost without its protocol.
    Transport,
    /// Kernel TCP with a length before each message.
    Tcp,
    /// `rusty_enet`, the ENet protocol.
    Enet,
    /// `renet` without netcode: its packets in bare datagrams.
    RenetBare,
    /// `renet` with `renet_netcode`, `Unsecure` authentication.
    Renet,
    /// `renet` with `renet_netcode`, `Secure` authentication (connect tokens).
    RenetSecure,
    /// `quinn`: datagrams as the unreliable mode, one stream as the reliable one.
    Quinn,
    /// Samestep with plain packets.
    SamestepPlain,
    /// Samestep as it comes: encrypted.
    Samestep,
}

/// What is promised about the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Mode {
    /// Each message may be lost.
    Unreliable,
    /// Every message arrives, in the order sent.
    Reliable,
}

impl Library {
    /// The name used in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Library::Udp => "udp",
            Library::Transport => "transport",
            Library::Tcp => "tcp",
            Library::Enet => "enet",
            Library::RenetBare => "renet-bare",
            Library::Renet => "renet",
            Library::RenetSecure => "renet-secure",
            Library::Quinn => "quinn",
            Library::SamestepPlain => "samestep-plain",
            Library::Samestep => "samestep",
        }
    }

    /// Whether `name` means this library: its own name, or that of its family.
    pub fn is_named(self, name: &str) -> bool {
        let rest = self.name().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }

    /// What is encrypted, in the words of the table.
    pub fn encryption(self) -> &'static str {
        match self {
            Library::Udp => "none (no protocol at all: the floor)",
            Library::Transport => "none (no protocol; Samestep's sockets alone)",
            Library::Tcp | Library::Enet | Library::RenetBare => "none",
            Library::Renet => {
                "ChaCha20-Poly1305 per packet, header byte and sequence in clear; keys from a token under an all-zero key"
            }
            Library::RenetSecure => "as renet; keys from a connect token under a secret key",
            Library::Quinn => "TLS 1.3, AES-GCM per packet and header protection",
            Library::SamestepPlain => "none",
            Library::Samestep => "Noise handshake, AES-GCM per packet",
        }
    }

    /// Whether packets travel in clear: a peer for Samestep's plain mode.
    pub fn is_plain(self) -> bool {
        matches!(
            self,
            Library::Udp
                | Library::Transport
                | Library::Tcp
                | Library::Enet
                | Library::RenetBare
                | Library::SamestepPlain
        )
    }

    /// Whether it is what Samestep is compared with.
    pub fn is_peer(self) -> bool {
        !matches!(
            self,
            Library::Udp | Library::Transport | Library::SamestepPlain | Library::Samestep
        )
    }

    /// Whether it runs over UDP, so that the proxy can stand in its way.
    pub fn is_udp(self) -> bool {
        self != Library::Tcp
    }

    /// Whether it keeps connections at all.
    pub fn has_connections(self) -> bool {
        !matches!(self, Library::Udp | Library::Transport)
    }

    /// Whether it can do that mode.
    pub fn supports(self, mode: Mode) -> bool {
        match self {
            Library::Udp | Library::Transport => mode == Mode::Unreliable,
            Library::Tcp => mode == Mode::Reliable,
            _ => true,
        }
    }

    /// Runs a server on a port of its own until `control` stops it.
    pub fn serve(
        self,
        control: &Arc<Control>,
        mode: Mode,
        capacity: usize,
        public: Option<SocketAddr>,
        service: Service,
    ) -> Result<(), Box<dyn Error>> {
        match self {
            Library::Udp => udp::serve(control, service),
            Library::Transport => samestep::serve_bare(control, service),
            Library::Tcp => tcp::serve(control, service),
            Library::Enet => enet::serve(control, mode, capacity, service),
            Library::RenetBare => renet::serve_bare(control, mode, service),
            Library::Renet => renet::serve(control, mode, capacity, None, service),
            Library::RenetSecure => renet::serve(control, mode, capacity, Some(public), service),
            Library::Quinn => quinn::serve(control, mode, service),
            Library::SamestepPlain => samestep::serve(control, mode, capacity, false, service),
            Library::Samestep => samestep::serve(control, mode, capacity, true, service),
        }
    }

    /// Connects the clients of `load` to `server` and runs them until `control` stops them.
    pub fn connect(
        self,
        control: &Arc<Control>,
        mode: Mode,
        server: SocketAddr,
        load: Load,
    ) -> Result<(), Box<dyn Error>> {
        match self {
            Library::Udp => udp::connect(control, server, load),
            Library::Transport => samestep::connect_bare(control, server, load),
            Library::Tcp => tcp::connect(control, server, load),
            Library::Enet => enet::connect(control, mode, server, load),
            Library::RenetBare => renet::connect_bare(control, mode, server, load),
            Library::Renet => renet::connect(control, mode, server, false, load),
            Library::RenetSecure => renet::connect(control, mode, server, true, load),
            Library::Quinn => quinn::connect(control, mode, server, load),
            Library::SamestepPlain => samestep::connect(control, mode, server, false, load),
            Library::Samestep => samestep::connect(control, mode, server, true, load),
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Mode {
    /// Both.
    pub const ALL: [Mode; 2] = [Mode::Unreliable, Mode::Reliable];

    /// The name used in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Unreliable => "unreliable",
            Mode::Reliable => "reliable",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
