//! Replication of a struct of shared fields: it is the same in all programs of a room.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samestep_wire::{BitReader, DecodeError, EncodeError};

use crate::fields::{Access, Mark, SharedField, SharedFields};
use crate::id::{Owner, PeerId};
use crate::update::{Kind, decode_header, decode_stamp, encode};

/// One program's part in keeping a struct of [`Synced`](crate::Synced) fields the same everywhere.
///
/// The struct is handed to every call and must always be the same. [`poll`](Replicator::poll) gives messages to send reliably,
/// and [`handle`](Replicator::handle) takes those that arrive. In a hosted room owners send new values to the authority, which checks that the
/// field is theirs and passes it on; in a mesh owners send them to everyone.
///
/// A program that joins or returns requests all fields from the authority (and in a mesh from each owner), and sends no values
/// before they have arrived: so it neither overwrites newer values nor reuses an old count. The new owner of a
/// field sends its value again in the new term, so that all agree whichever of the former owner's values they received.
#[derive(Debug, Default)]
pub struct Replicator {
    /// The view that the access to the fields was derived from.
    seen: Option<(u64, PeerId, PeerId, bool)>,
    /// Whether all fields have arrived.
    complete: bool,
    /// The authority that was asked for all fields.
    asked: Option<PeerId>,
    /// Peers that requested all fields.
    wanted_by: BTreeSet<PeerId>,
    /// Messages of a term that is not known here yet.
    held: BTreeMap<PeerId, Held>,
    out: VecDeque<(Recipient, Vec<u8>)>,
    changed: bool,
    refused: u64,
}

/// The room as a program sees it now.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// This program.
    pub me: PeerId,
    /// The host, or the leader of a mesh.
    pub authority: PeerId,
    /// Everyone else in the room.
    pub others: &'a [PeerId],
    /// Whether everyone talks to everyone, or all to the authority.
    pub is_mesh: bool,
    /// Counts the changes of owners; the same everywhere for the same owners.
    pub term: u64,
    /// The peer that owns a field; the same everywhere in the same term.
    pub owner_of: &'a dyn Fn(Owner) -> Option<PeerId>,
}

/// The recipient of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recipient {
    /// Everyone else in the room.
    Others,
    /// One of them.
    Peer(PeerId),
}

/// Bytes kept per peer until their term is known here.
const HELD_LIMIT: usize = 256 << 10;

#[derive(Debug, Default)]
struct Held {
    messages: Vec<Vec<u8>>,
    bytes: usize,
}

impl Replicator {
    /// Begins to share `fields`, with the owners that their declaration names. Refuses values that cannot be sent.
    pub fn new<S: SharedFields + ?Sized>(fields: &mut S) -> Result<Replicator, EncodeError> {
        fields.declare_owners();
        fields.for_each(&mut |field| field.mark().access = Access::Unbound);
        encode(fields, Kind::Everything, 0, &|_| true)?;
        Ok(Replicator::default())
    }

    /// Takes a message from `from`. A malformed one changes nothing, nor does a value of a field that `from` does not own.
    pub fn handle<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        from: PeerId,
        message: &[u8],
    ) {
        self.on_view(fields, view);
        if from != view.me {
            self.take(fields, view, from, message);
        }
    }

    /// The next message to send; call until `None`. Of a field that was set several times only the last value goes out.
    pub fn poll<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
    ) -> Option<(Recipient, Vec<u8>)> {
        if self.out.is_empty() {
            self.on_view(fields, view);
            self.fill(fields, view);
        }
        self.out.pop_front()
    }

    /// The connection was interrupted: messages in both directions may be lost. Requests all fields again and sends
    /// this program's own again.
    pub fn on_interruption<S: SharedFields + ?Sized>(&mut self, fields: &mut S) {
        self.complete = false;
        self.asked = None;
        self.held.clear();
        self.out.clear();
        self.wanted_by.clear();
        fields.for_each(&mut |field| {
            let mark = field.mark();
            mark.claim = mark.access == Access::Mine;
            mark.untold = None;
        });
    }

    /// Whether all fields have arrived.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether another program has changed a field since the last call.
    pub fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// Messages that were malformed, or set a field that their sender does not own. A former owner that does not know
    /// of its successor yet causes some too.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Derives the access to the fields anew, if the room has changed.
    fn on_view<S: SharedFields + ?Sized>(&mut self, fields: &mut S, view: &View<'_>) {
        let seen = Some((view.term, view.me, view.authority, view.is_mesh));
        if self.seen == seen {
            return;
        }
        // A field that is this program's own before and after may have been another's in a term that was missed.
        let missed = self
            .seen
            .is_none_or(|(term, ..)| view.term.saturating_sub(term) > 1);
        self.seen = seen;
        fields.for_each(&mut |field| {
            let is_mine = (view.owner_of)(field.owner()) == Some(view.me);
            let mark = field.mark();
            if is_mine {
                mark.claim |= missed || mark.access != Access::Mine;
                mark.access = Access::Mine;
            } else {
                (mark.access, mark.set, mark.claim) = (Access::Others, false, false);
            }
        });
        for (from, held) in core::mem::take(&mut self.held) {
            for message in held.messages {
                self.take(fields, view, from, &message);
            }
        }
    }

    fn take<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        from: PeerId,
        message: &[u8],
    ) {
        let mut r = BitReader::new(message);
        let Ok((kind, term)) = decode_header(&mut r) else {
            self.refused += 1;
            return;
        };
        if term > view.term {
            // The host of a room knows its newest term.
            match view.authority == view.me && !view.is_mesh {
                true => self.refused += 1,
                false => self.hold(from, message),
            }
            return;
        }
        if kind == Kind::Question {
            if view.is_mesh || view.authority == view.me {
                self.wanted_by.insert(from);
            }
            return;
        }
        let ok = self.take_values(fields, view, from, term, &mut r);
        if ok.is_err() || r.finish().is_err() {
            self.refused += 1;
            return;
        }
        // A program that has not asked yet has not asked the other owners either, and may have missed a value of theirs.
        if kind == Kind::Everything && from == view.authority && self.asked == Some(from) {
            self.complete = true;
        }
    }

    fn take_values<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        view: &View<'_>,
        from: PeerId,
        term: u64,
        r: &mut BitReader<'_>,
    ) -> Result<(), DecodeError> {
        let mut left = r.read_varint()?;
        let mut skip = if left > 0 { r.read_varint()? } else { 0 };
        let mut result = Ok(());
        fields.for_each(&mut |field| {
            if left == 0 || result.is_err() {
                return;
            }
            if skip > 0 {
                skip -= 1;
                return;
            }
            result = self.take_value(field, view, from, term, r);
            left -= 1;
            if left > 0 && result.is_ok() {
                match r.read_varint() {
                    Ok(gap) => skip = gap,
                    Err(error) => result = Err(error),
                }
            }
        });
        match left {
            0 => result,
            _ => Err(DecodeError::OutOfRange),
        }
    }

    fn take_value(
        &mut self,
        field: &mut dyn SharedField,
        view: &View<'_>,
        from: PeerId,
        term: u64,
        r: &mut BitReader<'_>,
    ) -> Result<(), DecodeError> {
        let stamp = decode_stamp(r, term)?;
        let is_owner = (view.owner_of)(field.owner()) == Some(from);
        let speaks = match (view.is_mesh, view.authority == view.me) {
            (true, _) => is_owner || (!self.complete && from == view.authority),
            (false, true) => is_owner,
            // Never from the owner itself: only values that the authority has checked count.
            (false, false) => from == view.authority,
        };
        let mark = field.mark();
        let is_mine = mark.access == Access::Mine;
        if !speaks || (is_mine && self.complete) {
            self.refused += u64::from(!speaks);
            return field.decode(r, false);
        }
        let is_first = !self.complete && from == view.authority && stamp == mark.stamp;
        if stamp < mark.stamp || (stamp == mark.stamp && !is_first) {
            return field.decode(r, false);
        }
        if is_mine && mark.set {
            // The field was set here meanwhile: its value stays, and is sent again with a later stamp than this.
            field.decode(r, false)?;
            field.mark().stamp = stamp;
            return Ok(());
        }
        let before = core::mem::take(&mut mark.changed);
        field.decode(r, true)?;
        let mark = field.mark();
        self.changed |= mark.changed;
        mark.changed |= before;
        mark.stamp = stamp;
        if !view.is_mesh && view.authority == view.me {
            mark.untold = Some(from);
        }
        Ok(())
    }

    /// Keeps a message until its term is known. Beyond the limit a peer's messages are dropped, and all fields are requested instead.
    fn hold(&mut self, from: PeerId, message: &[u8]) {
        let held = self.held.entry(from).or_default();
        if held.bytes + message.len() > HELD_LIMIT {
            *held = Held::default();
            (self.complete, self.asked) = (false, None);
            return;
        }
        // Empty messages count too.
        held.bytes += message.len().max(64);
        held.messages.push(message.to_vec());
    }

    /// Puts the messages that are due into `out`.
    fn fill<S: SharedFields + ?Sized>(&mut self, fields: &mut S, view: &View<'_>) {
        let is_authority = view.authority == view.me;
        if is_authority && !self.complete {
            self.complete = true;
            self.wanted_by.extend(view.others);
        }
        // The authority of a mesh sends without asking first, but may have missed a value like anybody else.
        let asks = !self.complete || (is_authority && view.is_mesh && self.asked.is_none());
        if asks && self.asked != Some(view.authority) {
            self.asked = Some(view.authority);
            let to = match view.is_mesh {
                true => Recipient::Others,
                false => Recipient::Peer(view.authority),
            };
            self.send(fields, to, Kind::Question, view.term, &|_| false);
        }
        if !self.complete {
            return;
        }

        // The sources of the new values: none is sent its own back.
        let mut sources = BTreeSet::new();
        fields.for_each(&mut |field| {
            let mark = field.mark();
            if mark.access == Access::Mine && (mark.set || mark.claim) {
                mark.stamp = mark.stamp.next(view.term);
                (mark.set, mark.claim) = (false, false);
                mark.untold = Some(view.me);
            }
            sources.extend(mark.untold);
        });
        let has_others = !view.others.is_empty();
        if view.is_mesh || (is_authority && sources.iter().all(|&source| source == view.me)) {
            if has_others && !sources.is_empty() {
                let pick = |mark: &Mark| mark.untold.is_some();
                self.send(fields, Recipient::Others, Kind::Update, view.term, &pick);
            }
        } else if is_authority {
            for &peer in view.others {
                if sources.iter().any(|&source| source != peer) {
                    let pick = |mark: &Mark| mark.untold.is_some_and(|source| source != peer);
                    self.send(
                        fields,
                        Recipient::Peer(peer),
                        Kind::Update,
                        view.term,
                        &pick,
                    );
                }
            }
        } else if sources.contains(&view.me) {
            let pick = |mark: &Mark| mark.untold == Some(view.me);
            let to = Recipient::Peer(view.authority);
            self.send(fields, to, Kind::Update, view.term, &pick);
        }
        if !sources.is_empty() {
            fields.for_each(&mut |field| field.mark().untold = None);
        }

        for peer in core::mem::take(&mut self.wanted_by) {
            let to = Recipient::Peer(peer);
            if is_authority {
                self.send(fields, to, Kind::Everything, view.term, &|_| true);
            } else if view.is_mesh {
                let pick = |mark: &Mark| mark.access == Access::Mine;
                self.send(fields, to, Kind::Update, view.term, &pick);
            }
        }
    }

    fn send<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        to: Recipient,
        kind: Kind,
        term: u64,
        pick: &dyn Fn(&Mark) -> bool,
    ) {
        let bytes = encode(fields, kind, term, pick)
            .expect("a value that was checked when set, or decoded, can be encoded");
        self.out.push_back((to, bytes));
    }
}

#[cfg(test)]
mod tests;
