//! Finding rooms in the local network.

use crate::terminal::Terminal;

#[test]
fn two_rooms_on_one_machine_are_found_and_joined() {
    let open = |name: &str, room: &str, discovery: &str, command: &str| {
        let arguments = [
            "console", command, "--name", name, "--port", "0", "--room", room,
        ];
        let more = ["--discovery-port", discovery];
        Terminal::open(name, &[&arguments[..], &more].concat())
    };
    let mut ada = open("Ada", "den", "0", "host");
    let den = ada.expect_number("open at port");
    let invitation = ada.expect("--discovery-port");
    let (_, key) = invitation.split_once(&format!("ADDRESS:{den}#")).unwrap();
    let key = &key[..43];
    let (_, discovery) = invitation.split_once("--discovery-port ").unwrap();
    let discovery = discovery.to_string();
    let mut bob = open("Bob", "ring", &discovery, "peer");
    let ring = bob.expect_number("open at port");

    let search = ["discover", "--discovery-port", &discovery];
    let mut list = Terminal::open("list", &search);
    let line = list.expect("den");
    assert!(
        line.contains(&format!(":{den}#")) && line.contains("hosted"),
        "{line}"
    );
    assert_eq!(list.exit_code(), 0);
    let line = list.text();
    assert!(
        line.contains(&format!(":{ring}#")) && line.contains("mesh"),
        "{line}"
    );
    assert!(
        line.contains("1 of 16") && line.contains("samestep-console 1"),
        "{line}"
    );

    let mut eve = Terminal::open(
        "Eve",
        &[
            "console",
            "join",
            "--lan",
            "--name",
            "Eve",
            "--discovery-port",
            &discovery,
        ],
    );
    assert!(eve.expect("found \"den\"").contains(key));
    eve.expect("in the room \"den\" as Eve");
    let mut json = Terminal::open(
        "json",
        &[&search[..], &["--json", "--seconds", "1"]].concat(),
    );
    let line = json.expect("\"room\":\"den\"");
    assert!(line.contains("\"players\":2"), "{line}");
    assert!(line.contains(&format!("\"key\":\"{key}\"")), "{line}");

    ada.enter("/quit");
    assert_eq!(ada.exit_code(), 0);
    bob.enter("/quit");
    assert_eq!(bob.exit_code(), 0);
    let mut nobody = Terminal::open("nobody", &[&search[..], &["--seconds", "0.5"]].concat());
    nobody.expect("no room found");
    assert_eq!(nobody.exit_code(), 3);
}
