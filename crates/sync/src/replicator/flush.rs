//! How a field passes from one owner to the next: the flush of virtual synchrony (Birman and Joseph, 1987).
//!
//! A departed owner's last values may have reached some members and not others, and not the next owner, the *heir*. If
//! the heir simply went on from what it had, it would overwrite newer values that others have shown already. So the heir first
//! collects what anybody has. There is no second agreement: the terms of the room, which all members go through in the same order, say who
//! owns what, and a flush belongs to one term.
//!
//! 1. **Hold.** Who enters a term takes no more values of an earlier owner: only the owner in *this* term speaks for a field.
//! 2. **Request.** The heir enters the term and sends all members that are in sync the stamps it has of the fields that it inherits. In a mesh these are
//!    the fields that it owns now, and either did not own before or may not have owned in a term that it missed. In a hosted room only a new authority asks,
//!    for all fields: as long as the authority stays, it has passed on every value and so has the newest itself.
//! 3. **Reply.** A member replies once it has entered this very term, with every field it was asked for of which it has a later stamp, or with none. It need not have all
//!    fields itself. A request of an earlier term needs no reply: the heir will enter the later term too and ask anew.
//! 4. **Claim.** When all have replied, the heir has the latest value. It sends it with a stamp of the new term, which is later than all of
//!    the replies. What the heir sets meanwhile stays, and is sent in the claim's place. In a hosted room the guests claim what they own
//!    at a new authority too, and nobody is answered with all fields before the flush is over.
//!
//! **Invariant.** A member that is in sync when the heir enters the term, and stays, never goes back from a value of the former owner to an older one. Proof: when it entered the term it took its last
//! value of the former owner, by 1; that value, or a later one, is in its reply, by 3; the claim is not before the reply, by 4; and the claim's value is the
//! latest of all. What is later than the claim by its stamp was set by the heir.
//!
//! Another term begins the flush anew, with whoever is there then, until the fields have been claimed. Who leaves or is away is no longer waited for, and who is still
//! loading never is. A question of a member that has not replied is answered with the request again: it may have lost the first one.
//! The caller bounds the time for a member that is there and stays silent ([`Replicator::stop_waiting`]): such a member is not
//! waited for again before something is heard of it.
//!
//! **Lies.** A reply counts once for each request, only for fields that are being collected, and only with stamps of earlier terms. So a lying member can invent the last value of a field whose owner has changed (in a hosted
//! room, of any field when its host is lost; guests that own fields and stay put that right by their claims), and nothing else. The heir can set another value at once.
//! Memory is bounded by the members and the fields: one request of each member is kept.
//!
//! [`Replicator::stop_waiting`]: crate::Replicator::stop_waiting

use std::collections::{BTreeMap, BTreeSet};

use samestep_wire::{BitReader, DecodeError};

use super::View;
use crate::fields::{Access, SharedFields, Stamp};
use crate::id::PeerId;
use crate::update::{decode_fields, decode_stamp};

/// One program's part in flushes: its own, if it inherits fields, and those of others.
#[derive(Debug, Default)]
pub(super) struct Flush {
    /// Whether this program collects the values of former owners.
    is_collecting: bool,
    /// Members that were sent the request.
    asked: BTreeSet<PeerId>,
    /// Members whose reply has been taken.
    replied: BTreeSet<PeerId>,
    /// Members that let a request pass in silence and have not been heard since.
    silent: BTreeSet<PeerId>,
    /// Requests of heirs in this term, by field: the stamp that the heir has, if it asks for the field.
    requests: BTreeMap<PeerId, Vec<Option<Stamp>>>,
}

impl Flush {
    /// Begins anew in another term.
    pub(super) fn begin(&mut self, is_collecting: bool, view: &View<'_>) {
        self.is_collecting = is_collecting;
        self.asked.clear();
        self.replied.clear();
        self.requests.clear();
        self.silent.retain(|peer| view.others.contains(peer));
    }

    /// Messages in both directions may be lost.
    pub(super) fn on_interruption(&mut self) {
        self.asked.clear();
        self.replied.clear();
        self.requests.clear();
    }

    pub(super) fn is_collecting(&self) -> bool {
        self.is_collecting
    }

    /// Something was heard of a member.
    pub(super) fn on_message(&mut self, from: PeerId) {
        self.silent.remove(&from);
    }

    /// A member may have lost what it was sent.
    pub(super) fn on_question(&mut self, from: PeerId) {
        if !self.replied.contains(&from) {
            self.asked.remove(&from);
        }
    }

    /// Goes on without the members that have not replied.
    pub(super) fn stop_waiting(&mut self, view: &View<'_>) {
        if self.is_collecting {
            let waiting = view.in_sync.iter().filter(|p| !self.replied.contains(p));
            self.silent.extend(waiting);
        }
    }

    /// Ends the collection if everyone has replied. Returns whether it has ended now.
    pub(super) fn take_done(&mut self, view: &View<'_>) -> bool {
        let is_there = |peer| self.replied.contains(peer) || self.silent.contains(peer);
        let is_done = self.is_collecting && view.in_sync.iter().all(is_there);
        self.is_collecting &= !is_done;
        is_done
    }

    /// The members that are to be sent the request now.
    pub(super) fn take_unasked(&mut self, view: &View<'_>) -> Vec<PeerId> {
        if !self.is_collecting {
            return Vec::new();
        }
        let unasked = view.in_sync.iter().filter(|peer| self.asked.insert(**peer));
        unasked.copied().collect()
    }

    /// The requests that are to be replied to now.
    pub(super) fn take_requests(&mut self) -> BTreeMap<PeerId, Vec<Option<Stamp>>> {
        core::mem::take(&mut self.requests)
    }

    /// Keeps the request of an heir in this term. A field that it does not inherit is not replied to.
    pub(super) fn take_request<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        from: PeerId,
        r: &mut BitReader<'_>,
    ) -> Result<(), DecodeError> {
        let mut stamps = Vec::new();
        decode_fields(fields, r, |index, field, r| {
            let stamp = decode_stamp(r, view.term)?;
            let inherits = match view.is_mesh {
                true => (view.owner_of)(field.owner()) == Some(from),
                false => view.authority == from,
            };
            if inherits {
                stamps.resize(index + 1, None);
                stamps[index] = Some(stamp);
            }
            Ok(())
        })?;
        self.requests.insert(from, stamps);
        Ok(())
    }

    /// Whether a reply of this member counts. It counts once, also if it is malformed: such a member has nothing better to say.
    pub(super) fn expects_reply(&mut self, from: PeerId) -> bool {
        self.is_collecting && self.asked.contains(&from) && self.replied.insert(from)
    }

    /// Takes the later values of a reply. Returns whether a field has another value now, and how many values did not count.
    pub(super) fn take_reply<S: SharedFields + ?Sized>(
        fields: &mut S,
        view: &View<'_>,
        from: PeerId,
        r: &mut BitReader<'_>,
    ) -> Result<(bool, u64), DecodeError> {
        let (mut changed, mut refused) = (false, 0);
        decode_fields(fields, r, |_, field, r| {
            let stamp = decode_stamp(r, view.term)?;
            let mark = field.mark();
            let counts = mark.collect && stamp.term < view.term;
            refused += u64::from(!counts);
            if !counts || stamp <= mark.stamp {
                return field.decode(r, false);
            }
            if mark.access == Access::Mine && mark.set {
                // The value that was set here meanwhile stays, and is sent with a later stamp than this.
                field.decode(r, false)?;
            } else {
                let before = core::mem::take(&mut mark.changed);
                field.decode(r, true)?;
                changed |= field.mark().changed;
                field.mark().changed |= before;
            }
            let mark = field.mark();
            mark.stamp = stamp;
            if mark.access != Access::Mine {
                // A new authority passes it on: its owner may have sent it to the former one alone.
                mark.untold = Some(from);
            }
            Ok(())
        })?;
        Ok((changed, refused))
    }
}
