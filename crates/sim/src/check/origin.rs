//! Nothing from a stranger.

use crate::stamp::{self, Flow};

/// What was sent on one flow; recognises it on arrival and nothing else.
#[derive(Clone, Debug)]
pub struct Origin {
    key: u64,
    flow: Flow,
    sent_bytes: Vec<u32>,
    expected: Vec<u8>,
}

impl Origin {
    /// Checks one flow with stamps made with `key`.
    pub fn new(key: u64, flow: Flow) -> Origin {
        Origin {
            key,
            flow,
            sent_bytes: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// Writes the next message, of this length, into `out`. It counts once [`on_sent`](Origin::on_sent) is called.
    pub fn write_next(&self, bytes: usize, out: &mut Vec<u8>) {
        stamp::write(self.key, self.flow, self.sent(), bytes, out);
    }

    /// The message just written, of this length, was accepted by `send`.
    pub fn on_sent(&mut self, bytes: usize) {
        self.sent_bytes.push(bytes as u32);
    }

    /// Messages sent so far.
    pub fn sent(&self) -> u32 {
        self.sent_bytes.len() as u32
    }

    /// A message arrived: its number, or why it cannot be one of ours. `due` is the number of a message too short
    /// for a stamp, known on ordered channels.
    pub fn on_received(&mut self, payload: &[u8], due: Option<u32>) -> Result<u32, String> {
        let number = match stamp::read(payload) {
            Some(claim) => {
                let same = claim.tag == self.flow.tag
                    && claim.from == self.flow.from
                    && claim.channel == self.flow.channel;
                if !same {
                    return Err(format!(
                        "{} bytes arrived that claim to be {claim:?}",
                        payload.len()
                    ));
                }
                claim.number
            }
            None => match due {
                Some(number) => number,
                None => return Err(format!("{} bytes arrived that nobody sent", payload.len())),
            },
        };
        match self.sent_bytes.get(number as usize) {
            None => return Err(format!("message {number} arrived before it was sent")),
            Some(&bytes) if bytes as usize != payload.len() => {
                let got = payload.len();
                return Err(format!(
                    "message {number} of {bytes} bytes arrived with {got} bytes"
                ));
            }
            Some(_) => {}
        }
        let mut expected = std::mem::take(&mut self.expected);
        stamp::write(self.key, self.flow, number, payload.len(), &mut expected);
        let same = expected == payload;
        self.expected = expected;
        match same {
            true => Ok(number),
            false => Err(format!(
                "message {number} arrived with other bytes than were sent"
            )),
        }
    }
}
