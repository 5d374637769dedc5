//! Ends that do not fit together learn why.

use samestep_proto::{
    ChannelConfig, CloseReason, Config, ConnectOptions, Delivery, Event, LossRecovery, RefuseReason,
};

use crate::world::*;

fn refusal(client: Config, server: Config) -> RefuseReason {
    let mut pair = Pair::with(client, server);
    let ended = pair.connect(ConnectOptions::default());
    let Err(CloseReason::Refused(reason)) = ended else {
        panic!("not refused: {ended:?}");
    };
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().refused, 1);
    let [Event::Refused { reason: told, .. }] = pair[SERVER].events[..] else {
        panic!("the server tells of one refusal: {:?}", pair[SERVER].events);
    };
    assert_eq!(told, reason);
    reason
}

#[test]
fn another_version() {
    let newer = Config {
        version: 2,
        ..config()
    };
    let reason = RefuseReason::Version { theirs: 2, ours: 1 };
    assert_eq!(refusal(config(), newer), reason);
}

#[test]
fn another_game() {
    assert_eq!(
        refusal(config(), Config::new("chess", 1)),
        RefuseReason::Game
    );
}

#[test]
fn other_channels() {
    let changes: [fn(&mut Vec<ChannelConfig>); 4] = [
        |channels| channels.truncate(4),
        |channels| channels[0].delivery = Delivery::UnreliableSequenced,
        |channels| channels[3].recovery = LossRecovery::Retransmit,
        |channels| channels[3].max_message -= 1,
    ];
    for change in changes {
        let mut server = config();
        change(&mut server.channels);
        assert_eq!(refusal(config(), server), RefuseReason::Channels);
    }
}

#[test]
fn one_encrypts_and_the_other_does_not() {
    let reason = |encrypted| RefuseReason::Security { encrypted };
    assert_eq!(refusal(config().plain(), config()), reason(true));
    assert_eq!(refusal(config(), config().plain()), reason(false));
}

#[test]
fn what_each_side_decides_for_itself_may_differ() {
    let mut server = config();
    server.channels[0].priority = 3;
    server.channels[2].queue_limit *= 2;
    server.keep_alive = secs(1);
    server.max_packet = 1400;
    let mut pair = Pair::with(config(), server);
    assert_eq!(pair.connect(ConnectOptions::default()), Ok(()));
}
