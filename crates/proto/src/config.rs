//! What both ends agree on, and what each decides for itself.

use core::time::Duration;

use samestep_wire::Delivery;

use crate::crypto::Cipher;
use crate::key::{Identity, Password, PublicKey};
use crate::token::LobbyKey;

/// Largest number of channels a connection can have.
pub const MAX_CHANNELS: usize = 32;

/// Smallest [`Config::max_packet`] (and its default): fits the smallest MTU of the Internet with room for tunnels.
pub const MIN_PACKET: usize = 1200;

/// How a reliable channel recovers from losses. What is known to be lost is retransmitted in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossRecovery {
    /// Forward error correction: linear combinations of the last messages ride in the following packets, as many as the
    /// measured loss asks for. A lost packet costs one tick instead of a round trip, at 1.5–3 times the bytes (none on a
    /// clean link).
    Fec,
    /// The last unacknowledged messages are repeated verbatim. Costs more bytes than `Fec` for the same delay.
    Repeat,
    /// Retransmission alone: fewest bytes, at least a round trip of delay for each loss.
    Retransmit,
}

/// One channel. Both ends must declare the same list; a difference is refused when connecting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelConfig {
    /// What messages are promised.
    pub delivery: Delivery,
    /// Larger goes first when not everything fits. Default 100.
    pub priority: u8,
    /// Longest message in bytes; a longer one is an error to the sender. Default 64 KiB unreliable, 32 MiB reliable.
    pub max_message: usize,
    /// Bytes that may wait unsent. A reliable `send` beyond it is an error; an unreliable one drops the oldest waiting.
    /// Default 256 KiB unreliable, 40 MiB reliable.
    pub queue_limit: usize,
    /// How a reliable channel recovers from losses. Default `Fec`, for `Redundant` it is `Repeat`.
    pub recovery: LossRecovery,
    /// Unreliable messages that could not leave for this long are dropped as stale. Default 100 ms.
    pub stale_after: Duration,
    /// Whether `poll_delivery` reports the fate of each message that left (one dropped before, as stale or because the
    /// queue was full, is not reported). Default off: reports must be drained.
    pub report: bool,
}

impl ChannelConfig {
    /// A channel with the defaults of its delivery.
    pub fn new(delivery: Delivery) -> Self {
        let reliable = delivery.is_reliable();
        Self {
            delivery,
            priority: 100,
            max_message: if reliable { 32 << 20 } else { 64 << 10 },
            queue_limit: if reliable { 40 << 20 } else { 256 << 10 },
            recovery: if delivery.is_redundant() {
                LossRecovery::Repeat
            } else {
                LossRecovery::Fec
            },
            stale_after: Duration::from_millis(100),
            report: false,
        }
    }

    /// The same with another priority.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// The same with another loss recovery.
    pub fn recovery(mut self, recovery: LossRecovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// The same with delivery reports.
    pub fn report(mut self) -> Self {
        self.report = true;
        self
    }
}

/// Whether packets are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Security {
    /// AEAD packets. Needs the `crypto` feature.
    Encrypted,
    /// Checksummed packets without secrecy: for trusted links and for transports that encrypt by themselves. The handshake is the same:
    /// keys, passwords and tokens prove who is there, but not who sent a packet later.
    Plain,
}

/// Settings of an [`Endpoint`](crate::Endpoint), checked once in `new`.
#[derive(Clone, Debug)]
pub struct Config {
    /// The game's name: ends of different games refuse each other.
    pub game: String,
    /// The game's version: ends with different versions refuse each other.
    pub version: u32,
    /// The channels, at most 32, identical on both ends.
    pub channels: Vec<ChannelConfig>,
    /// How incoming connections are treated; `None` (default) accepts none.
    pub accept: Option<AcceptConfig>,
    /// The static key this end is recognised by; `None` (default) makes a new one, which is gone with the endpoint.
    pub identity: Option<Identity>,
    /// Encrypted by default, also where the `crypto` feature is missing: say [`plain`](Self::plain) there. Both ends must agree.
    pub security: Security,
    /// Cipher of connections this end opens. Default: the fastest on this processor.
    pub cipher: Cipher,
    /// Largest packet sent, in bytes of UDP payload. Default and minimum 1200.
    pub max_packet: usize,
    /// A packet goes out at least this often, so that both sides see the other is alive. Default 2.5 s.
    pub keep_alive: Duration,
    /// Silence after which a connection counts as lost. Default 10 s.
    pub timeout: Duration,
    /// How long `connect` tries. Default 5 s.
    pub connect_timeout: Duration,
    /// How long `close` waits for reliable messages to be acknowledged. Default 2 s.
    pub close_timeout: Duration,
    /// Longest delay of an acknowledgement. Default 20 ms. Smaller costs packets, larger slows loss detection.
    pub ack_delay: Duration,
    /// Longest delay of an acknowledgement of a packet that holds nothing reliable, if longer than `ack_delay`. Both ends wait as long before
    /// they ask for an answer, so they should have the same. Default 0. [`Endpoint::set_ack_patience`](crate::Endpoint::set_ack_patience)
    /// changes it.
    pub ack_patience: Duration,
    /// Bytes of received messages that may wait for `recv`; beyond it packets are refused until read. Default 64 MiB.
    pub inbox_limit: usize,
    /// The time of day, to check the times of connect tokens: needed with [`AcceptConfig::lobby_key`]. The drivers of `samestep` set it if
    /// it is `None` (default).
    pub clock: Option<Clock>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            game: String::new(),
            version: 0,
            channels: Vec::new(),
            accept: None,
            identity: None,
            security: Security::Encrypted,
            cipher: Cipher::fastest(),
            max_packet: MIN_PACKET,
            keep_alive: Duration::from_millis(2500),
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            close_timeout: Duration::from_secs(2),
            ack_delay: Duration::from_millis(20),
            ack_patience: Duration::ZERO,
            inbox_limit: 64 << 20,
            clock: None,
        }
    }
}

impl Config {
    /// Settings for a game and version with one channel for each delivery, in the order of [`Delivery::ALL`].
    pub fn new(game: &str, version: u32) -> Self {
        Self {
            game: game.into(),
            version,
            channels: Delivery::ALL.map(ChannelConfig::new).to_vec(),
            ..Self::default()
        }
    }

    /// The same, accepting up to `capacity` connections.
    pub fn accepting(mut self, capacity: usize) -> Self {
        self.accept = Some(AcceptConfig {
            capacity,
            ..AcceptConfig::default()
        });
        self
    }

    /// The same without encryption.
    pub fn plain(mut self) -> Self {
        self.security = Security::Plain;
        self
    }

    /// The longest time until anything is acknowledged.
    pub(crate) fn longest_ack_delay(&self) -> Duration {
        self.ack_delay.max(self.ack_patience)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.channels.is_empty() || self.channels.len() > MAX_CHANNELS {
            return Err(ConfigError::Channels(self.channels.len()));
        }
        if !(MIN_PACKET..=65_000).contains(&self.max_packet) {
            return Err(ConfigError::MaxPacket(self.max_packet));
        }
        if self.security == Security::Encrypted && cfg!(not(feature = "crypto")) {
            return Err(ConfigError::NoCrypto);
        }
        if self.keep_alive.is_zero() || self.timeout <= self.keep_alive {
            return Err(ConfigError::Timeout {
                keep_alive: self.keep_alive,
                timeout: self.timeout,
            });
        }
        for (index, channel) in self.channels.iter().enumerate() {
            if channel.max_message == 0 || channel.max_message > channel.queue_limit {
                return Err(ConfigError::QueueLimit { channel: index });
            }
            if channel.max_message > 1 << 30 {
                return Err(ConfigError::MaxMessage { channel: index });
            }
        }
        if let Some(accept) = &self.accept {
            if accept.capacity == 0 || accept.capacity > 60_000 {
                return Err(ConfigError::Capacity(accept.capacity));
            }
            if accept.password.as_ref().is_some_and(|p| p.is_empty()) {
                return Err(ConfigError::EmptyPassword);
            }
            if accept.lobby_key.is_some() && self.clock.is_none() {
                return Err(ConfigError::NoClock);
            }
        }
        Ok(())
    }
}

/// The time of day on an endpoint's clock, and since when it remembers which connect tokens were used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    unix_at_zero_s: u64,
    started_unix_s: u64,
}

impl Clock {
    /// For an endpoint that starts at `now`, when it is `unix_s` seconds since 1970-01-01 UTC.
    pub fn starting(now: Duration, unix_s: u64) -> Self {
        Self {
            unix_at_zero_s: unix_s.saturating_sub(now.as_secs()),
            started_unix_s: unix_s,
        }
    }

    /// Seconds since 1970-01-01 UTC.
    pub(crate) fn unix_s(&self, now: Duration) -> u64 {
        self.unix_at_zero_s.saturating_add(now.as_secs())
    }

    /// When the endpoint started.
    pub(crate) fn started_unix_s(&self) -> u64 {
        self.started_unix_s
    }
}

/// How incoming connections are treated.
#[derive(Clone, Debug)]
pub struct AcceptConfig {
    /// How many connections may be open at once. Default 64.
    pub capacity: usize,
    /// Password a client must know. It must not be empty.
    pub password: Option<Password>,
    /// Public key of the lobby: if set, only clients with a token it signed may connect. A token replaces the password, unless both are
    /// set. Needs [`Config::clock`].
    pub lobby_key: Option<LobbyKey>,
    /// Which of the servers that share this server's static key this is: tokens for another are refused. Default 0. Servers that share
    /// both would admit a token once each.
    pub shard: u32,
    /// Key exchanges answered per second; more are ignored until the next second. Each costs about 0.3 ms of CPU.
    /// Default 200.
    pub handshakes_per_second: u32,
    /// The same from one IPv4 address or one IPv6 prefix of 56 bits, so that nobody uses up what is there for all. Default 20.
    pub handshakes_per_second_per_address: u32,
    /// Connections from one IPv4 address or one IPv6 prefix of 56 bits. Default 64: a household, a school, a LAN party behind one address.
    pub per_address: usize,
}

impl Default for AcceptConfig {
    fn default() -> Self {
        Self {
            capacity: 64,
            password: None,
            lobby_key: None,
            shard: 0,
            handshakes_per_second: 200,
            handshakes_per_second_per_address: 20,
            per_address: 64,
        }
    }
}

/// What `connect` may bring along.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The server's password, if it asks for one. It must not be empty.
    pub password: Option<Password>,
    /// The server's public key, if known: the connection fails unless the server owns it, and takes one round trip less without a
    /// password. If not, the `Connected` event says whose key it was.
    pub server_key: Option<PublicKey>,
    /// A connect token from the lobby. It needs `server_key`, so that nobody can read it on the way.
    pub token: Option<Vec<u8>>,
    /// Up to 256 bytes handed to the server's `Connected` event (a token's user data takes precedence).
    pub user_data: Vec<u8>,
}

/// What is wrong with a [`Config`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The number of channels is not 1 to 32.
    #[error("{0} channels declared: declare 1 to {MAX_CHANNELS}")]
    Channels(usize),
    /// `max_packet` is not 1200 to 65000.
    #[error("max_packet is {0}: use {MIN_PACKET} to 65000 bytes")]
    MaxPacket(usize),
    /// Encryption asked for, but built without the `crypto` feature.
    #[error(
        "encryption needs the `crypto` feature of samestep-proto: enable it, or call Config::plain() if the link is trusted or encrypts by itself"
    )]
    NoCrypto,
    /// `timeout` must be longer than `keep_alive`, and that longer than zero.
    #[error(
        "timeout ({timeout:?}) must be longer than keep_alive ({keep_alive:?}), and that above zero"
    )]
    Timeout {
        /// As given.
        keep_alive: Duration,
        /// As given.
        timeout: Duration,
    },
    /// A channel's `max_message` is zero or larger than its `queue_limit`.
    #[error("channel {channel}: max_message must be at least 1 and at most queue_limit")]
    QueueLimit {
        /// Index of the channel.
        channel: usize,
    },
    /// A channel's `max_message` is above 1 GiB.
    #[error("channel {channel}: max_message is above 1 GiB")]
    MaxMessage {
        /// Index of the channel.
        channel: usize,
    },
    /// The capacity is not 1 to 60000.
    #[error("capacity is {0}: use 1 to 60000")]
    Capacity(usize),
    /// The password is empty, so everybody knows it.
    #[error("the password is empty: choose one, or set none")]
    EmptyPassword,
    /// A lobby key without the time of day: tokens could not expire.
    #[error("a lobby key needs the time of day: set Config::clock, or let a driver do it")]
    NoClock,
}
