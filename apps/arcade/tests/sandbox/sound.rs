//! What is heard.

use eframe::egui::Key;
use eframe::egui::accesskit::Role;

use crate::User;

/// A match of bots, paused at its beginning.
fn opens() -> User {
    let mut user = User::opens("game=hat-hunters&model=rewind&net=lte&seed=3");
    user.clicks("Pause");
    user
}

/// Lets the match go on for so many seconds; returns how many sounds there were.
fn hears(user: &mut User, seconds: u64) -> usize {
    let before = user.platform.sounds.borrow().len();
    let until = user.live_match().steps() + 60 * seconds;
    user.presses(Key::Space);
    while user.live_match().steps() < until {
        user.waits(1);
    }
    user.presses(Key::Space);
    user.platform.sounds.borrow().len() - before
}

#[test]
fn only_the_screen_that_somebody_plays_on_is_heard() {
    let mut user = opens();
    assert_eq!(hears(&mut user, 5), 0, "nobody plays or points");
    user.clicks_a(Role::ComboBox, "Who plays player 1");
    user.clicks("Arrow keys");
    let heard = hears(&mut user, 20);
    // Four screens would be heard four times as often; a star, an item or a bounce is heard every second or so.
    assert!((3..120).contains(&heard), "{heard}");
    let volumes = user.platform.sounds.borrow();
    assert!(volumes.iter().all(|volume| (0.0..=0.5).contains(volume)));
    assert!(volumes.iter().any(|volume| *volume < 0.4), "some are far");
}

#[test]
fn the_switch_and_the_volume_are_obeyed_and_remembered() {
    let mut user = opens();
    user.clicks_a(Role::ComboBox, "Who plays player 1");
    user.clicks("Arrow keys");
    user.clicks("Switch sound off");
    let remembered = || user.platform.remembered.borrow().clone();
    assert_eq!(remembered().as_deref(), Some("off 0.50"));
    assert_eq!(hears(&mut user, 15), 0);
    user.presses(Key::M);
    assert!(user.sees("Switch sound off"));
    assert!(hears(&mut user, 15) > 0);
}
