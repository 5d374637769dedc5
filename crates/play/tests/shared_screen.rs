//! Several players at one screen: programs with two players each, over real sockets.

use std::time::{Duration, Instant};

use clap::Parser;
use samestep_catalog::hat_hunters::{Controls, HatHunters, Heading, Place};
use samestep_catalog::sublockus::Sublockus;
use samestep_play::failure::{Failure, Kind};
use samestep_play::{Command, Playing, Stage};
use samestep_playable::Playable;

/// How long a test waits for anything; far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

fn command(words: &str) -> Command {
    let words = std::iter::once("samestep").chain(words.split(' '));
    Line::parse_from(words).command
}

fn open<G: Playable>(words: &str) -> Result<Playing<G>, Failure> {
    Playing::open(&command(words))
}

fn refused<G: Playable>(words: &str) -> String {
    let failure = open::<G>(words).err();
    failure
        .unwrap_or_else(|| panic!("{words} is accepted"))
        .to_string()
}

const HOST: &str = "host hat-hunters 0 --hidden --bind 127.0.0.1 --name Ada --with Bob";

/// The words with which others join what was opened.
fn join(host: &Playing<HatHunters>, names: &str) -> String {
    let invitations = host.invitations().join(" ");
    let port = invitations.split("ADDRESS:").nth(1).unwrap();
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    let secret = std::env::temp_dir().join(format!("samestep-shared-{}", std::process::id()));
    let secret = secret.join(names.replace(' ', "-"));
    format!(
        "join hat-hunters 127.0.0.1:{port} --rejoin {} {names}",
        secret.display()
    )
}

/// Runs both programs until something is so.
#[track_caller]
fn until(
    programs: &mut [Playing<HatHunters>; 2],
    what: &str,
    mut is_so: impl FnMut(&mut [Playing<HatHunters>; 2]) -> bool,
) {
    let end = Instant::now() + PATIENCE;
    while !is_so(programs) {
        assert!(Instant::now() < end, "never: {what}");
        for program in programs.iter_mut() {
            program.run_for(Duration::from_millis(2)).unwrap();
        }
    }
}

#[test]
fn two_programs_with_two_players_each_play_a_match() {
    let host = open::<HatHunters>(HOST).unwrap();
    let guest = open(&join(&host, "--name Eve --with Dan")).unwrap();
    let mut programs = [host, guest];
    let count = |program: &Playing<HatHunters>| program.my_players().len();
    until(&mut programs, "both are in the room", |programs| {
        programs
            .iter()
            .all(|program| program.stage() == Stage::Waiting && program.table().rows.len() == 4)
    });
    assert_eq!(programs.each_ref().map(count), [2, 2]);
    for program in &mut programs {
        assert_eq!(program.is_ready(), Some(false));
        program.set_ready(true);
    }
    until(&mut programs, "the match begins", |programs| {
        let begins = |program: &Playing<HatHunters>| {
            let state = program.state();
            let mut players = program.my_players().into_iter();
            program.stage() == Stage::Playing
                && players.all(|player| state.character_of(player).is_some())
        };
        programs.iter().all(begins)
    });
    // Each program knows where its own players are, and the host knows all of them.
    let places = |programs: &[Playing<HatHunters>; 2]| -> Vec<Place> {
        let players = programs.iter().flat_map(Playing::my_players);
        let state = programs[0].state();
        let place = |player| state.character_of(player).unwrap().place();
        players.map(place).collect()
    };
    let before = places(&programs);
    let headings = [Heading::RIGHT, Heading::DOWN, Heading::LEFT, Heading::UP];
    // Whoever stands at an obstacle tries the other ways.
    let mut turns = 0;
    until(&mut programs, "everyone walks", |programs| {
        turns += 1;
        let players = programs.each_ref().map(Playing::my_players);
        for (program, players) in programs.iter_mut().zip(players) {
            for player in players {
                let way = usize::from(player.0) + turns / 400;
                let walk = Controls::steering(Some(headings[way % 4]));
                program.set_controls(player, &walk);
            }
        }
        let now = places(programs);
        before.iter().zip(now).all(|(before, now)| *before != now)
    });
    programs[0].end_or_rematch();
    until(&mut programs, "the match is over", |programs| {
        programs
            .iter()
            .all(|program| program.stage() == Stage::Over)
    });
    let [host, guest] = &programs;
    assert_eq!(host.table().to_csv(), guest.table().to_csv());
    let mut names: Vec<String> = host.table().rows.into_iter().map(|row| row.name).collect();
    names.sort();
    assert_eq!(names, ["Ada", "Bob", "Dan", "Eve"]);
    assert!(!host.has_disagreed() && !guest.has_disagreed());
    let [host, guest] = programs;
    guest.leave().unwrap();
    host.leave().unwrap();
}

#[test]
fn a_room_without_places_for_all_says_so() {
    let host = open::<HatHunters>(&format!("{HOST} --players 3")).unwrap();
    let mut guest = open::<HatHunters>(&join(&host, "--name Eve --with Dan")).unwrap();
    let mut host = host;
    let end = Instant::now() + PATIENCE;
    let failure = loop {
        assert!(Instant::now() < end, "nobody is refused");
        host.run_for(Duration::from_millis(2)).unwrap();
        if let Err(failure) = guest.run_for(Duration::from_millis(2)) {
            break failure;
        }
    };
    assert_eq!(failure.kind, Kind::Full);
    let words = "the room has no place for all 2 players of this program";
    assert_eq!(failure.to_string(), words);
}

#[test]
fn what_cannot_be_shared_is_refused_in_words() {
    let words = refused::<Sublockus>("host sublockus 0 --hidden --with Bob");
    assert!(
        words.contains("a screen of its own: leave out --with"),
        "{words}"
    );
    let words = refused::<HatHunters>(&format!("{HOST} --with C --with D --with E"));
    assert!(
        words.contains("5 players do not fit at one screen"),
        "{words}"
    );
    assert!(words.contains("Hat Hunters takes 4 at most"), "{words}");
    let words = refused::<HatHunters>(&format!("{HOST} --with C --players 2"));
    assert!(
        words.contains("3 players do not fit: the game is for 2"),
        "{words}"
    );
    let words = refused::<HatHunters>(&format!("{HOST} --bots 3"));
    assert!(words.contains("3 bots do not fit: 2 at most"), "{words}");
    let nameless = ["samestep", "host", "hat-hunters", "--with", " "];
    assert!(Line::try_parse_from(nameless).is_err());
    assert!(command(HOST).needs_window());
    assert!(!command(&format!("{HOST} --bot easy")).needs_window());
    assert!(!command("host hat-hunters").needs_window());
}
