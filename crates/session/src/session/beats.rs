//! Beats of the agreement between two members. While nothing changes a beat says what the last one said: a digest stands for it.

use samestep_wire::encode_to_vec;

use crate::agreement::Message;
use crate::control::Control;
use crate::log::Entry;

/// A beat that changed is said whole so many times, in case one gets lost, and again after so many that were not.
const WHOLE: u32 = 2;
const WHOLE_EVERY: u32 = 64;

/// What two members have told each other by beats.
#[derive(Debug, Default)]
pub(super) struct Beats {
    /// The digest of the beat that was said last, and how often it was.
    said: Option<(u32, u32)>,
    /// The last whole beat that came, with its digest.
    heard: Option<(u32, Box<Message<Entry>>)>,
    /// Whether the other said to have said something that did not come.
    lacks: bool,
}

impl Beats {
    /// What to send for a beat.
    pub(super) fn say(&mut self, beat: Message<Entry>) -> Control {
        let digest = digest(&beat);
        let times = match self.said {
            Some((said, times)) if said == digest => times.wrapping_add(1),
            _ => 0,
        };
        self.said = Some((digest, times));
        match times < WHOLE || times.is_multiple_of(WHOLE_EVERY) {
            true => Control::Agreement(Box::new(beat)),
            false => Control::SameBeat {
                digest,
                lacks: self.lacks,
            },
        }
    }

    /// A whole beat came.
    pub(super) fn on_whole(&mut self, beat: &Message<Entry>) {
        let digest = digest(beat);
        if self
            .heard
            .as_ref()
            .is_none_or(|(heard, _)| *heard != digest)
        {
            self.heard = Some((digest, Box::new(beat.clone())));
        }
        self.lacks = false;
    }

    /// A digest came: the beat that it stands for, if that is known here.
    pub(super) fn on_same(&mut self, digest: u32, lacks: bool) -> Option<Message<Entry>> {
        if lacks {
            self.said = None;
        }
        let known = self.heard.as_ref().filter(|(heard, _)| *heard == digest);
        self.lacks = known.is_none();
        known.map(|(_, beat)| (**beat).clone())
    }
}

/// FNV-1a of a beat's bytes.
fn digest(beat: &Message<Entry>) -> u32 {
    let bytes = encode_to_vec(beat).unwrap_or_default();
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{Ballot, Beat, Body, Incarnation, Status};

    fn beat(length: u64) -> Message<Entry> {
        let ballot = Ballot {
            n: 0,
            by: Incarnation(1),
        };
        Message {
            room: 1,
            from: Incarnation(1),
            to: Incarnation(2),
            view: 3,
            decided: length,
            body: Body::Beat(Beat {
                status: Status {
                    promised: ballot,
                    accepted: ballot,
                    length,
                },
                leads: true,
                hears: 3,
            }),
        }
    }

    #[test]
    fn what_is_said_again_is_understood_and_what_got_lost_is_said_whole() {
        let (mut ann, mut ben) = (Beats::default(), Beats::default());
        let hear = |ben: &mut Beats, control: Control| match control {
            Control::Agreement(whole) => {
                ben.on_whole(&whole);
                Some(*whole)
            }
            Control::SameBeat { digest, lacks } => ben.on_same(digest, lacks),
            _ => None,
        };
        for _ in 0..WHOLE {
            let said = ann.say(beat(7));
            assert_eq!(hear(&mut ben, said), Some(beat(7)));
        }
        let short = ann.say(beat(7));
        assert!(matches!(short, Control::SameBeat { .. }));
        assert_eq!(hear(&mut ben, short), Some(beat(7)));
        for _ in 0..WHOLE {
            ann.say(beat(8));
        }
        let short = ann.say(beat(8));
        assert_eq!(hear(&mut ben, short), None, "both whole ones got lost");
        for _ in 0..WHOLE {
            ben.say(beat(7));
        }
        let asks = ben.say(beat(7));
        assert!(matches!(asks, Control::SameBeat { lacks: true, .. }));
        hear(&mut ann, asks);
        let said = ann.say(beat(8));
        assert_eq!(hear(&mut ben, said), Some(beat(8)));
        let short = ann.say(beat(8));
        assert_eq!(hear(&mut ben, short), Some(beat(8)));
    }
}
