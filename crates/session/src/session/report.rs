//! Members that see another break the rules say so, and whom more than half of them report is dropped.
//!
//! What can be seen is the game's: a speed that nobody has, an action that is not ready yet, damage that was not dealt, a variable of somebody else's. Where
//! everyone simulates with everyone's inputs there is little to claim; where peers own what they move, there is. One report proves nothing, because the reporter may
//! be the one who lies; more than half of a mesh can have anything decided anyway.

use core::time::Duration;

use crate::control::Proposal;
use crate::event::{SessionEvent, shorten};
use crate::id::PeerId;
use crate::room::{Change, Room};
use crate::session::Session;
use crate::session::propose::{Decision, words as denied};

/// Who was convicted is not let in again for so long.
const BANNED_FOR: Duration = Duration::from_secs(3600);

impl Session {
    /// Reports that a peer breaks the rules, in words for people. Everyone is [told](SessionEvent::Reported), once for each who reports. In a mesh, whom more than half
    /// of the members report is sent away and not let in again for an hour; in a hosted room the host decides what becomes of it.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use samestep_session::{PeerId, Session};
    /// # fn check(session: &mut Session, now: Duration, peer: PeerId, moved: f32) {
    /// const FASTEST: f32 = 3.0;
    /// if moved > FASTEST {
    ///     session.report(now, peer, "it moves faster than anybody can");
    /// }
    /// # }
    /// ```
    pub fn report(&mut self, now: Duration, peer: PeerId, words: &str) {
        let report = Proposal::Report {
            against: peer,
            words: shorten(words),
        };
        let known = self.room.peer(peer);
        let is_new = known
            .zip(self.me)
            .is_some_and(|(known, me)| !known.reported_by.contains(&me));
        if is_new && !self.requests.proposals.is_open(&report) {
            self.propose(now, report);
        }
    }

    pub(super) fn on_reported(&mut self, now: Duration, by: PeerId, peer: PeerId, words: String) {
        self.emit(SessionEvent::Reported { by, peer, words });
        if Some(peer) == self.me && self.room.convicted_by(peer).is_some() {
            // A leader does not send itself away.
            return self.leave(now, "most of the others have reported this program");
        }
        self.drop_convicted(now);
    }

    /// The leader sends those away whom more than half of the others have reported.
    pub(super) fn drop_convicted(&mut self, now: Duration) {
        if !self.leads() {
            return;
        }
        let expected = self.mesh.expected(&self.room);
        let is_wished = |peer: PeerId| self.leading.wishes.iter().any(|(p, _)| *p == peer);
        let peers = self.room.peers().iter().map(|p| p.id);
        let convicted = peers.filter_map(|peer| Some((peer, self.room.convicted_by(peer)?)));
        let convicted: Vec<(PeerId, usize)> = convicted
            .filter(|(peer, _)| expected.peer(*peer).is_some() && !is_wished(*peer))
            .collect();
        for (peer, votes) in convicted {
            let words = format!("{votes} members saw it break the rules");
            self.ban(now, peer, BANNED_FOR, &words);
        }
    }
}

/// The authority's decision about a report, by the room as it will be.
pub(super) fn consider_report(
    expected: &Room,
    from: PeerId,
    against: PeerId,
    words: String,
) -> Decision {
    match expected.peer(against) {
        _ if from == against => denied("nobody reports itself"),
        None => denied("there is no such peer"),
        Some(info) if info.reported_by.contains(&from) => Decision::Nothing,
        Some(_) => Decision::Change(Change::Reported {
            by: from,
            against,
            words,
        }),
    }
}
