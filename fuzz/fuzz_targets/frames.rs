//! The content of packets: never past the end, never endless, and acknowledgements that make sense.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_proto::fuzzing::{Frame, Frames, decode_header};
use samestep_wire::BitWriter;

fuzz_target!(|input: (u64, u32, &[u8])| {
    let (newest, sequenced, bytes) = input;
    // Nobody lives long enough to send more.
    let newest_sent = newest >> 8;
    let _ = decode_header(bytes);
    let mut frames = Frames::new(bytes, newest_sent, sequenced);
    let mut count = 0;
    while let Ok(Some(frame)) = frames.next() {
        count += 1;
        assert!(count <= bytes.len(), "a frame has at least one byte");
        match frame {
            Frame::Ack(ack) => {
                let mut above = u64::MAX;
                for range in ack.ranges() {
                    assert!(range.len >= 1 && range.len <= range.largest + 1);
                    assert!(range.largest < above.saturating_sub(1), "ranges have gaps");
                    above = range.largest + 1 - range.len;
                }
                let mut buffer = [0; 1024];
                let mut w = BitWriter::new(&mut buffer);
                ack.encode(&mut w);
                let len = w.finish().expect("24 ranges fit");
                assert!(len <= ack.encoded_len());
                let again = Frames::new(&buffer[..len], newest_sent, sequenced).next();
                assert_eq!(again, Ok(Some(Frame::Ack(ack))));
            }
            Frame::Close { reason, .. } => assert!(reason.len() <= 255),
            Frame::Message { channel, seq, .. } => {
                assert_eq!(seq.is_some(), sequenced >> channel & 1 != 0);
            }
            _ => {}
        }
    }
});
