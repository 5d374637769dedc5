//! What is played.

use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use samestep_arcade::registry::GAMES;
use samestep_sandbox::ModelKind;

use crate::User;

#[test]
fn without_a_link_the_first_game_plays_by_itself() {
    let mut user = User::opens("");
    user.waits(30);
    assert_eq!(user.live_match().scenario().game, GAMES[0].name);
    assert!((28..=36).contains(&user.live_match().steps()));
    assert_eq!(user.banner(), "");
}

#[test]
fn another_game_is_a_click_away_and_keeps_the_rest() {
    let mut user = User::opens("model=lockstep&players=3&net=lan&seed=5");
    for entry in GAMES.iter().rev() {
        user.clicks(entry.title);
        assert_eq!(user.live_match().scenario().game, entry.name);
        assert_eq!(user.live_match().scenario().players(), 3);
        assert_eq!(user.live_match().model(0).name, "lockstep");
        assert_eq!(user.live_match().scenario().seed, 5);
        let usual = entry.sizes.map(|sizes| sizes.default);
        assert_eq!(user.live_match().scenario().size, usual);
        assert!(user.live_match().steps() < 10);
    }
}

#[test]
fn every_game_plays_under_every_model_it_supports() {
    for entry in GAMES {
        for kind in ModelKind::ALL
            .iter()
            .filter(|kind| (entry.supports)(**kind))
        {
            let link = format!("game={}&model={}&net=lan", entry.name, kind.name);
            let mut user = User::opens(&link);
            user.waits(60);
            assert_eq!(user.banner(), "", "{link}");
            assert!(user.live_match().steps() >= 60, "{link}");
            let (ours, server) = user.live_match().ticks(60, 0);
            assert!(
                server.0 >= 55 && ours.0 >= 40,
                "{link}: {ours:?} {server:?}"
            );
            assert!(
                user.sees(&format!("{} {}", kind.title, kind.sentence)) || user.sees(kind.title)
            );
        }
    }
}

#[test]
fn the_model_changes_while_it_runs() {
    let mut user = User::opens("model=lockstep&net=lan");
    user.waits(60);
    user.clicks_a(Role::RadioButton, "State sync with prediction");
    user.waits(120);
    let live = user.live_match();
    assert_eq!(live.model(live.steps()).name, "state-sync");
    assert_eq!(live.next_model(), None);
    assert!(live.steps() > 180, "it was not begun anew");
    assert!(user.link().contains("model=state-sync"));
}

#[test]
fn a_model_that_was_just_chosen_outlasts_a_restart() {
    let mut user = User::opens("model=lockstep&net=lan");
    user.waits(30);
    let rollback = user
        .harness
        .get_by_role_and_label(Role::RadioButton, "Rollback");
    rollback.click_accesskit();
    user.harness.step();
    user.presses(Key::R);
    assert_eq!(user.live_match().model(0).name, "rollback");
    assert!(user.live_match().steps() < 10);
}

#[test]
fn in_a_mesh_there_are_fewer_models_and_another_one_begins_anew() {
    let mut user = User::opens("net=lan");
    user.waits(10);
    user.clicks_a(Role::ComboBox, "Server");
    user.clicks("Full mesh");
    assert_eq!(user.live_match().scenario().server.name(), "mesh");
    assert!(matches!(
        user.live_match().model(0).name,
        "lockstep" | "rollback"
    ));
    user.waits(30);
    user.clicks_a(Role::RadioButton, "Snapshot interpolation");
    assert!(matches!(
        user.live_match().model(0).name,
        "lockstep" | "rollback"
    ));
    user.clicks_a(Role::RadioButton, "Lockstep");
    assert_eq!(user.live_match().model(0).name, "lockstep");
    assert!(user.live_match().steps() < 10);
}

#[test]
fn more_players_have_more_screens() {
    let mut user = User::opens("net=lan");
    for count in [2, 3, 4] {
        user.clicks(&format!("{count} players"));
        assert_eq!(user.live_match().scenario().players(), count);
        assert!(user.sees(&format!("Screen of player {count}")));
        assert!(!user.sees(&format!("Screen of player {}", count + 1)));
    }
}

#[test]
fn a_size_begins_anew_and_is_in_the_link() {
    let mut user = User::opens("game=skirmish&net=lan");
    user.waits(5);
    user.sets("Size", 500.0);
    assert_eq!(user.live_match().scenario().size, Some(500));
    assert!(user.link().contains("size=500"));
}

#[test]
fn the_same_seed_is_the_same_match_and_another_is_another() {
    let mut user = User::opens("net=lte&seed=8");
    user.clicks("Pause");
    let at = 100;
    let checksum = |user: &mut User| {
        while user.live_match().steps() < at {
            user.presses(Key::Period);
        }
        assert_eq!(user.live_match().steps(), at);
        user.live_match().checksum()
    };
    let first = checksum(&mut user);
    user.clicks("Restart with this seed");
    assert!(user.live_match().steps() < at);
    assert_eq!(checksum(&mut user), first);
    user.presses(Key::R);
    assert_eq!(checksum(&mut user), first);
    user.clicks("New seed");
    assert_ne!(user.live_match().scenario().seed, 8);
    assert_ne!(checksum(&mut user), first);
}

#[test]
fn a_seed_can_be_typed_and_nonsense_is_refused_in_words() {
    let mut user = User::opens("seed=8&net=lan");
    let types = |user: &mut User, words: &str| {
        let field = user.harness.get_by_role_and_label(Role::TextInput, "Seed");
        field.click();
        user.waits(2);
        let modifiers = eframe::egui::Modifiers::COMMAND;
        user.harness.key_press_modifiers(modifiers, Key::A);
        user.waits(1);
        let field = user.harness.get_by_role_and_label(Role::TextInput, "Seed");
        field.type_text(words);
        user.waits(1);
        user.presses(Key::Enter);
    };
    types(&mut user, "4711");
    assert_eq!(user.live_match().scenario().seed, 4711);
    types(&mut user, "seven");
    assert_eq!(user.live_match().scenario().seed, 4711);
    assert!(user.banner().contains("whole number"), "{}", user.banner());
}

#[test]
fn the_usual_size_comes_back() {
    let mut user = User::opens("game=skirmish&net=lan&size=100");
    user.clicks("Usual size");
    assert_eq!(user.live_match().scenario().size, None);
    assert!(!user.link().contains("size"));
}
