//! Replication of a struct of shared fields: it is the same in all programs of a room.

mod flush;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samestep_wire::{BitReader, DecodeError, EncodeError};

use crate::fields::{Access, Mark, SharedField, SharedFields};
use crate::id::{Owner, PeerId};
use crate::update::{Kind, decode_fields, decode_header, decode_stamp, encode};
use crate::variable::Exactness;
use flush::Flush;

/// One program's part in keeping a struct of [`Synced`](crate::Synced) fields the same everywhere.
///
/// The struct is handed to every call and must always be the same. [`poll`](Replicator::poll) gives messages to send reliably,
/// and [`handle`](Replicator::handle) takes those that arrive. In a hosted room owners send new values to the authority, which checks that the
/// field is theirs and passes it on; in a mesh owners send them to everyone.
///
/// A program that joins or returns requests all fields from the authority (and in a mesh from each owner), and sends no values
/// before they have arrived: so it neither overwrites newer values nor reuses an old count.
///
/// The new owner of a field goes on from the newest value of the former owner that anybody in sync has: it collects the values of the others, and
/// sends the newest again in the new term (a flush, as in virtual synchrony). So does a new authority of a hosted room, for all fields. Nobody in sync goes back to an older
/// value, and all agree whichever of the former owner's values they received. What the new owner sets meanwhile is sent when all have replied.
#[derive(Debug, Default)]
pub struct Replicator {
    /// The view that the access to the fields was derived from.
    seen: Option<Seen>,
    /// Whether all fields have arrived.
    complete: bool,
    /// The authority that was asked for all fields, and in which term.
    asked: Option<(PeerId, u64)>,
    /// Peers that requested all fields.
    wanted_by: BTreeSet<PeerId>,
    /// Messages of a term that is not known here yet.
    held: BTreeMap<PeerId, Held>,
    flush: Flush,
    out: VecDeque<(Recipient, Vec<u8>)>,
    changed: bool,
    refused: u64,
}

/// What of a view decides about the access to the fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    term: u64,
    me: PeerId,
    authority: PeerId,
    is_mesh: bool,
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
    /// Those of `others` that take part: a new owner waits for what they have. A member whose state is still on its way is not waited for.
    pub in_sync: &'a [PeerId],
    /// Whether everyone talks to everyone, or all to the authority.
    pub is_mesh: bool,
    /// Counts the changes of owners; the same everywhere for the same owners.
    pub term: u64,
    /// The term before: who saw that one has missed no owner.
    pub former_term: u64,
    /// The peer that owns a field; the same everywhere in the same term.
    pub owner_of: &'a dyn Fn(Owner) -> Option<PeerId>,
}

/// The recipient of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Recipient {
    /// Everyone else in the room.
    Others,
    /// One of them.
    Peer(PeerId),
}

/// The fields of a struct that travel as newest values: all but its exact variables.
struct Inexact<'a, S: ?Sized>(&'a mut S);

impl<S: SharedFields + ?Sized> SharedFields for Inexact<'_, S> {
    fn for_each(&mut self, visit: &mut dyn FnMut(&mut dyn SharedField)) {
        self.0.for_each(&mut |field| {
            if field.mark().declared.exactness == Exactness::Inexact {
                visit(field);
            }
        });
    }
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
        let fields = &mut Inexact(fields);
        fields.for_each(&mut |field| field.mark().access = Access::Unbound);
        encode(fields, Kind::Everything, 0, &|_, _| true)?;
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
        let fields = &mut Inexact(fields);
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
            let fields = &mut Inexact(fields);
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
        self.flush.on_interruption();
        let fields = &mut Inexact(fields);
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

    /// Whether this program has come to own fields and waits for what the others have of the former owners' values. What it
    /// sets in these fields is sent afterwards.
    pub fn is_collecting(&self) -> bool {
        self.flush.is_collecting()
    }

    /// Goes on without those that have not replied, to be called when they have been silent for too long. They may have to go back to older values.
    pub fn stop_waiting(&mut self, view: &View<'_>) {
        self.flush.stop_waiting(view);
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
        let seen = Seen {
            term: view.term,
            me: view.me,
            authority: view.authority,
            is_mesh: view.is_mesh,
        };
        if self.seen == Some(seen) {
            return;
        }
        let before = self.seen.replace(seen);
        if before.is_some_and(|before| before.term >= view.term) {
            self.on_rewound(fields, view);
        }
        // A field that is this program's own before and after may have been another's in a term that was missed.
        let missed = before.is_none_or(|before| before.term != view.former_term);
        let is_same = before.is_some_and(|before| before.authority == view.authority);
        if !view.is_mesh && view.authority != view.me && self.flush.is_collecting() {
            // It was the authority, and had not collected everything.
            self.complete = false;
        }
        if !self.complete && (missed || !is_same) {
            // Whoever was asked may not have been the authority when it was to answer.
            self.asked = None;
        }
        let has_new_authority = !view.is_mesh && before.is_some() && (missed || !is_same);
        let takes_over = has_new_authority && view.authority == view.me;
        let mut is_collecting = false;
        fields.for_each(&mut |field| {
            let is_mine = (view.owner_of)(field.owner()) == Some(view.me);
            let mark = field.mark();
            if is_mine {
                let inherits = missed || mark.access != Access::Mine;
                mark.claim |= inherits || has_new_authority;
                mark.collect |= (view.is_mesh && inherits) || takes_over;
                mark.access = Access::Mine;
            } else {
                // What was set and not sent in time is the former owner's last value.
                if let Some(before) = before.filter(|_| mark.access == Access::Mine && mark.set) {
                    mark.stamp = mark.stamp.next(before.term);
                }
                let hosts = !view.is_mesh && view.authority == view.me;
                mark.collect = takes_over || (mark.collect && hosts);
                (mark.access, mark.set, mark.claim) = (Access::Others, false, false);
            }
            mark.collect &= view.is_mesh || view.authority == view.me;
            is_collecting |= mark.collect;
        });
        self.flush.begin(is_collecting, view);
        for (from, held) in core::mem::take(&mut self.held) {
            for message in held.messages {
                self.take(fields, view, from, &message);
            }
        }
    }

    /// What was set in terms that the room has lost with its host counts as the latest of the terms before.
    fn on_rewound<S: SharedFields + ?Sized>(&mut self, fields: &mut S, view: &View<'_>) {
        self.on_interruption(fields);
        fields.for_each(&mut |field| {
            let mark = field.mark();
            mark.stamp = mark.stamp.before(view.term);
        });
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
            self.hold(view, from, message);
            return;
        }
        self.flush.on_message(from);
        let taken = match kind {
            Kind::Update | Kind::Everything => decode_fields(fields, &mut r, |_, field, r| {
                self.take_value(field, view, from, term, r)
            }),
            Kind::Question => {
                if view.is_mesh || view.authority == view.me {
                    self.wanted_by.insert(from);
                    self.flush.on_question(from);
                }
                return;
            }
            Kind::FlushRequest if term == view.term => {
                self.flush.take_request(fields, view, from, &mut r)
            }
            Kind::FlushReply if term == view.term && self.flush.expects_reply(from) => {
                let taken = Flush::take_reply(fields, view, from, &mut r);
                taken.map(|(changed, refused)| {
                    self.changed |= changed;
                    self.refused += refused;
                })
            }
            // Of an earlier term: the heir asks anew in this one.
            Kind::FlushRequest | Kind::FlushReply => return,
        };
        if taken.is_err() || r.finish().is_err() {
            self.refused += 1;
            return;
        }
        // A program that has not asked yet has not asked the other owners either, and may have missed a value of theirs.
        // What was sent in an earlier term than the question is no answer to it.
        let answers = |(peer, asked_in)| peer == from && term >= asked_in;
        if kind == Kind::Everything && from == view.authority && self.asked.is_some_and(answers) {
            self.complete = true;
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
    ///
    /// The host of a room knows its newest term, unless another has taken its place and it does not know yet. It never requests fields.
    fn hold(&mut self, view: &View<'_>, from: PeerId, message: &[u8]) {
        let held = self.held.entry(from).or_default();
        if held.bytes + message.len() > HELD_LIMIT {
            *held = Held::default();
            match view.authority == view.me && !view.is_mesh {
                true => self.refused += 1,
                false => (self.complete, self.asked) = (false, None),
            }
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
        let has_asked = self.asked.is_some_and(|(peer, _)| peer == view.authority);
        if asks && !has_asked {
            self.asked = Some((view.authority, view.term));
            let to = match view.is_mesh {
                true => Recipient::Others,
                false => Recipient::Peer(view.authority),
            };
            self.send(fields, to, Kind::Question, view.term, &|_, _| false);
        }
        self.fill_flush(fields, view);
        if !self.complete {
            return;
        }

        // The sources of the new values: none is sent its own back.
        let mut sources = BTreeSet::new();
        fields.for_each(&mut |field| {
            let mark = field.mark();
            if mark.access == Access::Mine && (mark.set || mark.claim) && !mark.collect {
                mark.stamp = mark.stamp.next(view.term);
                (mark.set, mark.claim) = (false, false);
                mark.untold = Some(view.me);
            }
            sources.extend(mark.untold);
        });
        let has_others = !view.others.is_empty();
        if view.is_mesh || (is_authority && sources.iter().all(|&source| source == view.me)) {
            if has_others && !sources.is_empty() {
                let pick = |_, mark: &Mark| mark.untold.is_some();
                self.send(fields, Recipient::Others, Kind::Update, view.term, &pick);
            }
        } else if is_authority {
            for &peer in view.others {
                if sources.iter().any(|&source| source != peer) {
                    let pick = |_, mark: &Mark| mark.untold.is_some_and(|source| source != peer);
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
            let pick = |_, mark: &Mark| mark.untold == Some(view.me);
            let to = Recipient::Peer(view.authority);
            self.send(fields, to, Kind::Update, view.term, &pick);
        }
        if !sources.is_empty() {
            fields.for_each(&mut |field| field.mark().untold = None);
        }

        if !view.is_mesh && self.flush.is_collecting() {
            // Whoever owns a field may go on from what it is answered: it has to be the newest that anybody has.
            return;
        }
        for peer in core::mem::take(&mut self.wanted_by) {
            let to = Recipient::Peer(peer);
            if is_authority {
                // A value that was set while others are asked has no stamp of its own yet.
                let pick = |_, mark: &Mark| !(mark.collect && mark.set);
                self.send(fields, to, Kind::Everything, view.term, &pick);
            } else if view.is_mesh {
                let pick = |_, mark: &Mark| mark.access == Access::Mine && !mark.collect;
                self.send(fields, to, Kind::Update, view.term, &pick);
            }
        }
    }

    /// Asks for what former owners set last, replies to those who ask, and lets fields be claimed when everyone has replied.
    fn fill_flush<S: SharedFields + ?Sized>(&mut self, fields: &mut S, view: &View<'_>) {
        for (heir, stamps) in self.flush.take_requests() {
            let pick = |index: usize, mark: &Mark| {
                let asked = stamps.get(index).copied().flatten();
                // What was set here and not sent yet has no stamp of its own: it comes with the next update.
                !mark.set && asked.is_some_and(|stamp| mark.stamp > stamp)
            };
            let to = Recipient::Peer(heir);
            self.send(fields, to, Kind::FlushReply, view.term, &pick);
        }
        if self.flush.take_done(view) {
            fields.for_each(&mut |field| field.mark().collect = false);
        }
        for peer in self.flush.take_unasked(view) {
            let (to, pick) = (Recipient::Peer(peer), |_, mark: &Mark| mark.collect);
            self.send(fields, to, Kind::FlushRequest, view.term, &pick);
        }
    }

    fn send<S: SharedFields + ?Sized>(
        &mut self,
        fields: &mut S,
        to: Recipient,
        kind: Kind,
        term: u64,
        pick: &dyn Fn(usize, &Mark) -> bool,
    ) {
        let bytes = encode(fields, kind, term, pick)
            .expect("a value that was checked when set, or decoded, can be encoded");
        self.out.push_back((to, bytes));
    }
}

#[cfg(test)]
mod tests;
