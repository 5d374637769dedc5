//! The modes that come as files, to be played or changed.

use samestep_hat_hunters::{CustomMode, HatHunters, Mode};
use samestep_playable::{Choices, Playable, Setup};

#[test]
fn they_can_be_played() {
    for (text, mode, map) in [
        (
            include_str!("../../modes/crowd.txt"),
            Mode::Stars,
            "Orchard",
        ),
        (
            include_str!("../../modes/hurry.txt"),
            Mode::Bushes,
            "Thicket",
        ),
    ] {
        let custom = CustomMode::parse(text).unwrap();
        assert_eq!(custom.rules.mode, mode);
        let mut choices = Choices::default();
        choices.set("mode", text);
        let setup = Setup::default_of::<HatHunters>(1);
        let game = HatHunters::begin_with(&setup, &choices).unwrap();
        assert_eq!(game.map().name(), map);
        assert_eq!(*game.rules(), custom.rules);
    }
}
