//! Who may send what: every message of another peer is checked here before anything is done with it. WIRE.md has the same as a table (section 10).

use super::Lockstep;
use super::message::Message;
use super::room::Topology;
use crate::{Member, PeerId};

impl Lockstep {
    /// Whether this member may send this message to this program.
    pub(super) fn permits(&self, from: &Member, message: &Message<'_>) -> bool {
        let Some((me, authority)) = self.room.me().zip(self.room.authority()) else {
            return false;
        };
        if from.peer == me {
            return false;
        }
        let (leads, by_authority) = (me == authority, from.peer == authority);
        let (topology, plays) = (self.room.topology, !from.watches);
        let is_hub = topology == Topology::Hub;
        match message {
            Message::InputBatch(batch) => match topology {
                _ if !plays || batch.source.peer == me => false,
                Topology::Sequenced => by_authority && batch.source.peer == authority,
                // Inputs of others come from the host alone, and so does the word of who comes and goes.
                Topology::Hub if leads => {
                    batch.source.peer == from.peer && batch.changes.is_empty()
                }
                Topology::Hub => by_authority,
                Topology::Mesh => batch.source.peer == from.peer,
            },
            Message::RelayedBatches(_)
            | Message::InputAck(_)
            | Message::InputSubstitution { .. } => is_hub && by_authority,
            Message::Inputs(_) => topology == Topology::Sequenced && leads && plays,
            Message::EndTurn(player) => leads && from.players.contains(player),
            Message::Report(_) | Message::DelayAnnouncement(_) => {
                plays && (!is_hub || leads || by_authority)
            }
            Message::RelayedReport { .. } | Message::SubstitutionAck { .. } => {
                is_hub && leads && plays
            }
            // A spectator's checksum concerns that spectator alone; one that sees the game later takes part in no check.
            Message::Checksum { .. } | Message::Repaired { .. } => leads && !self.is_delayed(from),
            Message::ChecksumTree { .. } => by_authority || (leads && !self.is_delayed(from)),
            Message::ResendRequest { .. } => leads || by_authority || self.room.is_mesh(),
            Message::StateRequest { .. } => leads || by_authority,
            Message::SourceEnd { .. }
            | Message::DesyncNotice { .. }
            | Message::Replacement { .. } => by_authority,
            Message::Rows { .. } => by_authority || (leads && plays && self.may_be_corrected()),
            Message::Checkpoint(_) => {
                let was_asked = self.transfer.requested_from == Some(from.peer);
                by_authority || (leads && plays && was_asked && self.may_be_corrected())
            }
        }
    }

    /// Whether this authority believes others more than itself: in a mesh if they are the majority, in a hosted room if the game asks for it.
    pub(super) fn may_be_corrected(&self) -> bool {
        self.room.is_mesh() || self.config.correct_host
    }

    /// Whether a member is a spectator that sees the game later than the players.
    pub(super) fn is_delayed(&self, member: &Member) -> bool {
        member.watches && !self.config.spectator_delay.is_zero()
    }

    /// The same of a peer.
    pub(super) fn is_delayed_peer(&self, peer: PeerId) -> bool {
        let roster = self.room.roster.as_ref();
        let member = roster.and_then(|roster| roster.member(peer));
        member.is_some_and(|member| self.is_delayed(member))
    }
}
