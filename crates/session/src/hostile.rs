//! A member that says whatever it likes: for the tests of attacks and for fuzzers alone.
//!
//! A [`Claim`] is a control message with any content; [`Session::claim`] sends it from a program that has been admitted, so that it arrives with
//! valid keys. [`Session::send_raw`] sends bytes.

use core::time::Duration;

use samestep_proto::{ChannelId, ConnectionId, Delivery, PAIR_TAG_BYTES};
use samestep_wire::encode_to_vec;

use crate::agreement::{
    Ballot, Beat, Body, Entry as Agreed, Incarnation, Member, Message, NextView, Request, Slot,
    Start, Status, Suffix,
};
use crate::channels::{BULK, CONTROL, UNRELIABLE, channel, stream};
use crate::clock::{MeshOffset, MeshReport};
use crate::config::Profile;
use crate::control::{
    Beginning, Control, Entries, Heartbeat, Hello, Proposal, StreamAcks, Welcome,
};
use crate::envelope::{Content, Envelope, Number, Proof, Route};
use crate::event::LeaveReason;
use crate::id::{MemberKey, MessageKind, NetworkId, PeerId, PlayerId};
use crate::log::{Entry, Lane, Origin};
use crate::room::{Change, Newcomer, PeerKind, Settings};
use crate::session::Session;
use crate::streams::{FOR_ALL, SEQUENCED};

/// A control message of a liar. The fields are those of WIRE.md, section 6.3.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the messages")]
pub enum Claim {
    /// A newcomer.
    Hello { players: usize, clock_us: u64 },
    /// The sender is this member.
    Link { from: u16 },
    /// The welcome into the liar's own room.
    Welcome {
        you: u16,
        since: u64,
        index: u64,
        absence_ms: u64,
        clock_us: u64,
        epoch_us: i64,
    },
    /// The receiver, or the sender, is out.
    Farewell(LeaveReason),
    /// A proposal.
    Propose {
        number: u32,
        oldest_open: u32,
        proposal: ClaimedProposal,
    },
    /// A denial.
    Denied { of_action: bool, number: u32 },
    /// Changes of the room, as a host makes them.
    Entries {
        after: u64,
        changes: Vec<ClaimedChange>,
    },
    /// A message of the agreement, as this member if it is not the sender itself.
    Agreement {
        speaks_as: Option<u16>,
        view: u32,
        decided: u64,
        body: ClaimedBody,
    },
    /// The receiver is no member.
    Out { index: u64 },
    /// A heartbeat.
    Heartbeat {
        peers: Vec<u16>,
        acks: (u64, u32),
        clock_us: u64,
        report: Option<(i64, i32, u32)>,
    },
}

/// What a liar says in the agreement. `n` is the number of a ballot of its own.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the messages")]
pub enum ClaimedBody {
    /// A heartbeat.
    Beat { n: u32, length: u64, leads: bool },
    /// A question for a pre-vote.
    PreVote { round: u32 },
    /// A pre-vote.
    PreVoted { round: u32 },
    /// A candidature.
    Prepare { n: u32, length: u64 },
    /// A promise, to the receiver, of its ballot.
    Promise {
        n: u32,
        length: u64,
        changes: Vec<ClaimedChange>,
    },
    /// A log in place of the receiver's.
    Sync {
        n: u32,
        after: u64,
        changes: Vec<ClaimedChange>,
    },
    /// Entries.
    Accept {
        n: u32,
        after: u64,
        changes: Vec<ClaimedChange>,
    },
    /// An acknowledgement, of the receiver's ballot.
    Accepted { n: u32, length: u64 },
    /// The log is decided.
    Decided { n: u32 },
    /// Where the sender stands.
    Status { n: u32, length: u64 },
    /// What was decided, and last a view of these members.
    CatchUp {
        after: u64,
        changes: Vec<ClaimedChange>,
        members: Vec<u16>,
    },
    /// The last promise.
    Farewell { n: u32, after: u64 },
    /// A plea for a place.
    Learn { slot: u16 },
    /// Changes that the leader is asked for.
    Request {
        first: u32,
        changes: Vec<ClaimedChange>,
    },
}

/// A proposal of a liar.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the messages")]
pub enum ClaimedProposal {
    /// An action of so many bytes.
    Action { bytes: usize },
    /// The name of a player.
    Profile { player: u16 },
    /// Whether a player is ready.
    Ready { player: u16 },
    /// Other settings.
    Settings,
    /// The game begins.
    Start,
    /// The game is over.
    End,
    /// Another game.
    Rematch,
    /// The sender has loaded.
    Loaded,
    /// An object.
    Name { by: u16, number: u32 },
    /// An object is gone.
    Unname { by: u16, number: u32 },
    /// A newcomer with this secret.
    Admit { newcomer: u16 },
}

/// A change of a room in the words of a liar.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the messages")]
pub enum ClaimedChange {
    /// A peer with a player joins.
    Joined { peer: u16, player: u16 },
    /// A peer is back.
    Returned { peer: u16, count_from: u32 },
    /// A peer has loaded.
    InSync { peer: u16 },
    /// A peer is away.
    Away { peer: u16 },
    /// A peer is sent away.
    Kicked { peer: u16 },
    /// The game begins.
    Start { at_us: u64 },
    /// The game is over.
    End,
    /// Another peer leads.
    Authority { peer: u16 },
    /// Another peer breaks ties.
    TieBreaker { peer: u16 },
    /// An object.
    Named { by: u16, number: u32 },
    /// An action.
    Command { from: u16, number: u32 },
    /// The room is closed.
    Closed,
}

/// What a liar does with messages that it is to pass on in a mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelayFault {
    /// It passes them on and keeps them: see [`Session::replay`].
    Record,
    /// It changes a bit of their content.
    Change,
    /// It says that they are from another member.
    Rename(PeerId),
    /// It passes them on to another member.
    Redirect(PeerId),
}

/// The conduct of a liar that relays, and what it has recorded.
#[derive(Debug, Default)]
pub(crate) struct FalseRelay {
    fault: Option<RelayFault>,
    recorded: Vec<(PeerId, ChannelId, Vec<u8>)>,
    /// The newcomers that it has asked for.
    pub(crate) admits: Vec<Proposal>,
}

/// An envelope as if its message were passed on.
fn relayed(from: PeerId, to: PeerId, content: Content) -> Envelope {
    Envelope {
        content,
        route: Route::Relayed {
            from,
            to,
            hops: 1,
            // It counts as the first of a later incarnation, if it counts.
            proof: Proof {
                epoch: 1 << 40,
                number: 1,
                tag: [7; PAIR_TAG_BYTES],
            },
        },
        number: None,
    }
}

/// A number that may well be the next.
fn number_of(delivery: Delivery) -> Option<Number> {
    let stream = match delivery {
        Delivery::Unreliable => return None,
        Delivery::UnreliableSequenced => SEQUENCED,
        reliable => stream(reliable),
    };
    // Without an epoch it counts in all.
    Some(Number {
        epoch: FOR_ALL,
        number: 0,
        stream,
    })
}

/// The key of a newcomer that is not there.
fn key(newcomer: u32) -> MemberKey {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&newcomer.to_le_bytes());
    bytes
}

fn hello(kind: PeerKind, players: usize, clock_us: u64) -> Hello {
    Hello {
        kind,
        players: vec![Profile::named("liar"); players.min(64)],
        incarnation: Incarnation(77),
        have: None,
        clock_us,
        reached_at: None,
        description: None,
        proof: None,
    }
}

impl ClaimedProposal {
    fn proposal(&self, kind: PeerKind) -> Proposal {
        let object = |by, number| NetworkId::Dynamic {
            by: PeerId(by),
            number,
        };
        match *self {
            Self::Action { bytes } => Proposal::Action {
                kind: MessageKind(1),
                payload: vec![0; bytes.min(65_536)],
            },
            Self::Profile { player } => Proposal::Profile {
                player: PlayerId(player),
                profile: Profile::named("liar"),
            },
            Self::Ready { player } => Proposal::Ready {
                player: PlayerId(player),
                ready: true,
            },
            Self::Settings => Proposal::Settings(Settings::default()),
            Self::Start => Proposal::Start,
            Self::End => Proposal::End { result: vec![1] },
            Self::Rematch => Proposal::Rematch,
            Self::Loaded => Proposal::Loaded,
            Self::Name { by, number } => Proposal::Name {
                id: object(by, number),
                kind: 1,
            },
            Self::Unname { by, number } => Proposal::Unname {
                id: object(by, number),
            },
            Self::Admit { newcomer } => Proposal::Admit {
                hello: Box::new(hello(kind, 1, 0)),
                key: key(newcomer.into()),
                address: None,
            },
        }
    }
}

impl ClaimedChange {
    fn change(&self, kind: PeerKind) -> (Option<Origin>, Change) {
        let change = match *self {
            Self::Joined { peer, player } => Change::Joined(Newcomer {
                peer: PeerId(peer),
                kind,
                sponsor: PeerId(0),
                sponsor_address: None,
                address: None,
                key: key(peer.into()),
                incarnation: Incarnation(u64::from(peer) + 1000),
                players: vec![(PlayerId(player), Profile::named("ghost"))],
            }),
            Self::Returned { peer, count_from } => Change::Returned {
                peer: PeerId(peer),
                sponsor: PeerId(0),
                sponsor_address: None,
                address: None,
                incarnation: Incarnation(u64::from(peer) + 2000),
                count_from: Some([count_from; 2]),
            },
            Self::InSync { peer } => Change::InSync { peer: PeerId(peer) },
            Self::Away { peer } => Change::Away { peer: PeerId(peer) },
            Self::Kicked { peer } => Change::Left {
                peer: PeerId(peer),
                reason: LeaveReason::Kicked("by a liar".into()),
            },
            Self::Start { at_us } => Change::Start { at_us },
            Self::End => Change::End { result: vec![1] },
            Self::Authority { peer } => Change::Authority { peer: PeerId(peer) },
            Self::TieBreaker { peer } => Change::TieBreaker { peer: PeerId(peer) },
            Self::Named { by, number } => {
                let by = PeerId(by);
                let id = NetworkId::Dynamic { by, number };
                Change::Named(crate::room::NetworkObject::of(by, id, 1))
            }
            Self::Command { from, number } => {
                let origin = Origin {
                    peer: PeerId(from),
                    lane: Lane::Action,
                    number,
                };
                let change = Change::Command {
                    from: PeerId(from),
                    kind: MessageKind(1),
                    payload: vec![1],
                };
                return (Some(origin), change);
            }
            Self::Closed => Change::Closed {
                words: "by a liar".into(),
            },
        };
        (None, change)
    }
}

impl Session {
    /// The number of the view in force.
    pub fn view_number(&self) -> u32 {
        self.agreement().map_or(0, |a| a.view().number)
    }

    fn life_of(&self, peer: u16) -> Incarnation {
        let known = self.room().peer(PeerId(peer));
        known.map_or(Incarnation(9), |p| p.incarnation)
    }

    fn entries_of(&self, changes: &[ClaimedChange]) -> Vec<Entry> {
        let kind = self.kind_of_others();
        let entries = changes.iter().take(64).map(|change| {
            let (origin, change) = change.change(kind);
            Entry { origin, change }
        });
        entries.collect()
    }

    fn agreed(&self, changes: &[ClaimedChange]) -> Vec<Agreed<Entry>> {
        let by = self.me().map_or(Incarnation(9), |me| self.life_of(me.0));
        let commands = self.entries_of(changes).into_iter().zip(1..);
        commands
            .map(|(command, n)| Agreed::Command {
                request: Request { by, n },
                command,
            })
            .collect()
    }

    fn body_of(&self, claim: ClaimedBody, to: Incarnation) -> Body<Entry> {
        let by = self.me().map_or(Incarnation(9), |me| self.life_of(me.0));
        let own = |n| Ballot { n, by };
        let status = |n, length| Status {
            promised: own(n),
            accepted: own(n),
            length,
        };
        let suffix = |after: u64, entries: Vec<Agreed<Entry>>| Suffix {
            start: Start::After(after),
            decided: after.saturating_add(entries.len() as u64),
            entries,
        };
        match claim {
            ClaimedBody::Beat { n, length, leads } => Body::Beat(Beat {
                status: status(n, length),
                leads,
                hears: u64::MAX,
            }),
            ClaimedBody::PreVote { round } => Body::PreVote { round },
            ClaimedBody::PreVoted { round } => Body::PreVoted { round },
            ClaimedBody::Prepare { n, length } => Body::Prepare {
                ballot: own(n),
                accepted: own(n),
                length,
            },
            ClaimedBody::Promise { n, length, changes } => Body::Promise {
                ballot: Ballot { n, by: to },
                accepted: own(n),
                length,
                suffix: Some(suffix(length, self.agreed(&changes))),
            },
            ClaimedBody::Sync { n, after, changes } => Body::Sync {
                ballot: own(n),
                suffix: suffix(after, self.agreed(&changes)),
            },
            ClaimedBody::Accept { n, after, changes } => Body::Accept {
                ballot: own(n),
                after,
                entries: self.agreed(&changes),
            },
            ClaimedBody::Accepted { n, length } => Body::Accepted {
                ballot: Ballot { n, by: to },
                length,
            },
            ClaimedBody::Decided { n } => Body::Decided { ballot: own(n) },
            ClaimedBody::Status { n, length } => Body::Status(status(n, length)),
            ClaimedBody::CatchUp {
                after,
                changes,
                members,
            } => {
                let members = members.iter().take(64).map(|peer| Member {
                    incarnation: self.life_of(*peer),
                    slot: Slot(*peer),
                });
                let next = NextView {
                    members: members.collect(),
                    tie_breaker: by,
                    owner: by,
                    cuts: Vec::new(),
                };
                let mut entries = self.agreed(&changes);
                entries.push(Agreed::Next(next));
                Body::CatchUp(suffix(after, entries))
            }
            ClaimedBody::Farewell { n, after } => Body::Farewell {
                promised: own(n),
                accepted: own(n),
                suffix: suffix(after, Vec::new()),
            },
            ClaimedBody::Learn { slot } => Body::Learn {
                slot: Some(Slot(slot)),
                feed: true,
                ready: true,
            },
            ClaimedBody::Request { first, changes } => Body::Request {
                first,
                commands: self.entries_of(&changes),
            },
        }
    }

    fn control_of(&self, claim: &Claim, to: Incarnation) -> Control {
        let kind = self.kind_of_others();
        let me = self.me().unwrap_or(PeerId(0));
        match claim.clone() {
            Claim::Hello { players, clock_us } => Control::Hello(hello(kind, players, clock_us)),
            Claim::Link { from } => Control::Link {
                from: PeerId(from),
                incarnation: Incarnation(77),
            },
            Claim::Welcome {
                you,
                since,
                index,
                absence_ms,
                clock_us,
                epoch_us,
            } => Control::Welcome(Box::new(Welcome {
                you: PeerId(you),
                incarnation: to,
                since,
                returned: true,
                me,
                leader: me,
                log: Beginning::Hosted {
                    index,
                    chain: 0,
                    room: Some(Box::new(self.room().clone())),
                },
                absences: vec![crate::control::Absence {
                    peer: me,
                    ms: absence_ms,
                }],
                state_follows: false,
                clock_us,
                epoch_us,
            })),
            Claim::Farewell(reason) => Control::Farewell(reason),
            Claim::Propose {
                number,
                oldest_open,
                proposal,
            } => Control::Propose {
                by: self.life_of(me.0),
                number,
                oldest_open,
                proposal: proposal.proposal(kind),
            },
            Claim::Denied { of_action, number } => Control::Denied {
                to,
                lane: if of_action { Lane::Action } else { Lane::House },
                number,
                reason: Vec::new(),
            },
            Claim::Entries { after, changes } => Control::Entries(Entries {
                after,
                entries: self.entries_of(&changes),
            }),
            Claim::Agreement {
                speaks_as,
                view,
                decided,
                body,
            } => Control::Agreement(Box::new(Message {
                room: self.agreement().map_or(0, |a| a.room()),
                from: self.life_of(speaks_as.unwrap_or(me.0)),
                to,
                view,
                decided,
                body: self.body_of(body, to),
            })),
            Claim::Out { index } => Control::Out {
                incarnation: to,
                index,
            },
            Claim::Heartbeat {
                peers,
                acks,
                clock_us,
                report,
            } => {
                let peers: Vec<PeerId> = peers.into_iter().take(255).map(PeerId).collect();
                let report = report.map(|(us, rate_ppb, error_us)| MeshReport {
                    common_us: Some(us),
                    offsets: peers
                        .iter()
                        .map(|peer| MeshOffset {
                            peer: *peer,
                            offset_us: us,
                            rate_ppb,
                            error_us,
                        })
                        .collect(),
                });
                Control::Heartbeat(Heartbeat {
                    hears: peers,
                    received: StreamAcks {
                        epoch: acks.0,
                        next: [acks.1; 3],
                    },
                    clock_us,
                    clock: report,
                })
            }
        }
    }

    /// A claim as it is sent to anybody, with its envelope.
    pub fn encoded_claim(&self, claim: &Claim) -> Vec<u8> {
        self.encoded_claim_to(claim, Incarnation::ANYONE)
    }

    fn encoded_claim_to(&self, claim: &Claim, to: Incarnation) -> Vec<u8> {
        let bytes = encode_to_vec(&self.control_of(claim, to)).unwrap_or_default();
        let mut sealed = Vec::new();
        Envelope::control().seal(&bytes, &mut sealed);
        sealed
    }

    /// Sends a claim to a neighbour.
    pub fn claim(&mut self, now: Duration, to: PeerId, claim: &Claim) {
        let sealed = self.encoded_claim_to(claim, self.life_of(to.0));
        let channel = match claim {
            Claim::Heartbeat { .. } => UNRELIABLE,
            _ => CONTROL,
        };
        self.send_raw(now, to, channel, &sealed);
    }

    /// Sends a claim on every connection there is, also before this program is admitted.
    pub fn claim_to_all(&mut self, now: Duration, claim: &Claim) {
        let sealed = self.encoded_claim(claim);
        let open: Vec<ConnectionId> = self.endpoint().connections().collect();
        for connection in open {
            self.send_raw_on(now, connection, CONTROL, &sealed);
        }
    }

    /// Opens another connection to a member of a mesh, on which nothing is said.
    pub fn connect_raw(&mut self, now: Duration, to: PeerId) -> Option<ConnectionId> {
        let member = self.room().peer(to)?;
        let options = samestep_proto::ConnectOptions {
            server_key: samestep_proto::PublicKey::from_bytes(member.key).ok(),
            ..Default::default()
        };
        self.dial_raw(now, member.address?.into(), options)
    }

    /// Sends a claim on a connection.
    pub fn claim_on(&mut self, now: Duration, connection: ConnectionId, claim: &Claim) {
        let sealed = self.encoded_claim(claim);
        self.send_raw_on(now, connection, CONTROL, &sealed);
    }

    /// Sends a message of the game to a neighbour, as if it were passed on for another member.
    pub fn invent(
        &mut self,
        now: Duration,
        from: PeerId,
        to: PeerId,
        delivery: Delivery,
        text: &[u8],
    ) {
        let envelope = Envelope {
            number: number_of(delivery),
            ..relayed(from, to, Content::Game(MessageKind(7)))
        };
        let mut sealed = Vec::new();
        envelope.seal(text, &mut sealed);
        self.send_raw(now, to, channel(delivery), &sealed);
    }

    /// Sends a claim to a neighbour, as if it were passed on for another member.
    pub fn claim_for(&mut self, now: Duration, from: PeerId, to: PeerId, claim: &Claim) {
        let to_life = self.life_of(to.0);
        let bytes = encode_to_vec(&self.control_of(claim, to_life)).unwrap_or_default();
        let mut sealed = Vec::new();
        relayed(from, to, Content::Control).seal(&bytes, &mut sealed);
        self.send_raw(now, to, CONTROL, &sealed);
    }

    /// Changes what this program does with messages that it is to pass on.
    pub fn relay_with(&mut self, fault: Option<RelayFault>) {
        self.false_relay().fault = fault;
    }

    /// Sends everything again that it has passed on while it was to record that.
    pub fn replay(&mut self, now: Duration) {
        for (hop, channel, bytes) in self.false_relay().recorded.clone() {
            self.send_raw(now, hop, channel, &bytes);
        }
    }

    /// Passes a message on as a liar does. False if it is honest.
    pub(crate) fn relay_falsely(
        &mut self,
        now: Duration,
        mut hop: PeerId,
        channel: ChannelId,
        envelope: &Envelope,
        payload: &[u8],
    ) -> bool {
        let Some(fault) = self.false_relay().fault else {
            return false;
        };
        let (mut envelope, mut payload) = (*envelope, payload.to_vec());
        match (fault, &mut envelope.route) {
            (RelayFault::Change, _) => {
                if let Some(last) = payload.last_mut() {
                    *last ^= 1;
                }
            }
            (RelayFault::Rename(peer), Route::Relayed { from, .. }) => *from = peer,
            (RelayFault::Redirect(peer), Route::Relayed { to, .. }) => {
                (*to, hop) = (peer, peer);
            }
            _ => {}
        }
        let mut sealed = Vec::new();
        envelope.seal(&payload, &mut sealed);
        self.send_raw(now, hop, channel, &sealed);
        if fault == RelayFault::Record {
            let relay = self.false_relay();
            relay.recorded.push((hop, channel, sealed));
        }
        true
    }

    /// Lets in a newcomer that is not there, as a visitor is let in after its handshake.
    pub fn let_in(&mut self, now: Duration, newcomer: u32) {
        self.let_in_with(now, key(newcomer));
    }

    /// Says that a member has come to this program, which it has not.
    pub fn let_in_member(&mut self, now: Duration, peer: PeerId) {
        if let Some(member) = self.room().peer(peer) {
            self.let_in_with(now, member.key);
        }
    }

    fn let_in_with(&mut self, now: Duration, key: MemberKey) {
        let kind = self.kind_of_others();
        let proposal = Proposal::Admit {
            hello: Box::new(hello(kind, 1, 0)),
            key,
            address: None,
        };
        self.propose_raw(now, proposal);
    }

    /// Asks once more for everyone to be let in for whom this program has asked before.
    pub fn let_in_again(&mut self, now: Duration) {
        for proposal in self.false_relay().admits.clone() {
            self.propose_raw(now, proposal);
        }
    }

    fn kind_of_others(&self) -> PeerKind {
        match self.room().is_mesh() {
            true => PeerKind::Member,
            false => PeerKind::Client,
        }
    }

    /// Sends an initial state to a neighbour, for one of its incarnations.
    pub fn claim_state(&mut self, now: Duration, to: PeerId, since: u64, holds: u64, state: &[u8]) {
        let bytes = [&since.to_le_bytes()[..], &holds.to_le_bytes(), state].concat();
        self.send_raw(now, to, BULK, &bytes);
    }

    /// Sends any bytes to a neighbour.
    pub fn send_raw(&mut self, now: Duration, to: PeerId, channel: ChannelId, bytes: &[u8]) {
        self.put_raw(now, to, channel, bytes);
    }
}
