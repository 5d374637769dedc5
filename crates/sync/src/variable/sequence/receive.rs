//! What a member may say of a sequence, and what it leads to.

use super::super::message::{Body, MAX_STATE, Place, State, Verdict};
use super::{Content, Role, Seat, Sequence, TABLE_LIMIT};
use crate::fields::Stamp;
use crate::id::PeerId;
use crate::replicator::Recipient;
use crate::variable::MemberRole;

impl Sequence {
    /// Takes a message of this term from another member.
    pub(in crate::variable) fn handle(
        &mut self,
        content: &mut dyn Content,
        seat: &Seat<'_>,
        from: PeerId,
        body: Body,
    ) {
        let is_good = match body {
            Body::Request { .. } | Body::Have { .. } | Body::Question | Body::Reply { .. } => {
                self.handle_as_sequencer(content, seat, from, body)
            }
            Body::Collect { have } => self.handle_collect(content, seat, from, have.into()),
            _ if Some(from) != seat.sequencer => false,
            _ => self.handle_of_sequencer(content, seat, from, body),
        };
        self.refused += u64::from(!is_good);
        self.settle(content, seat);
    }

    /// Somebody asks what is here: the next sequencer, which waits for an answer, or a member that the sequencer does not answer.
    fn handle_collect(
        &mut self,
        content: &mut dyn Content,
        seat: &Seat<'_>,
        from: PeerId,
        have: Stamp,
    ) -> bool {
        let is_sequencer = Some(from) == seat.sequencer;
        if !is_sequencer && !seat.in_sync.contains(&from) {
            return false;
        }
        let newest = self.newest();
        let more = (newest > have).then(|| match &self.copy {
            Some((stamp, state)) if *stamp == newest => (newest.into(), state.clone()),
            _ => (newest.into(), self.state(content)),
        });
        if is_sequencer || more.is_some() {
            self.out
                .push_back((Recipient::Peer(from), Body::Reply { more }));
        }
        true
    }

    /// Says whether the sender might say it.
    fn handle_as_sequencer(
        &mut self,
        content: &mut dyn Content,
        seat: &Seat<'_>,
        from: PeerId,
        body: Body,
    ) -> bool {
        match (&mut self.role, body) {
            (
                Role::Leads { .. },
                Body::Request {
                    life,
                    number,
                    change,
                },
            ) => {
                self.order(content, seat, from, life, number, change);
                number > 0
            }
            (Role::Leads { haves, silent, .. }, Body::Have { count }) => {
                if count > self.stamp.count || !seat.in_sync.contains(&from) {
                    return false;
                }
                let have = haves.entry(from).or_default();
                if count > *have {
                    *have = count;
                    silent.on_heard(from);
                }
                if count <= self.certain {
                    // It may have missed that this is certain.
                    let count = self.certain;
                    self.out
                        .push_back((Recipient::Peer(from), Body::Certain { count }));
                }
                true
            }
            (Role::Leads { wanted, .. }, Body::Question) => {
                wanted.insert(from);
                true
            }
            (Role::Collects { replied, .. }, Body::Reply { more }) => {
                if !seat.in_sync.contains(&from) || !replied.insert(from) {
                    return false;
                }
                let Some((place, state)) = more else {
                    return true;
                };
                let stamp = Stamp::from(place);
                // It may say so of an earlier term alone: in this one nobody has ordered anything yet.
                stamp.term < seat.term && (stamp <= self.stamp || self.load(content, stamp, state))
            }
            // Somebody else was the sequencer when it was said, or it has been said twice.
            (_, Body::Question | Body::Have { .. }) => true,
            (Role::Leads { .. } | Role::Follows { in_step: true }, Body::Reply { .. }) => true,
            (Role::Follows { in_step: false }, Body::Reply { more }) => {
                self.keep_copy(seat, from, more)
            }
            _ => false,
        }
    }

    /// Keeps what another has for the next sequencer. It is not shown: only the sequencer says what there is.
    fn keep_copy(&mut self, seat: &Seat<'_>, from: PeerId, more: Option<(Place, State)>) -> bool {
        let Some((place, state)) = more else {
            return true;
        };
        let stamp = Stamp::from(place);
        let fits = state.values.len() <= MAX_STATE && stamp.term <= seat.term;
        if fits && seat.in_sync.contains(&from) && stamp > self.newest() {
            self.copy = Some((stamp, state));
        }
        fits
    }

    fn handle_of_sequencer(
        &mut self,
        content: &mut dyn Content,
        seat: &Seat<'_>,
        from: PeerId,
        body: Body,
    ) -> bool {
        let Role::Follows { in_step } = &mut self.role else {
            return false;
        };
        match body {
            Body::Entry {
                count,
                by,
                life,
                number,
                verdict,
            } => {
                if !*in_step || count <= self.stamp.count {
                    return true;
                }
                let knows =
                    (seat.role_of)(by) != MemberRole::Stranger && self.table.len() < TABLE_LIMIT;
                if !knows && !self.table.contains_key(&by) {
                    return false;
                }
                let follows = count == self.stamp.count + 1;
                let mut fits = || match &verdict {
                    Verdict::Change(change) => content.change(change, true).is_ok(),
                    Verdict::Refused(_) => true,
                };
                if !follows || !fits() {
                    *in_step = false;
                    self.out.push_back((Recipient::Peer(from), Body::Question));
                    return !follows;
                }
                self.stamp.count = count;
                self.note(by, life, number, &verdict);
                self.on_new_values(content);
            }
            Body::Certain { count } => {
                if *in_step {
                    self.certain = self.certain.max(count.min(self.stamp.count));
                }
                return true;
            }
            Body::Claim { base, count } => {
                let now = Stamp {
                    term: seat.term,
                    count,
                };
                let base = Stamp::from(base);
                if count == 1 && self.stamp == base && base != Stamp::default() {
                    self.stamp = now;
                    *in_step = true;
                    self.on_new_values(content);
                } else if self.stamp >= now {
                    *in_step = true;
                } else {
                    *in_step = false;
                    self.out.push_back((Recipient::Peer(from), Body::Question));
                    return true;
                }
            }
            Body::State { count, state } => {
                let stamp = Stamp {
                    term: seat.term,
                    count,
                };
                if stamp > self.stamp {
                    if !self.load(content, stamp, state) {
                        return false;
                    }
                    self.role = Role::Follows { in_step: true };
                    self.on_new_values(content);
                } else {
                    *in_step = true;
                }
            }
            _ => return false,
        }
        self.place();
        let count = self.stamp.count;
        self.out
            .push_back((Recipient::Peer(from), Body::Have { count }));
        true
    }

    pub(super) fn load(&mut self, content: &mut dyn Content, stamp: Stamp, state: State) -> bool {
        let is_good = state.values.len() <= MAX_STATE && content.load(&state.values);
        if is_good {
            if stamp.term != self.stamp.term {
                // Places of another term: what stands at them is not what is certain here.
                self.log.clear();
            }
            self.stamp = stamp;
            self.table = state.table.into_iter().collect();
            self.changed = true;
        }
        is_good
    }
}
