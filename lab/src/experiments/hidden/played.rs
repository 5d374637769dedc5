//! The matches that are played, in whatever form.

use std::time::Duration;

use samestep_catalog::hat_hunters::{HatHunters, HatHuntersConfig, ItemKind, Items, Rules};

/// How long matches are, and what counts of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchLength {
    pub settling: Duration,
    pub track: Duration,
    /// How many tracks follow each other.
    pub windows: usize,
}

/// A match in which nobody wins and no item gives anybody away by what it does: a whistle turns AI characters round, a swap finds them.
pub(super) fn game(ai: u8, seed: u64) -> Result<HatHunters, String> {
    let config = HatHuntersConfig {
        seed,
        rules: Rules {
            ai,
            stars: 20,
            items: Items::of(&[
                ItemKind::Green,
                ItemKind::Magnet,
                ItemKind::Bomb,
                ItemKind::Axe,
                ItemKind::Boots,
            ]),
            ..Rules::default()
        },
        ..HatHuntersConfig::default()
    };
    HatHunters::new(&config).map_err(|error| error.to_string())
}
