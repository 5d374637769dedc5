//! Everyone sees the same room, without ghosts, and returners find their places.

use std::collections::{BTreeMap, BTreeSet};

use samestep_session::{PeerId, PlayerId, Presence, Session};

/// What one session sees of its room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomView {
    /// How far the room's log has come.
    pub index: u64,
    /// Members that take part or load.
    pub present: BTreeSet<PeerId>,
    /// Members that vanished and whose places are kept.
    pub away: BTreeSet<PeerId>,
    /// Who plays where.
    pub players: BTreeMap<PlayerId, PeerId>,
    /// Everything agreed, in words.
    pub content: String,
}

impl RoomView {
    /// What this session sees now.
    pub fn of(session: &Session) -> RoomView {
        let room = session.room();
        let (mut present, mut away) = (BTreeSet::new(), BTreeSet::new());
        for peer in room.peers() {
            match peer.presence {
                Presence::Away => away.insert(peer.id),
                _ => present.insert(peer.id),
            };
        }
        RoomView {
            index: session.log_index(),
            present,
            away,
            players: room
                .players()
                .iter()
                .map(|player| (player.id, player.peer))
                .collect(),
            content: format!("{room:?}"),
        }
    }

    /// The places a peer has.
    pub fn places(&self, peer: PeerId) -> Vec<PlayerId> {
        let mine = self.players.iter().filter(|(_, of)| **of == peer);
        mine.map(|(player, _)| *player).collect()
    }
}

/// The rooms seen by all sessions, over time: at the same place of the log they are the same.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    seen: BTreeMap<u64, String>,
}

impl Agreement {
    /// A session sees this room.
    pub fn on_room(&mut self, view: &RoomView) -> Result<(), String> {
        let known = self
            .seen
            .entry(view.index)
            .or_insert_with(|| view.content.clone());
        match *known == view.content {
            true => Ok(()),
            false => {
                let (here, there) = difference(&view.content, known);
                Err(format!(
                    "at entry {} it sees \"{here}\" where another saw \"{there}\"",
                    view.index
                ))
            }
        }
    }
}

/// Where two texts part, with a little of what is before and after.
pub(crate) fn difference<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
    let from = same.count().saturating_sub(60);
    let cut = |text: &'a str| {
        let from = (0..=from).rev().find(|at| text.is_char_boundary(*at));
        let rest = &text[from.unwrap_or(0)..];
        let end = (0..=rest.len().min(160))
            .rev()
            .find(|at| rest.is_char_boundary(*at));
        &rest[..end.unwrap_or(0)]
    };
    (cut(one), cut(other))
}

/// When all is quiet: the room holds those who are there as present, and as away at most those who may come back.
pub fn no_ghosts(
    view: &RoomView,
    there: &BTreeSet<PeerId>,
    may_return: &BTreeSet<PeerId>,
) -> Result<(), String> {
    if let Some(ghost) = view.present.difference(there).next() {
        return Err(format!("{ghost} is listed as present and is not there"));
    }
    if let Some(ghost) = view.away.difference(may_return).next() {
        return Err(format!("{ghost} is still listed, and gone for too long"));
    }
    if let Some(missing) = there.difference(&view.present).next() {
        return Err(format!("{missing} is there and not listed"));
    }
    let listed = |peer: &PeerId| view.present.contains(peer) || view.away.contains(peer);
    match view.players.iter().find(|(_, peer)| !listed(peer)) {
        Some((player, peer)) => Err(format!("{player} belongs to {peer}, who is not listed")),
        None => Ok(()),
    }
}

/// Somebody came back in time: it must be who it was, and play where it played.
pub fn same_place(
    before: (PeerId, &[PlayerId]),
    after: (PeerId, &[PlayerId]),
) -> Result<(), String> {
    match before == after {
        true => Ok(()),
        false => Err(format!(
            "it was {} playing {:?}, came back in time and is {} playing {:?}",
            before.0, before.1, after.0, after.1
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PeerId = PeerId(1);
    const B: PeerId = PeerId(2);

    fn view(index: u64, content: &str) -> RoomView {
        RoomView {
            index,
            present: BTreeSet::from([A]),
            away: BTreeSet::from([B]),
            players: BTreeMap::from([(PlayerId(0), A), (PlayerId(1), B)]),
            content: content.into(),
        }
    }

    #[test]
    fn one_place_of_the_log_is_one_room() {
        let mut agreement = Agreement::default();
        agreement.on_room(&view(1, "x")).unwrap();
        agreement.on_room(&view(2, "y")).unwrap();
        agreement.on_room(&view(1, "x")).unwrap();
        assert!(agreement.on_room(&view(2, "x")).is_err());
    }

    #[test]
    fn ghosts_and_missing_members_are_found() {
        let (both, one, none) = (BTreeSet::from([A, B]), BTreeSet::from([A]), BTreeSet::new());
        let room = view(1, "x");
        let away = BTreeSet::from([B]);
        assert_eq!(no_ghosts(&room, &one, &away), Ok(()));
        assert!(no_ghosts(&room, &none, &away).is_err(), "A is a ghost");
        assert!(no_ghosts(&room, &one, &none).is_err(), "B is a ghost");
        assert!(no_ghosts(&room, &both, &away).is_err(), "B is missing");
        assert_eq!(room.places(B), [PlayerId(1)]);
        assert!(same_place((A, &[PlayerId(0)]), (A, &[PlayerId(1)])).is_err());
        assert!(same_place((A, &[PlayerId(0)]), (A, &[PlayerId(0)])).is_ok());
    }
}
