//! Message contents that prove where they come from.

use std::fmt;

use samestep_proto::ChannelId;

use crate::NodeId;
use crate::network::mix;

/// A connection between two nodes, as the [`Referee`](crate::Referee) counts them; sent along as user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// One direction of one channel of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The connection.
    pub tag: Tag,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The channel.
    pub channel: ChannelId,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flow {
            tag,
            from,
            to,
            channel,
        } = self;
        write!(
            f,
            "{from} → {to} (connection {}, channel {})",
            tag.0, channel.0
        )
    }
}

/// Bytes that identify a message: tag, number, sender, channel, keyed checksum. The rest is filler that follows from them.
pub const STAMP_BYTES: usize = 15;

/// Fills `out` with `bytes` bytes that only the holder of `key` can make and that no other message has.
///
/// A message shorter than [`STAMP_BYTES`] is filler alone: it can be recognised only by where it is expected.
pub fn write(key: u64, flow: Flow, number: u32, bytes: usize, out: &mut Vec<u8>) {
    out.clear();
    let check = checksum(key, flow, number, bytes);
    if bytes >= STAMP_BYTES {
        out.extend_from_slice(&flow.tag.0.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&flow.from.0.to_le_bytes());
        out.push(flow.channel.0);
        out.extend_from_slice(&(check as u32).to_le_bytes());
    }
    let mut state = check;
    while out.len() < bytes {
        state = mix(state);
        let rest = (bytes - out.len()).min(8);
        out.extend_from_slice(&state.to_le_bytes()[..rest]);
    }
}

/// What a stamp claims; to be believed only once the whole message equals what [`write()`] makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The connection.
    pub tag: Tag,
    /// The message's number in its flow.
    pub number: u32,
    /// The sender.
    pub from: NodeId,
    /// The channel.
    pub channel: ChannelId,
}

/// Reads the stamp of a message that is long enough to have one.
pub fn read(payload: &[u8]) -> Option<Claim> {
    let stamp = payload.first_chunk::<STAMP_BYTES>()?;
    let word =
        |at: usize| u32::from_le_bytes([stamp[at], stamp[at + 1], stamp[at + 2], stamp[at + 3]]);
    Some(Claim {
        tag: Tag(word(0)),
        number: word(4),
        from: NodeId(u16::from_le_bytes([stamp[8], stamp[9]])),
        channel: ChannelId(stamp[10]),
    })
}

fn checksum(key: u64, flow: Flow, number: u32, bytes: usize) -> u64 {
    let place =
        u64::from(flow.from.0) << 40 | u64::from(flow.to.0) << 16 | u64::from(flow.channel.0);
    mix(mix(mix(key ^ u64::from(flow.tag.0)) ^ place) ^ (u64::from(number) << 32 | bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        Flow {
            tag: Tag(7),
            from: NodeId(1),
            to: NodeId(2),
            channel: ChannelId(3),
        }
    }

    #[test]
    fn a_stamp_says_who_sent_what() {
        let mut payload = Vec::new();
        write(1, flow(), 99, 50, &mut payload);
        assert_eq!(payload.len(), 50);
        let claim = read(&payload).unwrap();
        assert_eq!(
            claim,
            Claim {
                tag: Tag(7),
                number: 99,
                from: NodeId(1),
                channel: ChannelId(3)
            }
        );
    }

    #[test]
    fn another_key_flow_number_or_length_gives_another_message() {
        let make = |key, flow, number, bytes| {
            let mut payload = Vec::new();
            write(key, flow, number, bytes, &mut payload);
            payload
        };
        let original = make(1, flow(), 5, 40);
        assert_ne!(original, make(2, flow(), 5, 40));
        assert_ne!(
            original[11..],
            make(
                1,
                Flow {
                    to: NodeId(4),
                    ..flow()
                },
                5,
                40
            )[11..]
        );
        assert_ne!(original[11..], make(1, flow(), 6, 40)[11..]);
        assert_ne!(original, make(1, flow(), 5, 41)[..40]);
    }

    #[test]
    fn short_messages_have_no_stamp() {
        let mut payload = Vec::new();
        for bytes in 0..STAMP_BYTES {
            write(1, flow(), 5, bytes, &mut payload);
            assert_eq!((payload.len(), read(&payload)), (bytes, None));
        }
    }
}
