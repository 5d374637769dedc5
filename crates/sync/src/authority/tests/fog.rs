//! What must not be seen cannot be read from what is sent.

use super::test_network::{TestNetwork, WalkingGame};
use crate::authority::kinds::Kinds;
use crate::authority::message::Message;
use crate::bytes::Bytes;
use crate::stream::Store;
use crate::{
    AcceptedInputs, Model, PeerId, PlayerId, Replicate, Snapshot, SnapshotConfig, StateSync,
    StateSyncConfig, Table, Tick, TickInputs,
};

/// Who reads everything that is sent to somebody.
struct Spy {
    kinds: Kinds,
    store: Store,
    table: Table,
    newest: Tick,
    parts: usize,
    events: usize,
}

impl Spy {
    fn new(exactly: bool) -> Spy {
        let kinds = Kinds::new(&WalkingGame::schema(), exactly);
        Spy {
            store: Store::new(kinds.schema().clone()),
            table: Table::new(kinds.schema().clone()),
            kinds,
            newest: Tick(0),
            parts: 0,
            events: 0,
        }
    }

    fn read_part(&mut self, part: &[u8]) {
        let received = self.store.handle(part).expect("nothing is damaged");
        self.newest = self.newest.max(received.tick);
        self.parts += 1;
    }

    /// What a newcomer is given: the parts behind five numbers, the epoch and which of its inputs are in the state.
    fn read_state(&mut self, state: &[u8]) {
        let mut r = Bytes(state);
        for _ in 0..5 {
            r.number();
        }
        r.byte();
        AcceptedInputs::read(PeerId(1), &mut r).unwrap();
        for _ in 0..r.number().unwrap() {
            let len = r.number().unwrap() as usize;
            self.read_part(r.take(len).unwrap());
        }
    }

    fn read(&mut self, message: &[u8]) {
        match Message::read(message) {
            Some(Message::Update(update)) => {
                let counts = update
                    .events
                    .entries
                    .iter()
                    .map(|tick_events| tick_events.count);
                self.events += counts.sum::<usize>();
                if !update.part.is_empty() {
                    self.read_part(update.part);
                }
            }
            Some(Message::Part(_, part)) => self.read_part(part),
            other => panic!("{other:?} to a guest"),
        }
    }

    /// Whom it knows of, where they are, and what they hold.
    fn known(&mut self) -> (Vec<(u16, i32)>, TickInputs) {
        self.store.known(self.newest, &mut self.table);
        let rows = self.table.rows(1);
        let walkers = rows.map(|row| (row.cells[0] as u16, row.cells[1] as i32));
        let walkers = walkers.collect();
        let mut held = TickInputs::new();
        self.kinds.held_inputs(&self.table, &mut held);
        (walkers, held)
    }
}

/// Players 1 and 3 are out of each other's view until one comes nearer; all that is sent to player 1 is read.
fn cannot_be_read<M: Model>(exactly: bool, model: impl Fn() -> M) {
    let mut game = WalkingGame::new(20);
    game.view_distance = 150;
    let mut network = TestNetwork::new(4, 20, &game, model);
    let mut spy = Spy::new(exactly);
    let mut sent = core::mem::take(&mut network.sent[1]);
    spy.read_state(&sent.remove(0));
    network.run(500);
    network.walk(3, 3, true);
    let mut seen = 0;
    for step in 0..200 {
        match step {
            50 => network.walk(3, -4, true),
            150 => network.walk(3, 4, true),
            _ => true,
        };
        network.run(20);
        for message in core::mem::take(&mut network.sent[1]) {
            spy.read(&message);
        }
        let (own, other) = (network.place(0, 1).unwrap(), network.place(0, 3).unwrap());
        let (walkers, held) = spy.known();
        let knows = walkers.iter().any(|walker| walker.0 == 3);
        // The newest snapshot may be two ticks old.
        let (hidden, near) = ((own - other).abs() > 165, (own - other).abs() < 135);
        assert!(!(knows && hidden), "{walkers:?}, and it is at {other}");
        assert!(knows || !near, "{walkers:?}, and it is at {other}");
        let holds = |player| held.entries().any(|(held, _)| held == PlayerId(player));
        assert!(!holds(3) || knows, "{held:?}");
        seen += usize::from(knows);
    }
    assert!(seen > 10, "it was never near");
    assert_eq!(spy.events, 0, "all that was shouted was shouted by others");
    assert!(spy.parts > 70);
}

#[test]
fn snapshots_hide_what_must_not_be_seen() {
    cannot_be_read(false, || Snapshot::new(SnapshotConfig::default()).unwrap());
}

#[test]
fn state_synchronisation_hides_what_must_not_be_seen() {
    cannot_be_read(true, || StateSync::new(StateSyncConfig::default()).unwrap());
}
