//! Who is let in: whom a lobby sends, and who knows the password as it is now.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::played::{folder, text};
use crate::terminal::{Terminal, knowing};

/// Runs `samestep` as a user whose state directory is this.
fn open_as(state: &Path, who: &str, arguments: &[&str]) -> Terminal {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samestep"));
    command.args(arguments).env("XDG_STATE_HOME", state);
    Terminal::run(who, command)
}

/// What `samestep` prints as such a user.
#[track_caller]
fn output(state: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samestep"));
    command.args(arguments).env("XDG_STATE_HOME", state);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The key behind `what` among the keys of a user.
fn key_of(state: &Path, what: &str) -> String {
    let keys = output(state, &["token", "keys"]);
    let line = keys.lines().find(|line| line.starts_with(what));
    let key = line.and_then(|line| line.split_whitespace().last());
    key.expect("a line with a key").into()
}

#[test]
fn a_lobby_decides_who_joins() {
    let folder = folder("lobby");
    let [ada_state, bob_state] = ["ada", "bob"].map(|name| folder.join(name));
    let secret = text(&folder.join("lobby"));
    let lobby_key = output(&folder, &["token", "new-key", &secret]);
    let lobby_key = lobby_key.trim();
    let again = output(&folder, &["token", "new-key", &secret]);
    assert_eq!(again.trim(), lobby_key, "the file is kept");

    let guarded = ["--lobby-key", lobby_key, "--shard", "3"];
    let host = ["host", "sublockus", "0", "--terminal", "--hidden", "--name"];
    let more = ["Ada", "--bots", "1"];
    let arguments = [&host[..], &more, &guarded].concat();
    let mut ada = open_as(&ada_state, "Ada", &arguments);
    let port = ada.expect_number("open at port");
    // The host's own bots need no token.
    ada.expect("Bot 1 is here");
    let server_key = key_of(&ada_state, "games that you open");
    let address = format!("127.0.0.1:{port}#{server_key}");
    let join = |more: &[&str]| {
        let arguments = ["join", "sublockus", &address, "--terminal", "--name", "Bob"];
        open_as(&bob_state, "Bob", &[&arguments, more].concat())
    };

    let mut bob = join(&[]);
    bob.expect("the server admits players only through its lobby");
    assert_eq!(bob.exit_code(), 12);
    ada.expect("the newcomer brought no invitation of the lobby");
    let address_alone = format!("127.0.0.1:{port}");
    let mut ping = open_as(&bob_state, "ping", &["ping", &address, "-c", "1"]);
    ping.expect("joining takes a token of the lobby");
    ping.expect("(as given)");
    assert_eq!(ping.exit_code(), 0);
    let mut ping = open_as(&bob_state, "ping", &["ping", &address_alone, "-c", "1"]);
    ping.expect(&format!("key: {server_key} (not known before"));

    let client_key = key_of(&bob_state, "you, where you join");
    let token = folder.join("token");
    let issue = |client: &str, shard: &str| {
        let arguments = ["token", "issue", "--lobby-key-file", &secret];
        let keys = ["--server-key", &server_key, "--client-key", client];
        let shard = ["--shard", shard];
        let issued = output(&folder, &[&arguments[..], &keys, &shard].concat());
        std::fs::write(&token, issued).expect("a writable directory");
    };
    let file = text(&token);
    let with_token = ["--token-file", &file];
    issue(&server_key, "3");
    let mut bob = join(&with_token);
    bob.expect("the connect token is for a program with the key");
    assert_eq!(bob.exit_code(), 12);
    issue(&client_key, "4");
    let mut bob = join(&with_token);
    bob.expect("the invitation is for another server");
    assert_eq!(bob.exit_code(), 12);

    // A server takes no token of its first ten seconds: the lobby is asked again until then.
    let mut bob = loop {
        issue(&client_key, "3");
        let mut bob = join(&with_token);
        let line = bob.expect("the ");
        if line.contains("in the room") {
            break bob;
        }
        assert!(line.contains("before the server had started"), "{line}");
        assert_eq!(bob.exit_code(), 12);
    };
    ada.expect("Bob is here");
    // Bob crashes, and is back by his key alone.
    bob.kill();
    let mut bob = join(&[]);
    bob.expect("in the room");
    ada.expect("Bob is back");
    bob.enter("/quit");
    assert_eq!(bob.exit_code(), 0);
    ada.expect("Bob left");
    // The token is used up.
    let mut bob = join(&with_token);
    bob.expect("the invitation has been used: ask the lobby for a new one");
    assert_eq!(bob.exit_code(), 12);
}

#[test]
fn a_ban_changes_the_password() {
    let sesame = knowing("sesame");
    let sesame = [sesame[0].as_str(), sesame[1].as_str()];
    let arguments = ["host", "sublockus", "0", "--terminal", "--name", "Ada"];
    let arguments = [&arguments[..], &["--hidden"], &sesame].concat();
    let mut ada = Terminal::open("Ada", &arguments);
    let address = format!("127.0.0.1:{}", ada.expect_number("open at port"));
    let join = |name: &str, more: &[&str]| {
        let state = folder(&format!("banned-{name}"));
        let arguments = ["join", "sublockus", &address, "--terminal", "--name", name];
        open_as(&state, name, &[&arguments, more].concat())
    };
    let mut bob = join("Bob", &sesame);
    bob.expect("in the room");
    let mut eve = join("Eve", &sesame);
    eve.expect("in the room");
    ada.expect("Eve is here");
    eve.enter("/password");
    eve.expect("only the authority of a room can change its password");
    ada.enter("/ban Eve enough");
    let line = ada.expect("the password is now ");
    eve.expect("you were banned: enough");
    assert_eq!(eve.exit_code(), 10);
    let (_, password) = line.split_once("the password is now ").unwrap();
    let (password, _) = password.split_once(':').unwrap();

    let mut eve = join("Eve", &sesame);
    eve.expect("wrong password");
    assert_eq!(eve.exit_code(), 5);
    let new = knowing(password);
    let new = [new[0].as_str(), new[1].as_str()];
    let mut flo = join("Flo", &new);
    flo.expect("in the room");
    // Who was here stays, and one can choose the next password.
    let clover = knowing("clover");
    ada.enter(&format!("/password {}", clover[1]));
    ada.expect("the password is now clover");
    bob.enter("hello");
    ada.expect("Bob: hello");
    let mut gus = join("Gus", &new);
    gus.expect("wrong password");
    assert_eq!(gus.exit_code(), 5);
}

#[test]
fn a_console_room_changes_its_password_too() {
    let sesame = knowing("sesame");
    let sesame = [sesame[0].as_str(), sesame[1].as_str()];
    for (open, join) in [("host", "join"), ("peer", "peer")] {
        let arguments = ["console", open, "--name", "Ada", "--port", "0", "--hidden"];
        let mut ada = Terminal::open("Ada", &[&arguments[..], &sesame].concat());
        let address = format!("127.0.0.1:{}", ada.expect_number("open at port"));
        let enter = |name: &str, more: &[&str]| {
            let arguments = ["console", join, &address, "--name", name];
            Terminal::open(name, &[&arguments, more].concat())
        };
        let mut bob = enter("Bob", &sesame);
        bob.expect("in the room");
        let mut eve = enter("Eve", &sesame);
        eve.expect("in the room");
        ada.expect("Eve is here");
        ada.enter("/kick Eve enough");
        ada.expect("Eve left");
        let line = ada.expect("the password is now ");
        eve.expect("kicked");
        let mut eve = enter("Eve", &sesame);
        eve.expect("password");
        assert_eq!(eve.exit_code(), 5);
        let (_, password) = line.split_once("the password is now ").unwrap();
        let (password, _) = password.split_once(':').unwrap();
        let new = knowing(password);
        let mut flo = enter("Flo", &[&new[0], &new[1]]);
        flo.expect("in the room");
        bob.expect("Flo is here");
    }
}

#[test]
fn a_host_whose_key_cannot_be_kept_says_so() {
    let nowhere = Path::new("/dev/null");
    let game = ["host", "sublockus", "0", "--terminal", "--hidden"];
    let console = ["console", "host", "--port", "0", "--hidden"];
    for arguments in [&game[..], &console[..]] {
        let mut ada = open_as(nowhere, "Ada", arguments);
        ada.expect("/dev/null/samestep/identity cannot be kept");
        ada.enter("/quit");
        assert_eq!(ada.exit_code(), 0);
    }
}
