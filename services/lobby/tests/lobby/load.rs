//! The load of the example `load`, in its short form: all are let in, heard and acknowledged. How fast, the example measures.

#[path = "../../examples/load/members.rs"]
mod members;

use samestep_lobby::Lobby;

use crate::http::{config, metric};
use members::{Plan, run};

#[test]
fn many_members_chat_while_others_come_and_go() {
    let lobby = Lobby::start(config()).unwrap();
    let plan = Plan {
        rooms: 40,
        members: 4,
        rate: 200,
        seconds: 1,
        watchers: 5,
    };
    let figures = run(lobby.address(), &plan, || metric(lobby.address(), "rooms"));
    println!("{figures}");
    assert_eq!((figures.connected, figures.mark), (160, 40));
    assert_eq!(figures.first_joins.len(), 160);
    assert!(
        figures.later_joins.len() > 150 && figures.lines.len() > 0,
        "{figures}"
    );
    assert!(figures.heard > 1000);
}
