//! The games as people play them: real processes, with bots at the keys.

use std::path::{Path, PathBuf};
use std::process::Command;

use samestep_catalog::NAMES;

use crate::namespaces::{pair, skipped};
use crate::terminal::{Terminal, knowing};

/// A fresh folder of a test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a writable directory");
    path
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("a readable path").into()
}

/// A game of Ada's on this machine that nobody else's tests can find, and its address.
pub fn host(game: &str, more: &[&str]) -> (Terminal, String) {
    let arguments = ["host", game, "0", "--terminal", "--name", "Ada", "--hidden"];
    let mut ada = Terminal::open("Ada", &[&arguments, more].concat());
    let port = ada.expect_number("open at port");
    (ada, format!("127.0.0.1:{port}"))
}

pub fn join(name: &str, game: &str, address: &str, more: &[&str]) -> Terminal {
    let file =
        text(&folder(&format!("rejoin-{name}-{}", address.replace(':', "-"))).join("secret"));
    let arguments = [
        "join",
        game,
        address,
        "--terminal",
        "--name",
        name,
        "--rejoin",
        &file,
    ];
    Terminal::open(name, &[&arguments, more].concat())
}

/// Waits until a player has so many frags on somebody's screen, and returns how many it has.
#[track_caller]
fn expect_frags(terminal: &mut Terminal, name: &str, least: u32) -> u32 {
    loop {
        let line = terminal.expect("scores: ");
        let after = line.split(&format!(" {name} ")).nth(1).unwrap_or_default();
        let frags = after.split('/').next().and_then(|frags| frags.parse().ok());
        if frags.is_some_and(|frags: u32| frags >= least) {
            return frags.unwrap_or_default();
        }
    }
}

/// Waits until somebody knows these settings: it takes a moment.
#[track_caller]
fn expect_settings(terminal: &mut Terminal, words: &str) {
    loop {
        terminal.enter("/settings");
        if terminal.expect("arena ").contains(words) {
            return;
        }
    }
}

#[test]
fn three_play_across_namespaces_one_joins_late_and_one_is_killed_and_returns() {
    let (near, far) = match pair() {
        Ok(pair) => pair,
        Err(why) => {
            let id = Command::new("id")
                .arg("-u")
                .output()
                .expect("there is an id");
            assert_ne!(
                id.stdout.trim_ascii(),
                b"0",
                "root has no network namespaces: {why}"
            );
            return skipped(&why);
        }
    };
    let folder = folder("three-play");
    let scores = |name: &str| text(&folder.join(format!("{name}.csv")));
    let secret = text(&folder.join("secret"));
    let settings = ["--arena", "cellar", "--frags", "8"];
    let own = |name| ["--name", name, "--terminal", "--ready", "--matches", "1"];
    let ada_scores = scores("Ada");
    let mut ada = near.terminal(
        "Ada",
        &[
            &[
                "host",
                "sublockus",
                "--bot",
                "easy",
                "--scores",
                &ada_scores,
            ],
            &own("Ada")[..],
            &settings,
        ]
        .concat(),
    );
    ada.expect("open at port");
    // The local network is searched: nobody has to know an address.
    let bob_scores = scores("Bob");
    let play_bob = || {
        let bot = [
            "--bot",
            "hard",
            "--scores",
            &bob_scores,
            "--rejoin",
            &secret,
        ];
        far.terminal(
            "Bob",
            &[&["join", "sublockus"], &own("Bob")[..], &bot].concat(),
        )
    };
    let mut bob = play_bob();
    bob.expect("in the room \"Ada's Sublockus\" as Bob");
    ada.expect("the match begins");
    let eve_scores = scores("Eve");
    let bot = ["--bot", "normal", "--scores", &eve_scores];
    let address = "10.83.0.1";
    let mut eve = far.terminal(
        "Eve",
        &[&["join", "sublockus", address], &own("Eve")[..], &bot].concat(),
    );
    eve.expect("in the room");
    ada.expect("Eve is here");

    let before = expect_frags(&mut ada, "Bob", 1);
    bob.kill();
    ada.expect("Bob is away");
    let mut bob = play_bob();
    bob.expect("in the room \"Ada's Sublockus\" as Bob");
    ada.expect("Bob is back");
    expect_frags(&mut bob, "Bob", before);

    for terminal in [&mut eve, &mut bob, &mut ada] {
        terminal.expect("the match is over");
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.text());
    }
    let read = |path: &str| std::fs::read_to_string(path).expect("it was written");
    let table = read(&ada_scores);
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table
            .lines()
            .nth(1)
            .is_some_and(|best| best.contains(",8,")),
        "{table}"
    );
    let bobs = table.lines().find(|line| line.contains("\"Bob\""));
    let bobs = bobs.and_then(|line| line.split(',').nth(2)?.parse().ok());
    assert!(bobs.is_some_and(|frags: u32| frags >= before), "{table}");
    assert_eq!(table, read(&bob_scores));
    assert_eq!(table, read(&eve_scores));
}

#[test]
fn an_own_arena_and_what_is_set_in_the_waiting_room_reach_whoever_joins() {
    let folder = folder("own-arena");
    let file = folder.join("den.txt");
    let cellar = samestep_catalog::sublockus::Builtin::Cellar.text();
    let den = cellar.replace("name: Cellar", "name: Den");
    std::fs::write(&file, &den).expect("a writable directory");
    let known = knowing("sesame");
    let known = known.each_ref().map(String::as_str);
    let (mut ada, address) = host(
        "sublockus",
        &[
            "--arena",
            &text(&file),
            known[0],
            known[1],
            "--standbys",
            "0",
        ],
    );
    // The file is the host's alone.
    std::fs::remove_file(&file).expect("it was written");
    let mut bob = join("Bob", "sublockus", &address, &known);
    bob.expect("in the room");
    bob.enter("/settings");
    bob.expect("arena Den, frags 20, time off, fog off, items on");
    bob.enter("/set frags 9");
    bob.expect("only who opened the game");
    ada.enter("/set frags 7");
    ada.enter("/set lives 7");
    ada.expect("Sublockus has no setting \"lives\"; it has arena, mode, frags");
    expect_settings(&mut bob, "arena Den, frags 7");
    bob.enter("hello");
    ada.expect("Bob: hello");
    ada.enter("/start");
    bob.expect("the match begins");
    // A late one has it all too.
    let mut eve = join("Eve", "sublockus", &address, &known);
    eve.expect("in the room");
    eve.enter("/settings");
    eve.expect("arena Den, frags 7");
    ada.enter("/end");
    eve.expect("the match is over: frags/deaths: ");
    ada.enter("/set arena mines");
    ada.enter("/rematch");
    bob.expect("another match is prepared");
    ada.enter("/start");
    bob.expect("the match begins");
    expect_settings(&mut bob, "arena Mines, frags 7");
    ada.enter("/quit");
    assert_eq!(ada.exit_code(), 0);
    bob.expect("the room was closed");
    assert_eq!(bob.exit_code(), 9);
}

#[test]
fn every_game_is_hosted_served_joined_and_watched() {
    for game in NAMES {
        let arguments = ["serve", game, "0", "--hidden", "--at-once", "--bots", "1"];
        let mut server = Terminal::open("server", &arguments);
        let port = server.expect_number("open at port");
        server.expect("Bot 1 is here");
        let address = format!("127.0.0.1:{port}");
        let mut bob = join("Bob", game, &address, &["--bot", "easy"]);
        bob.expect("in the room \"server's ");
        bob.expect("scores: ");
        server.expect("Bob is here");
        let mut eye = Terminal::open("eye", &["watch", game, &address, "--terminal"]);
        eye.expect("watching the room");
        eye.expect("Bob");
        bob.enter("/quit");
        assert_eq!(bob.exit_code(), 0, "{}", bob.text());
        server.expect("Bob left");
        drop(eye);
    }
}

#[test]
fn every_model_keeps_the_score_tables_the_same() {
    std::thread::scope(|scope| {
        for model in ["rollback", "lockstep", "snapshot", "state-sync"] {
            scope.spawn(move || play_a_match(model));
        }
    });
}

/// A match of two hard bots to one frag, through a bad link.
fn play_a_match(model: &str) {
    let link = ["--latency", "20", "--loss", "2%"];
    let own = [
        "--model",
        model,
        "--matches",
        "1",
        "--ready",
        "--bot",
        "hard",
    ];
    let settings = ["--arena", "cellar", "--frags", "1"];
    let (mut ada, address) = host("sublockus", &[&own[..], &settings].concat());
    let mut bob = join("Bob", "sublockus", &address, &[&own[..], &link].concat());
    for terminal in [&mut ada, &mut bob] {
        terminal.expect("the match is over");
        assert_eq!(terminal.exit_code(), 0, "{model}: {}", terminal.text());
    }
}

#[test]
fn what_does_not_fit_is_said_in_words() {
    let folder = folder("nonsense");
    let file = folder.join("wrong.txt");
    std::fs::write(&file, "name: Wrong\n\n####\n#x#\n").expect("a writable directory");
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let mut terminal = Terminal::open("refused", &[arguments, &["--terminal"]].concat());
        terminal.expect(words);
        assert_eq!(terminal.exit_code(), code, "{}", terminal.text());
    };
    refused(&["host", "chess"], 2, "there is no game \"chess\"");
    let wrong = text(&file);
    refused(
        &["host", "sublockus", "0", "--arena", &wrong],
        2,
        "wrong.txt: line 3, column 1: 2 rows",
    );
    refused(
        &["host", "sublockus", "0", "--arena", "attic"],
        2,
        "cellar, courtyard",
    );
    refused(
        &["host", "skirmish", "0", "--frags", "5"],
        2,
        "Skirmish has no setting \"frags\"",
    );
    refused(
        &["join", "sublockus", "no-such-host.invalid"],
        8,
        "no-such-host.invalid",
    );
    refused(
        &["host", "sublockus", "0", "--bots", "8"],
        2,
        "8 bots do not fit: 7 at most",
    );
    let known = knowing("sesame");
    let known = known.each_ref().map(String::as_str);
    let (_ada, address) = host("sublockus", &[known[0], known[1], "--model", "lockstep"]);
    refused(&["join", "sublockus", &address], 5, "password");
    let other = [&["join", "sublockus", &address], &known[..]].concat();
    refused(
        &other,
        4,
        "the room plays by lockstep, the newcomer by rollback",
    );
    refused(
        &["join", "skirmish", &address, "--model", "lockstep"],
        4,
        "a different game",
    );
}

#[test]
fn of_several_games_in_the_network_one_has_to_be_chosen() {
    let open = |name: &str, discovery: &str| {
        let arguments = [
            "host",
            "sublockus",
            "0",
            "--terminal",
            "--bind",
            "127.0.0.1",
        ];
        let more = ["--name", name, "--discovery-port", discovery];
        Terminal::open(name, &[&arguments[..], &more].concat())
    };
    let mut ada = open("Ada", "0");
    let port = ada.expect_number("open at port");
    let discovery = ada.expect_number("--discovery-port").to_string();
    let search = |game: &str| {
        let arguments = ["watch", game, "--terminal", "--discovery-port", &discovery];
        Terminal::open("eye", &arguments)
    };
    search("sublockus").expect("watching the room \"Ada's Sublockus\"");
    let mut none = search("skirmish");
    none.expect("no room found");
    assert_eq!(none.exit_code(), 3);
    let mut eve = open("Eve", &discovery);
    eve.expect("open at port");
    let mut several = search("sublockus");
    several.expect("several games were found");
    assert_eq!(several.exit_code(), 2);
    assert!(
        several.text().contains(&format!("127.0.0.1:{port}#")),
        "{}",
        several.text()
    );
}
