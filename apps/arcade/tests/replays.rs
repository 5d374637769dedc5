//! The replays tab, used as somebody would.

use std::cell::{Cell, RefCell};

use eframe::egui::{self, Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use samestep_arcade::any_match::AnyMatch;
use samestep_arcade::platform::{File, Platform};
use samestep_arcade::registry;
use samestep_arcade::replays::Replays;
use samestep_arcade::theme;
use samestep_sandbox::Scenario;
use samestep_sync::{Replay, Tick};

/// A page of which one sees what it saves. Its clock is the frames'.
#[derive(Default)]
struct Around {
    saved: RefCell<Vec<(String, Vec<u8>)>>,
    asked: Cell<u32>,
    has_chooser: bool,
    now: Cell<f64>,
}

impl Platform for Around {
    fn set_link(&self, _link: &str) {}

    fn share_address(&self, link: &str) -> String {
        link.into()
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        self.saved.borrow_mut().push((name.into(), bytes.to_vec()));
        Ok(format!("saved as {name}"))
    }

    fn has_chooser(&self) -> bool {
        self.has_chooser
    }

    fn open_file(&self) {
        self.asked.set(self.asked.get() + 1);
    }

    fn read_dropped(&self, _file: egui::DroppedFileHandle) {}

    fn opened(&self) -> Option<Result<File, String>> {
        None
    }

    fn seconds(&self) -> f64 {
        // So that much fits into a frame, but not everything.
        self.now.set(self.now.get() + 0.000_1);
        self.now.get()
    }
}

struct Tab {
    replays: Replays,
    platform: Around,
}

type Screen = Harness<'static, Tab>;

fn screen(has_chooser: bool) -> Screen {
    let platform = Around {
        has_chooser,
        ..Around::default()
    };
    let tab = Tab {
        replays: Replays::new(),
        platform,
    };
    let builder = Harness::builder()
        .with_size(egui::vec2(1280.0, 690.0))
        .with_step_dt(1.0 / 60.0)
        .with_max_steps(4_000)
        .with_context_setup(theme::apply);
    builder.build_ui_state(|ui, tab: &mut Tab| tab.replays.ui(ui, &tab.platform), tab)
}

fn with_file(bytes: Vec<u8>) -> Screen {
    let mut screen = screen(true);
    screen.state_mut().replays.open("match.replay", bytes);
    screen.run();
    screen
}

fn play(link: &str, steps: u64) -> Box<dyn AnyMatch> {
    let scenario = Scenario::from_link(link).unwrap();
    let mut live = (registry::game(&scenario.game).unwrap().open)(&scenario).unwrap();
    (0..steps).for_each(|_| live.step());
    live
}

/// Ten seconds of the evaluation game.
fn recording() -> Vec<u8> {
    play("game=evaluation&model=lockstep&size=64&net=lan", 600).recording()
}

fn click(screen: &mut Screen, label: &str) {
    screen.get_by_label(label).click();
    screen.run();
}

fn shows(screen: &Screen, words: &str) -> bool {
    screen.query_all_by_label_contains(words).next().is_some()
}

/// The tick that is shown.
fn tick(screen: &Screen) -> u64 {
    let slider = screen.get_by_label("Tick");
    let value = slider.accesskit_node().numeric_value();
    value.expect("it has a value") as u64
}

#[test]
fn a_file_is_opened_watched_and_gone_through() {
    let bytes = recording();
    let end = Replay::parse(bytes.clone()).unwrap().end().0;
    let mut screen = with_file(bytes);
    assert!(shows(&screen, "match.replay"));
    assert!(shows(&screen, "Evaluation"));
    assert!(shows(&screen, "it was still being recorded"));
    assert_eq!(tick(&screen), 0);

    screen.get_by_label("Play").click();
    screen.run_steps(60);
    let after = tick(&screen);
    assert!((50..70).contains(&after), "{after}");
    screen.key_press(Key::Space);
    screen.run();
    let still = tick(&screen);
    screen.run_steps(10);
    assert_eq!(tick(&screen), still);

    screen.key_press(Key::Period);
    screen.run();
    assert_eq!(tick(&screen), still + 1);
    screen.key_press(Key::Comma);
    screen.run();
    screen.key_press(Key::ArrowRight);
    screen.run();
    assert_eq!(tick(&screen), still + 60);
    screen.key_press(Key::End);
    screen.run();
    assert_eq!(tick(&screen), end);
    screen.key_press_modifiers(Modifiers::SHIFT, Key::ArrowLeft);
    screen.run();
    assert_eq!(tick(&screen), end.saturating_sub(600));

    let bar = screen.get_by_label("Tick").rect();
    screen.drag_at(bar.left_center() + egui::vec2(20.0, 0.0));
    screen.run_steps(2);
    screen.hover_at(bar.center());
    screen.run_steps(2);
    screen.drop_at(bar.center());
    screen.run();
    assert!(tick(&screen).abs_diff(end / 2) <= 1, "{}", tick(&screen));
}

#[test]
fn a_match_is_seen_by_anyones_eyes_at_any_speed_and_closer() {
    let mut screen = with_file(recording());
    screen.key_press(Key::ArrowRight);
    screen.run();
    click(&mut screen, "View");
    click(&mut screen, "As Player 2");
    let view = screen.get_by_label("View");
    assert_eq!(view.value().as_deref(), Some("As Player 2"));
    click(&mut screen, "Speed");
    click(&mut screen, "4×");
    let before = tick(&screen);
    screen.get_by_label("Play").click();
    screen.run_steps(31);
    let ticks = tick(&screen) - before;
    assert!((110..130).contains(&ticks), "{ticks}");
    screen.key_press(Key::Space);
    screen.run();
    let still = tick(&screen);
    // Looking closer and moving about is not a click.
    let picture = screen.get_by_label("Picture").rect();
    screen.hover_at(picture.center());
    screen.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        source: egui::MouseWheelSource::Wheel,
        delta: egui::vec2(0.0, 200.0),
        phase: egui::TouchPhase::Move,
        modifiers: Modifiers::NONE,
    });
    screen.run();
    screen.drag_at(picture.center());
    screen.run_steps(2);
    screen.hover_at(picture.center() + egui::vec2(90.0, 30.0));
    screen.run_steps(2);
    screen.drop_at(picture.center() + egui::vec2(90.0, 30.0));
    screen.run();
    assert_eq!(tick(&screen), still);
    screen.get_by_label("Picture").click();
    screen.run_steps(20);
    assert!(tick(&screen) > still);
}

#[test]
fn a_file_is_verified() {
    let bytes = recording();
    let checksums = Replay::parse(bytes.clone()).unwrap().checksums().count();
    let mut screen = with_file(bytes);
    click(&mut screen, "Verify");
    assert!(shows(&screen, &format!("{checksums} checksums agree")));
    assert_eq!(tick(&screen), 0);
}

#[test]
fn a_file_that_plays_otherwise_says_where() {
    let replay = Replay::parse(recording()).unwrap();
    let (first, state) = replay.checkpoints().next().unwrap();
    let mut recorder = samestep_sync::Recorder::new(replay.header(), first, state);
    let inputs = samestep_sync::TickInputs::new();
    (0..100).for_each(|tick| recorder.on_tick(Tick(tick), &inputs));
    recorder.on_checksum(Tick(90), 1234);
    let mut screen = with_file(recorder.bytes());
    click(&mut screen, "Verify");
    assert!(shows(&screen, "the state at tick 90 is not as recorded"));
    click(&mut screen, "Go there");
    assert_eq!(tick(&screen), 90);
}

#[test]
fn clips_states_and_the_whole_are_saved() {
    let bytes = recording();
    let mut screen = with_file(bytes.clone());
    click(&mut screen, "The whole file");
    screen.key_press(Key::ArrowRight);
    screen.run();
    screen.get_all_by_label("Here").next().unwrap().click();
    screen.run();
    click(&mut screen, "The state at tick 60, as JSON");
    screen.key_press(Key::ArrowRight);
    screen.key_press(Key::ArrowRight);
    screen.run();
    screen.get_all_by_label("Here").nth(1).unwrap().click();
    screen.run();
    click(&mut screen, "A clip of 0:02.0");
    assert!(shows(&screen, "saved as match-60-180.replay"));
    click(&mut screen, "OK");
    assert!(!shows(&screen, "saved as"));

    let saved = screen.state().platform.saved.take();
    let [(whole_name, whole), (state_name, state), (_, clip)] = &saved[..] else {
        panic!("{} files", saved.len());
    };
    assert_eq!((&**whole_name, whole), ("match.replay", &bytes));
    assert_eq!(state_name, "match-tick-60.json");
    let state = std::str::from_utf8(state).unwrap();
    assert!(state.contains("\"tick\": 60,"), "{state}");
    assert!(state.contains("\"colour\": "), "{state}");
    let mut again = with_file(clip.clone());
    assert_eq!(tick(&again), 60);
    click(&mut again, "Verify");
    assert!(shows(&again, "checksums agree"));
}

#[test]
fn what_cannot_be_read_is_told_and_what_is_open_stays() {
    let mut screen = with_file(recording());
    screen.key_press(Key::ArrowRight);
    screen.run();
    screen
        .state_mut()
        .replays
        .open("cat.png", b"\x89PNG".to_vec());
    screen.run();
    assert!(shows(&screen, "cat.png: this is not a replay"));
    assert_eq!(tick(&screen), 60);
    click(&mut screen, "OK");

    let mut cut = recording();
    cut.truncate(cut.len() - 3);
    screen.state_mut().replays.open("cut.replay", cut);
    screen.run();
    assert!(shows(&screen, "the file is cut off"));
    // Both are open; each is where it was left.
    click(&mut screen, "match.replay");
    assert_eq!(tick(&screen), 60);
    screen
        .get_all_by_label_contains("Close")
        .next()
        .unwrap()
        .click();
    screen.run();
    assert!(!shows(&screen, "match.replay"));
    assert!(shows(&screen, "cut.replay"));
}

#[test]
fn a_path_is_typed_where_nothing_can_be_chosen() {
    let mut window = screen(false);
    window.run();
    click(&mut window, "Open");
    assert!(shows(&window, "Type the path"));
    window.get_by_label("File").focus();
    window.run();
    window.get_by_label("File").type_text("no/such.replay");
    window.run();
    click(&mut window, "Open");
    assert!(shows(&window, "no/such.replay: there is no such file"));

    let mut page = screen(true);
    page.run();
    click(&mut page, "Open a file…");
    click(&mut page, "Choose a file…");
    assert_eq!(page.state().platform.asked.get(), 2);
}

#[test]
fn an_example_is_played_for_who_has_no_file() {
    let mut screen = screen(true);
    screen.run();
    click(&mut screen, "A match of Evaluation");
    assert!(shows(&screen, "evaluation-example.replay"));
    assert_eq!(tick(&screen), 0);
}

#[test]
fn the_report_of_a_desync_marks_the_field_that_was_changed() {
    let mut live = play("game=evaluation&model=lockstep&players=3&net=lan", 200);
    live.tamper(1);
    let bundle = (0..600).find_map(|_| {
        live.step();
        let mut desyncs = live.desyncs().iter();
        desyncs.find_map(|desync| desync.report.bundle.clone())
    });
    let mut screen = with_file(bundle.unwrap());
    for words in [
        "the rules lead to theirs",
        "Ours: what was wrong",
        "Theirs: what is right",
        "the rules lead here",
        "1 field differs",
    ] {
        assert!(shows(&screen, words), "{words}");
    }
    assert!(screen.query_by_label("colour").is_some());
    // One can look at the match that led there, and come back.
    click(&mut screen, "The match");
    screen.get_by_label("Tick");
    screen.key_press(Key::Home);
    screen.run();
    let desync = screen.get_by_label_contains("Desync at tick");
    desync.click();
    screen.run();
    assert!(shows(&screen, "1 field differs"));
}
