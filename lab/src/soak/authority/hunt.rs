//! Hunts of Hat Hunters, as the suites judge them: what is certain, and that it belongs to one.

use samestep_catalog::hat_hunters::{
    Controls, Ground, HatHunters, HatHuntersConfig, HatHuntersEvent, Seat, Steer,
};
use samestep_sync::{EntityId, Live, PlayerId, Replicate, Scene, Table, Tick};

use super::judge::Judged;

/// What is certain in a state: it changes only by what was decided in ticks that are final.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Certain {
    /// Columns and rows of boxes, row by row.
    boxes: Vec<(i32, i32)>,
    containers: Vec<EntityId>,
    seats: Vec<Seat>,
    round: u16,
    is_over: bool,
}

impl Judged for HatHunters {
    type Seen = Certain;

    fn world(seed: u64) -> Live<HatHunters> {
        let config = HatHuntersConfig {
            seed,
            ..HatHuntersConfig::default()
        };
        Live::new(HatHunters::new(&config).expect("a map of the game's own"))
    }

    fn at_rest() -> Controls {
        Controls {
            steer: Steer::Stop,
            ..Controls::default()
        }
    }

    /// Of what the authority has told: what a guest predicts beyond that may turn out otherwise.
    fn has(world: &mut Live<HatHunters>, known: Tick) -> Option<(Tick, Certain)> {
        let mut table = Table::new(HatHunters::schema());
        let mut state = world.state().clone();
        let is_kept = world.extract_at(known, &mut table);
        (is_kept && state.restore_streamed(&table).is_ok()).then(|| (known, state.seen()))
    }

    fn seen(&self) -> Certain {
        let field = self.field();
        let cells =
            (0..field.height()).flat_map(|row| (0..field.width()).map(move |column| (column, row)));
        let boxes = cells.filter(|(column, row)| field.ground(*column, *row) == Ground::Box);
        let boxes = boxes.collect();
        let mut containers = self.containers().ids().to_vec();
        containers.sort_unstable();
        Certain {
            boxes,
            containers,
            seats: self.seats().to_vec(),
            round: self.round().number,
            is_over: self.round().is_over(),
        }
    }

    /// Guests hear of what is new a little later, and are compared only when nothing was new for a while.
    fn difference(
        here: &Certain,
        _: Tick,
        right: &Certain,
        before: &Certain,
        _: &[PlayerId],
    ) -> Option<String> {
        let is_at_rest = before == right;
        (is_at_rest && here != right).then(|| format!("{here:?}, and right is {right:?}"))
    }

    fn is_public(event: &HatHuntersEvent) -> bool {
        !matches!(event, HatHuntersEvent::ItemDrawn { .. })
    }

    /// Every star, item and box that comes or goes belongs to exactly one event.
    fn fault(before: &Self, after: &Self, events: &[HatHuntersEvent]) -> Option<String> {
        let is_new = |hunter: &EntityId| before.hunters().get(*hunter).is_none();
        // A round begins without anything, and so does whoever takes over a character.
        if before.round().number != after.round().number || after.hunters().ids().iter().any(is_new)
        {
            return None;
        }
        let count = |is_it: fn(&HatHuntersEvent) -> bool| {
            events.iter().filter(|event| is_it(event)).count() as i64
        };
        let carried = |state: &HatHunters| -> i64 {
            let ids = state.characters().ids().iter();
            ids.filter_map(|id| state.purse(*id))
                .map(|purse| i64::from(purse.stars))
                .sum()
        };
        let collected = count(|event| matches!(event, HatHuntersEvent::StarCollected { .. }));
        let lost = count(|event| matches!(event, HatHuntersEvent::StarLost { .. }));
        let gained = carried(after) - carried(before);
        if gained != collected - lost {
            return Some(format!(
                "{collected} stars were collected and {lost} lost, and {gained} more are carried"
            ));
        }
        let gone = before.containers().ids().iter();
        let gone = gone.filter(|id| after.containers().get(**id).is_none());
        let (gone, items) = (
            gone.count() as i64,
            count(|event| matches!(event, HatHuntersEvent::ItemCollected { .. })),
        );
        if gone != items {
            return Some(format!(
                "{items} items were collected from {gone} containers"
            ));
        }
        let boxes = |state: &HatHunters| state.seen().boxes.len() as i64;
        let placed = count(|event| matches!(event, HatHuntersEvent::BoxPlaced { .. }));
        let removed = count(|event| matches!(event, HatHuntersEvent::BoxRemoved { .. }));
        let more = boxes(after) - boxes(before);
        (more != placed - removed).then(|| {
            format!("{placed} boxes were placed and {removed} removed, and there are {more} more")
        })
    }
}
