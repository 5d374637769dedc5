//! Layout of data packets: header and frames. WIRE.md is the standard; this file follows it.

use samestep_wire::{BitReader, BitWriter, DecodeError};

/// Bytes of header before the protected part.
pub const HEADER_BYTES: usize = 5;
/// Bytes of a path challenge, and of its response.
pub const PATH_FRAME_BYTES: usize = 9;
/// First byte of a data packet; handshake datagrams have bit 7 clear.
const DATA: u8 = 0x80;

/// Most ranges in one acknowledgement.
pub const MAX_ACK_RANGES: usize = 24;

/// Writes the header: receiver's connection number and the low 16 bits of the packet number.
pub fn encode_header(connection: u16, number: u64, out: &mut [u8]) {
    out[0] = DATA;
    out[1..3].copy_from_slice(&connection.to_le_bytes());
    out[3..5].copy_from_slice(&(number as u16).to_le_bytes());
}

/// Reads the header: connection and truncated packet number. `None` if this is no data packet.
pub fn decode_header(datagram: &[u8]) -> Option<(u16, u16)> {
    let header = datagram.get(..HEADER_BYTES)?;
    (header[0] == DATA).then(|| {
        (
            u16::from_le_bytes([header[1], header[2]]),
            u16::from_le_bytes([header[3], header[4]]),
        )
    })
}

/// The number closest to `expected` whose low 16 bits are `low`.
pub fn expand_u16(expected: u64, low: u16) -> u64 {
    let candidate = (expected & !0xffff) | u64::from(low);
    if candidate + 0x8000 < expected {
        candidate + 0x1_0000
    } else if candidate > expected + 0x8000 && candidate >= 0x1_0000 {
        candidate - 0x1_0000
    } else {
        candidate
    }
}

/// The same for 32-bit sequence numbers.
pub fn expand_seq(expected: u32, low: u16) -> u32 {
    expected.wrapping_add(i32::from(low.wrapping_sub(expected as u16) as i16) as u32)
}

/// Kinds of frames: the upper 3 bits of a frame's first byte; the lower 5 are the channel or the control kind.
mod kind {
    pub const CONTROL: u8 = 0 << 5;
    pub const MESSAGE: u8 = 1 << 5;
    pub const FRAGMENT: u8 = 2 << 5;
    pub const SEGMENT: u8 = 3 << 5;
    pub const REPAIR: u8 = 4 << 5;
    pub const CHUNK: u8 = 5 << 5;
    pub const STATUS: u8 = 6 << 5;
    pub const MASK: u8 = 7 << 5;
}

mod control {
    pub const PING: u8 = 1;
    pub const ACK: u8 = 2;
    pub const CLOSE: u8 = 3;
    pub const PATH_CHALLENGE: u8 = 4;
    pub const PATH_RESPONSE: u8 = 5;
}

/// A run of received packets: from `largest` downwards, `len` packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckRange {
    /// Highest packet number of the run.
    pub largest: u64,
    /// How many packets, at least 1.
    pub len: u64,
}

/// An acknowledgement: which packets arrived, and when the latest did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AckFrame {
    /// Receiver's clock when the largest arrived: wrapping microseconds.
    pub received_at_us: u32,
    /// How long the receiver waited since then, in microseconds.
    pub delay_us: u64,
    largest: u64,
    /// How far below `largest` each range begins, and its length. Acknowledgements travel by value: small matters.
    ranges: [(u16, u16); MAX_ACK_RANGES],
    count: u8,
}

impl AckFrame {
    /// An acknowledgement of nothing yet.
    pub fn new(received_at_us: u32, delay_us: u64) -> Self {
        Self {
            received_at_us,
            delay_us,
            largest: 0,
            ranges: [(0, 0); MAX_ACK_RANGES],
            count: 0,
        }
    }

    /// Adds a lower range. Returns whether there was room.
    pub fn push(&mut self, range: AckRange) -> bool {
        if self.count == 0 {
            self.largest = range.largest;
        }
        let below = u16::try_from(self.largest - range.largest);
        let (Ok(below), Ok(len)) = (below, u16::try_from(range.len)) else {
            return false;
        };
        let room = usize::from(self.count) < MAX_ACK_RANGES;
        if room {
            self.ranges[usize::from(self.count)] = (below, len);
            self.count += 1;
        }
        room
    }

    /// From high to low.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = AckRange> {
        self.ranges[..usize::from(self.count)]
            .iter()
            .map(|&(below, len)| AckRange {
                largest: self.largest - u64::from(below),
                len: u64::from(len),
            })
    }

    /// From high to low: how many packets are missing before each range but the first (less one), and its length (less one).
    fn gaps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges[..usize::from(self.count)]
            .windows(2)
            .map(|pair| {
                let ((above, len), (below, next)) = (pair[0], pair[1]);
                (
                    u64::from(below) - u64::from(above) - (u64::from(len) - 1),
                    u64::from(next) - 1,
                )
            })
    }

    /// Highest packet acknowledged.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Writes it. Must hold at least one range.
    pub fn encode(&self, w: &mut BitWriter<'_>) {
        w.write_u8(kind::CONTROL | control::ACK);
        w.write_u16(self.largest() as u16);
        w.write_u32(self.received_at_us);
        w.write_varint(self.delay_us);
        w.write_u8(self.count - 1);
        w.write_varint(u64::from(self.ranges[0].1) - 1);
        for (gap, len) in self.gaps() {
            w.write_varint(gap - 2);
            w.write_varint(len);
        }
    }

    /// Most bytes it can take.
    pub fn encoded_len(&self) -> usize {
        let mut bytes =
            1 + 2 + 4 + varint_len(self.delay_us) + 1 + varint_len(u64::from(self.ranges[0].1) - 1);
        for (gap, len) in self.gaps() {
            bytes += varint_len(gap - 2) + varint_len(len);
        }
        bytes
    }

    fn decode(r: &mut BitReader<'_>, newest_sent: u64) -> Result<Self, FrameError> {
        let largest = expand_u16(newest_sent, r.read_u16()?);
        let mut ack = Self::new(r.read_u32()?, r.read_varint()?);
        let more = usize::from(r.read_u8()?);
        if more >= MAX_ACK_RANGES {
            return Err(FrameError::Malformed);
        }
        let mut range = AckRange {
            largest,
            len: r.read_varint()?.saturating_add(1),
        };
        for i in 0..=more {
            if range.len > range.largest.saturating_add(1) {
                return Err(FrameError::Malformed);
            }
            if !ack.push(range) {
                return Err(FrameError::Malformed);
            }
            if i < more {
                let below = range.largest + 1 - range.len;
                let gap = r.read_varint()?.saturating_add(2);
                let len = r.read_varint()?.saturating_add(1);
                let largest = below.checked_sub(gap).ok_or(FrameError::Malformed)?;
                range = AckRange { largest, len };
            }
        }
        Ok(ack)
    }
}

/// Bytes of a varint.
pub fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// A part of a packet, as received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// Asks for an acknowledgement.
    Ping,
    /// Which packets arrived.
    Ack(AckFrame),
    /// The connection is over.
    Close {
        /// The application's code.
        code: u32,
        /// The application's reason.
        reason: &'a [u8],
    },
    /// Prove that packets reach you at this address.
    PathChallenge(u64),
    /// The proof.
    PathResponse(u64),
    /// A whole unreliable message; `seq` on sequenced channels only.
    Message {
        channel: u8,
        /// Truncated number, sequenced channels only.
        seq: Option<u16>,
        payload: &'a [u8],
    },
    /// A part of an unreliable message that does not fit one packet.
    Fragment {
        channel: u8,
        /// Truncated message number.
        seq: u16,
        /// Length of the whole message.
        total: usize,
        /// Where this part begins.
        offset: usize,
        payload: &'a [u8],
    },
    /// A segment of a reliable channel: one or more messages.
    Segment {
        channel: u8,
        /// Truncated segment number.
        seq: u16,
        payload: &'a [u8],
    },
    /// A combination of segments.
    Repair {
        channel: u8,
        /// Truncated number of the first segment.
        first: u16,
        /// How many.
        count: usize,
        /// Key of the coefficients.
        key: u8,
        payload: &'a [u8],
    },
    /// A piece of a block: a message too long for a segment.
    Chunk {
        channel: u8,
        /// Block number.
        block: u32,
        /// Length of the whole block.
        total: usize,
        index: u32,
        payload: &'a [u8],
    },
    /// How far a reliable channel has come: every segment before `next` is there.
    Status {
        channel: u8,
        /// Truncated number of the first missing segment.
        next: u16,
    },
}

impl Frame<'_> {
    /// The channel whose messages, or parts of them, it brings.
    pub fn channel(&self) -> Option<u8> {
        match *self {
            Self::Message { channel, .. }
            | Self::Fragment { channel, .. }
            | Self::Segment { channel, .. }
            | Self::Repair { channel, .. }
            | Self::Chunk { channel, .. } => Some(channel),
            _ => None,
        }
    }
}

/// Why a packet could not be parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// Not the format.
    #[error("the packet is not in the format of this protocol")]
    Malformed,
}

impl From<DecodeError> for FrameError {
    fn from(_: DecodeError) -> Self {
        Self::Malformed
    }
}

/// Reads the frames of a decrypted packet.
pub struct Frames<'a> {
    reader: BitReader<'a>,
    newest_sent: u64,
    sequenced: u32,
}

impl<'a> Frames<'a> {
    /// `newest_sent`: highest packet number sent, to expand acknowledgements. `sequenced`: bit per channel whose
    /// messages carry a number.
    pub fn new(plaintext: &'a [u8], newest_sent: u64, sequenced: u32) -> Self {
        Self {
            reader: BitReader::new(plaintext),
            newest_sent,
            sequenced,
        }
    }

    /// The next frame, `None` at the end.
    pub fn next(&mut self) -> Result<Option<Frame<'a>>, FrameError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let r = &mut self.reader;
        let first = r.read_u8()?;
        let channel = first & !kind::MASK;
        let frame = match first & kind::MASK {
            kind::CONTROL => match channel {
                control::PING => Frame::Ping,
                control::ACK => Frame::Ack(AckFrame::decode(r, self.newest_sent)?),
                control::CLOSE => {
                    let code = r.read_u32()?;
                    let len = usize::from(r.read_u8()?);
                    Frame::Close {
                        code,
                        reason: r.read_bytes(len)?,
                    }
                }
                control::PATH_CHALLENGE => Frame::PathChallenge(r.read_u64()?),
                control::PATH_RESPONSE => Frame::PathResponse(r.read_u64()?),
                _ => return Err(FrameError::Malformed),
            },
            kind::MESSAGE => {
                let seq = if self.sequenced >> channel & 1 != 0 {
                    Some(r.read_u16()?)
                } else {
                    None
                };
                Frame::Message {
                    channel,
                    seq,
                    payload: read_payload(r)?,
                }
            }
            kind::FRAGMENT => Frame::Fragment {
                channel,
                seq: r.read_u16()?,
                total: read_len(r)?,
                offset: read_len(r)?,
                payload: read_payload(r)?,
            },
            kind::SEGMENT => Frame::Segment {
                channel,
                seq: r.read_u16()?,
                payload: read_payload(r)?,
            },
            kind::REPAIR => Frame::Repair {
                channel,
                first: r.read_u16()?,
                count: usize::from(r.read_u8()?),
                key: r.read_u8()?,
                payload: read_payload(r)?,
            },
            kind::CHUNK => Frame::Chunk {
                channel,
                block: u32::try_from(r.read_varint()?).map_err(|_| FrameError::Malformed)?,
                total: read_len(r)?,
                index: u32::try_from(r.read_varint()?).map_err(|_| FrameError::Malformed)?,
                payload: read_payload(r)?,
            },
            kind::STATUS => Frame::Status {
                channel,
                next: r.read_u16()?,
            },
            _ => return Err(FrameError::Malformed),
        };
        Ok(Some(frame))
    }
}

fn read_len(r: &mut BitReader<'_>) -> Result<usize, FrameError> {
    let len = r.read_varint()?;
    if len > 1 << 30 {
        Err(FrameError::Malformed)
    } else {
        Ok(len as usize)
    }
}

fn read_payload<'a>(r: &mut BitReader<'a>) -> Result<&'a [u8], FrameError> {
    let len = read_len(r)?;
    Ok(r.read_bytes(len)?)
}

fn payload_len(payload: usize) -> usize {
    varint_len(payload as u64) + payload
}

fn write_payload(w: &mut BitWriter<'_>, payload: &[u8]) {
    w.write_varint(payload.len() as u64);
    w.write_bytes(payload);
}

/// Writes frames into a packet of known room; each `try_` writes all or nothing.
pub struct PacketWriter<'a> {
    w: BitWriter<'a>,
    used: usize,
    room: usize,
}

impl<'a> PacketWriter<'a> {
    /// Over the plaintext part of the packet's buffer.
    pub fn new(plaintext: &'a mut [u8]) -> Self {
        Self {
            room: plaintext.len(),
            w: BitWriter::new(plaintext),
            used: 0,
        }
    }

    /// Bytes left.
    pub fn room(&self) -> usize {
        self.room - self.used
    }

    /// Bytes written.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.room();
        if fits {
            self.used += bytes;
        }
        fits
    }

    /// Writes a ping.
    pub fn try_ping(&mut self) -> bool {
        self.take(1) && {
            self.w.write_u8(kind::CONTROL | control::PING);
            true
        }
    }

    /// Writes an acknowledgement.
    pub fn try_ack(&mut self, ack: &AckFrame) -> bool {
        self.take(ack.encoded_len()) && {
            ack.encode(&mut self.w);
            true
        }
    }

    /// Writes a close; `reason` at most 255 bytes.
    pub fn try_close(&mut self, code: u32, reason: &[u8]) -> bool {
        self.take(6 + reason.len()) && {
            self.w.write_u8(kind::CONTROL | control::CLOSE);
            self.w.write_u32(code);
            self.w.write_u8(reason.len() as u8);
            self.w.write_bytes(reason);
            true
        }
    }

    /// Writes a path challenge or its response.
    pub fn try_path(&mut self, value: u64, response: bool) -> bool {
        self.take(PATH_FRAME_BYTES) && {
            let which = if response {
                control::PATH_RESPONSE
            } else {
                control::PATH_CHALLENGE
            };
            self.w.write_u8(kind::CONTROL | which);
            self.w.write_u64(value);
            true
        }
    }

    /// Writes a whole unreliable message.
    pub fn try_message(&mut self, channel: u8, seq: Option<u16>, payload: &[u8]) -> bool {
        self.take(Self::message_len(seq.is_some(), payload.len())) && {
            self.w.write_u8(kind::MESSAGE | channel);
            if let Some(seq) = seq {
                self.w.write_u16(seq);
            }
            write_payload(&mut self.w, payload);
            true
        }
    }

    /// Bytes of a message frame.
    pub fn message_len(sequenced: bool, payload: usize) -> usize {
        1 + if sequenced { 2 } else { 0 } + payload_len(payload)
    }

    /// Most payload a fragment could have here.
    pub fn fragment_room(&self, total: usize, offset: usize) -> usize {
        let header = 3 + varint_len(total as u64) + varint_len(offset as u64) + 2;
        self.room().saturating_sub(header)
    }

    /// Writes a fragment.
    pub fn try_fragment(
        &mut self,
        channel: u8,
        seq: u16,
        total: usize,
        offset: usize,
        payload: &[u8],
    ) -> bool {
        let len =
            3 + varint_len(total as u64) + varint_len(offset as u64) + payload_len(payload.len());
        self.take(len) && {
            self.w.write_u8(kind::FRAGMENT | channel);
            self.w.write_u16(seq);
            self.w.write_varint(total as u64);
            self.w.write_varint(offset as u64);
            write_payload(&mut self.w, payload);
            true
        }
    }

    /// Most bytes a segment could have here.
    pub fn segment_room(&self) -> usize {
        self.room().saturating_sub(3 + 2)
    }

    /// Writes a segment.
    pub fn try_segment(&mut self, channel: u8, seq: u32, payload: &[u8]) -> bool {
        self.take(3 + payload_len(payload.len())) && {
            self.w.write_u8(kind::SEGMENT | channel);
            self.w.write_u16(seq as u16);
            write_payload(&mut self.w, payload);
            true
        }
    }

    /// Whether a repair of that many bytes fits.
    pub fn fits_repair(&self, payload: usize) -> bool {
        5 + payload_len(payload) <= self.room()
    }

    /// Writes a repair.
    pub fn try_repair(
        &mut self,
        channel: u8,
        first: u32,
        count: usize,
        key: u8,
        payload: &[u8],
    ) -> bool {
        self.take(5 + payload_len(payload.len())) && {
            self.w.write_u8(kind::REPAIR | channel);
            self.w.write_u16(first as u16);
            self.w.write_u8(count as u8);
            self.w.write_u8(key);
            write_payload(&mut self.w, payload);
            true
        }
    }

    /// Writes a piece of a block.
    pub fn try_chunk(
        &mut self,
        channel: u8,
        block: u32,
        total: usize,
        index: u32,
        payload: &[u8],
    ) -> bool {
        let head = 1
            + varint_len(u64::from(block))
            + varint_len(total as u64)
            + varint_len(u64::from(index));
        self.take(head + payload_len(payload.len())) && {
            self.w.write_u8(kind::CHUNK | channel);
            self.w.write_varint(u64::from(block));
            self.w.write_varint(total as u64);
            self.w.write_varint(u64::from(index));
            write_payload(&mut self.w, payload);
            true
        }
    }

    /// Writes a channel's status.
    pub fn try_status(&mut self, channel: u8, next: u32) -> bool {
        self.take(3) && {
            self.w.write_u8(kind::STATUS | channel);
            self.w.write_u16(next as u16);
            true
        }
    }

    /// Ends the packet: its bytes.
    pub fn finish(self) -> usize {
        let used = self.used;
        let written = self.w.finish().expect("room was checked before each frame");
        debug_assert_eq!(written, used);
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_expand_to_the_nearest() {
        for expected in [0u64, 1, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x12_3456] {
            for delta in [-300i64, -1, 0, 1, 2, 300] {
                let Some(number) = expected.checked_add_signed(delta) else {
                    continue;
                };
                assert_eq!(expand_u16(expected, number as u16), number);
                assert_eq!(expand_seq(expected as u32, number as u16), number as u32);
            }
        }
        assert_eq!(expand_seq(0, 0xffff), u32::MAX);
    }

    #[test]
    fn frames_round_trip() {
        let mut buffer = [0; 1200];
        let mut w = PacketWriter::new(&mut buffer);
        let mut ack = AckFrame::new(77, 1234);
        for (largest, len) in [(70_000, 3), (69_990, 1), (69_980, 200)] {
            assert!(ack.push(AckRange { largest, len }));
        }
        assert!(w.try_ack(&ack) && w.try_ping() && w.try_close(7, b"bye") && w.try_path(9, true));
        assert!(w.try_message(1, Some(5), b"sequenced") && w.try_message(0, None, b""));
        assert!(w.try_fragment(0, 3, 5000, 1000, b"part") && w.try_segment(3, 70_001, b"segment"));
        assert!(
            w.try_repair(3, 70_000, 5, 200, b"mix") && w.try_chunk(2, 1, 1 << 20, 77, b"piece")
        );
        assert!(w.try_status(3, 70_005));
        let len = w.finish();
        let mut frames = Frames::new(&buffer[..len], 70_010, 1 << 1);
        let mut all = Vec::new();
        while let Some(frame) = frames.next().unwrap() {
            all.push(frame);
        }
        assert_eq!(all.len(), 11);
        assert_eq!(all[0], Frame::Ack(ack));
        assert_eq!(
            all[2],
            Frame::Close {
                code: 7,
                reason: b"bye"
            }
        );
        assert_eq!(
            all[4],
            Frame::Message {
                channel: 1,
                seq: Some(5),
                payload: b"sequenced"
            }
        );
        assert_eq!(
            all[6],
            Frame::Fragment {
                channel: 0,
                seq: 3,
                total: 5000,
                offset: 1000,
                payload: b"part"
            }
        );
        assert_eq!(
            all[10],
            Frame::Status {
                channel: 3,
                next: 70_005u32 as u16
            }
        );
    }

    #[test]
    fn frames_are_as_the_standard_says() {
        type Write = fn(&mut PacketWriter<'_>) -> bool;
        let frames: [(&str, Write); 12] = [
            ("frame.ping", |w| w.try_ping()),
            ("frame.close", |w| w.try_close(7, b"bye")),
            ("frame.challenge", |w| w.try_path(9, false)),
            ("frame.response", |w| w.try_path(9, true)),
            ("frame.message", |w| w.try_message(0, None, b"hi")),
            ("frame.sequenced", |w| w.try_message(1, Some(5), b"hi")),
            ("frame.fragment", |w| {
                w.try_fragment(0, 3, 5000, 1000, b"part")
            }),
            ("frame.segment", |w| {
                w.try_segment(3, 70_001, &[4, b'h', b'i'])
            }),
            ("frame.repair", |w| w.try_repair(3, 70_000, 5, 200, b"mix")),
            ("frame.chunk", |w| w.try_chunk(2, 1, 1 << 20, 77, b"piece")),
            ("frame.status", |w| w.try_status(3, 70_005)),
            ("frame.ack", |w| {
                let mut ack = AckFrame::new(77, 1234);
                for (largest, len) in [(70_000, 3), (69_990, 1), (69_980, 200)] {
                    ack.push(AckRange { largest, len });
                }
                w.try_ack(&ack)
            }),
        ];
        for (name, write) in frames {
            let mut buffer = [0; 100];
            let mut w = PacketWriter::new(&mut buffer);
            assert!(write(&mut w));
            let len = w.finish();
            assert_eq!(
                crate::golden::hex(&buffer[..len]),
                crate::golden::vector(name),
                "{name}"
            );
            let mut frames = Frames::new(&buffer[..len], 70_010, 1 << 1);
            assert!(frames.next().unwrap().is_some() && frames.next().unwrap().is_none());
        }
    }

    #[test]
    fn nothing_is_written_without_room() {
        let mut buffer = [0; 10];
        let mut w = PacketWriter::new(&mut buffer);
        assert!(!w.try_message(0, None, &[0; 9]));
        assert!(w.try_message(0, None, &[0; 8]));
        assert!(!w.try_ping());
        assert_eq!(w.finish(), 10);
    }

    #[test]
    fn hostile_frames_end_in_an_error_or_a_frame() {
        let mut x = 1u64;
        for _ in 0..20_000 {
            let mut bytes = [0u8; 64];
            for b in &mut bytes {
                x = x
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                *b = (x >> 56) as u8;
            }
            let mut frames = Frames::new(&bytes, x >> 40, 0b10);
            while let Ok(Some(_)) = frames.next() {}
        }
    }
}
