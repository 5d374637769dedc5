//! The program as its users meet it: arguments in, text and exit code out.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

fn samestep(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_samestep"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A fresh directory of this test.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a writable target directory");
    path
}

/// A plan of one short case with these expectations, run; returns the exit code, stdout and the JSON file.
fn run_plan(name: &str, expectations: &str) -> (Option<i32>, String, String) {
    let directory = directory(name);
    let plan = format!(
        "name = \"{name}\"\ntitle = \"t\"\nsource = \"s\"\ndescription = \"d\"\nexperiment = \"delivery\"\n\
         [parameters]\nlink.latency_ms = 20\nseconds = 2\nrepeats = 1\n{expectations}"
    );
    let file = directory.join("plan.toml");
    std::fs::write(&file, plan).expect("a writable directory");
    let json = directory.join("result.json");
    let text = |path: &PathBuf| path.to_str().expect("a readable path").to_string();
    let output = samestep(&[
        "lab",
        "run",
        &text(&file),
        "--out",
        &text(&directory),
        "--json",
        &text(&json),
    ]);
    let json = std::fs::read_to_string(json).unwrap_or_default();
    (output.status.code(), out(&output) + &err(&output), json)
}

const HOLDS: &str = "[[expect]]\ncase = \"20ms/0%/reliable-ordered\"\nmetric = \"latency_mean\"\nop = \"<=\"\nvalue = 21\n";

#[test]
fn plans_are_listed_with_metrics_and_keys() {
    let plain = out(&samestep(&["lab", "list"]));
    for plan in ["delivery", "jitter", "loss-latency", "block", "bottleneck"] {
        assert!(plain.lines().any(|line| line.starts_with(plan)), "{plain}");
    }
    let keys = out(&samestep(&["lab", "list", "--keys"]));
    for word in [
        "latency_mean",
        "link.latency_ms",
        "link.jitter_ms",
        "link.loss",
        "link.profile",
        "seconds",
        "repeats",
    ] {
        assert!(keys.contains(word), "{word} is missing in {keys}");
    }
}

#[test]
fn an_expectation_that_holds_is_green_and_written_down() {
    let (code, text, json) = run_plan("green", HOLDS);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        json.contains("\"ok\": true") && json.contains("\"case\": \"20ms/0%/reliable-ordered\""),
        "{json}"
    );
    let files = ["rows.csv", "result.json", "report.html", "messages.csv"];
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("green/green");
    assert!(files.iter().all(|file| directory.join(file).exists()));
}

#[test]
fn an_unmarked_miss_is_red_and_a_marked_one_is_not() {
    let misses = HOLDS.replace("21", "19");
    let (code, text, json) = run_plan("red", &misses);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("MISSED") && json.contains("\"ok\": false"),
        "{text}{json}"
    );
    let (code, text, json) = run_plan("known", &format!("{misses}missed = \"light is slow\"\n"));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("light is slow") && json.contains("\"missed\": \"light is slow\""),
        "{text}{json}"
    );
    assert!(json.contains("\"ok\": false"), "{json}");
}

#[test]
fn a_check_that_cannot_fail_is_refused() {
    let (code, text, _) = run_plan("vain", &HOLDS.replace("20ms/", "30ms/"));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("30ms/0%/reliable-ordered"), "{text}");
}

#[test]
fn mistakes_are_explained() {
    let cases: [(&[&str], &str); 7] = [
        (&["lab", "run", "nothing"], "loss-latency"),
        (
            &["lab", "run", "delivery", "--set", "link.lost=1"],
            "link.loss",
        ),
        (&["lab", "run", "delivery", "--set", "link.loss=5"], "5%"),
        (
            &["lab", "run", "delivery", "--set", "players=3"],
            "its keys are",
        ),
        (&["lab", "run", "block", "--real"], "virtual time only"),
        (
            &["lab", "soak", "--seeds", "1", "--suite", "weather"],
            "protocol",
        ),
        (
            &["proxy", "--listen", "127.0.0.1:0", "--forward", "nowhere"],
            "host:port",
        ),
    ];
    for (arguments, expected) in cases {
        let output = samestep(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            err(&output).contains(expected),
            "{arguments:?}: {}",
            err(&output)
        );
    }
}

#[test]
fn soak_counts_worlds_messages_and_failures() {
    let suite = ["lab", "soak", "--suite", "protocol"];
    let output = samestep(&[&suite[..], &["--seeds", "2", "--seed", "40"]].concat());
    let text = out(&output);
    let last = text.lines().last().expect("a closing line");
    assert!(
        last.starts_with("worlds 2, messages ") && last.ends_with(", failures 0"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_demo_delivers_what_it_promises() {
    let output = samestep(&[
        "demo",
        "--seconds",
        "1.5",
        "--port",
        "0",
        "--latency",
        "10",
        "--loss",
        "10%",
    ]);
    let text = out(&output) + &err(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("bot 3: ") && text.contains("every input and event arrived"),
        "{text}"
    );
}

#[test]
fn the_proxy_says_what_it_does_and_ends() {
    let arguments = [
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--forward",
        "127.0.0.1:9",
        "--profile",
        "lte",
        "--seconds",
        "0.1",
    ];
    let output = samestep(&arguments);
    assert!(
        out(&output).contains("relaying 127.0.0.1:") && out(&output).contains("lte"),
        "{}",
        out(&output)
    );
    assert_eq!(output.status.code(), Some(0));
}

/// A lobby as a process, and where it says it is.
fn lobby(arguments: &[&str]) -> (Child, String) {
    let mut lobby = Command::new(env!("CARGO_BIN_EXE_samestep"))
        .args(["lobby", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdout = BufReader::new(lobby.stdout.take().expect("its output"));
    let mut lines = stdout.lines().map_while(Result::ok);
    let address = lines.find_map(|line| Some(line.split_once("http://")?.1.to_owned()));
    (lobby, address.expect("the lobby says where it is"))
}

#[cfg(unix)]
#[test]
fn a_lobby_is_served_closed_and_opened_again() {
    use samestep_lobby::protocol::{Attach, Create, Message, Request};
    use samestep_lobby::{Client, RejoinSecret};

    let store = directory("lobby").join("lobby.db");
    let store = format!("sqlite:{}", store.display());
    let (mut process, address) = lobby(&["--store", &store]);
    let mut ada = Client::connect(&address).expect("a lobby");
    let create: Create = serde_json::from_value(serde_json::json!({
        "room": { "title": "Friday", "game": "sublockus" },
        "member": {
            "name": "Ada",
            "key": samestep::proto::Identity::from_secret([1; 32]).public_key().to_string(),
            "secret": String::from(RejoinSecret::from_bytes([2; 32])),
        },
    }))
    .expect("a request");
    let secret = create.member.secret.clone();
    let joined = ada.enter(Request::Create(create)).expect("a room");
    let stopped = Command::new("kill")
        .args(["-TERM", &process.id().to_string()])
        .status();
    assert!(stopped.is_ok_and(|status| status.success()));
    assert_eq!(process.wait().expect("its end").code(), Some(0));
    let mut ended = false;
    while let Ok(Some(message)) = ada.poll(std::time::Duration::from_secs(10)) {
        ended |= matches!(message, Message::Ended { .. });
    }
    assert!(ended, "members are told");
    let (mut process, address) = lobby(&["--store", &store]);
    let mut ada = Client::connect(&address).expect("the lobby is back");
    let attach = Attach {
        room: joined.room.id,
        member: joined.you,
        secret,
    };
    let again = ada
        .enter(Request::Attach(attach))
        .expect("the room is there");
    assert_eq!(
        (again.room.title.as_str(), &again.lobby_key),
        ("Friday", &joined.lobby_key)
    );
    process.kill().expect("it runs");
    process.wait().expect("it ends");
}

#[test]
fn a_lobby_that_cannot_be_says_why() {
    for (arguments, words) in [
        (&["lobby", "--store", "disk"][..], "sqlite:FILE"),
        (&["lobby", "--config", "/nowhere.toml"], "/nowhere.toml"),
        (
            &[
                "lobby",
                "--store",
                "postgres:host=/nowhere",
                "--listen",
                "127.0.0.1:0",
            ],
            "--key-file",
        ),
        (
            &["lobby", "--store", "sqlite:/dev/null/lobby.db"],
            "/dev/null/lobby.db",
        ),
    ] {
        let output = samestep(arguments);
        assert_ne!(output.status.code(), Some(0));
        assert!(err(&output).contains(words), "{}", err(&output));
    }
    let printed = out(&samestep(&["lobby", "--print-config"]));
    assert!(
        printed.contains("max_connections_per_address = 128"),
        "{printed}"
    );
}
