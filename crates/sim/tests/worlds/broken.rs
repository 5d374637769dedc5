//! Every checker finds the fault it is there for, and finds none in a sound endpoint.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::{ChannelId, Config, ConnectOptions};
use samestep_sim::check::{Breach, Promise};
use samestep_sim::{Broken, EndpointTestbed, Fault, Referee};

const UNRELIABLE: ChannelId = ChannelId(0);
const SEQUENCED: ChannelId = ChannelId(1);
const UNORDERED: ChannelId = ChannelId(2);
const ORDERED: ChannelId = ChannelId(3);
const REDUNDANT: ChannelId = ChannelId(4);

/// A client sends 20 messages on every channel to a server, which has this fault and answers each time; then the
/// client sends a last message on every channel and closes.
fn play(broken: Option<Broken>) -> Result<(), Breach> {
    let mut world = EndpointTestbed::new(1);
    world.set_links(LinkConfig {
        latency: Duration::from_millis(10),
        ..LinkConfig::default()
    });
    let mut config = Config::new("broken", 1).plain();
    config.channels[usize::from(UNRELIABLE.0)].report = true;
    let server = world.add_node(config.clone().accepting(4));
    let client = world.add_node(config.clone());
    let mut referee = Referee::new(99, &config.channels, Duration::from_secs(2));
    referee.set_memory_limit(server, 4 << 20);
    if let Some(broken) = broken {
        world.break_node(server, broken);
    }
    let tag = referee
        .connect(&mut world, client, server, ConnectOptions::default())
        .unwrap();
    let run = |world: &mut EndpointTestbed, referee: &mut Referee, ms| {
        let until = world.now() + Duration::from_millis(ms);
        while let Some(wake) = world.next(until) {
            referee.on_wake(&wake)?;
        }
        referee.measure_memory(world)
    };
    run(&mut world, &mut referee, 500)?;
    for _ in 0..20 {
        for channel in 0..config.channels.len() as u8 {
            referee
                .send(&mut world, tag, 0, ChannelId(channel), 50)
                .expect("connected");
        }
        referee
            .send(&mut world, tag, 1, ORDERED, 50)
            .expect("connected");
        run(&mut world, &mut referee, 20)?;
    }
    referee.on_healed(world.now());
    while !referee.settled(world.now())? {
        run(&mut world, &mut referee, 100)?;
    }
    for channel in 0..config.channels.len() as u8 {
        referee
            .send(&mut world, tag, 0, ChannelId(channel), 50)
            .expect("connected");
    }
    referee.close(&mut world, tag, 0, 7, "that is all");
    run(&mut world, &mut referee, 3_000)?;
    referee.settled(world.now())?;
    referee.finish(world.now(), &[tag])
}

fn found(broken: Broken) -> Promise {
    play(Some(broken))
        .expect_err("a fault that must be found")
        .promise
}

#[test]
fn a_sound_endpoint_keeps_every_promise() {
    assert_eq!(play(None), Ok(()));
}

#[test]
fn at_most_once_finds_an_unreliable_message_delivered_twice() {
    assert_eq!(
        found(Broken::new(Fault::Twice).on_channel(UNRELIABLE)),
        Promise::AtMostOnce
    );
}

#[test]
fn exactly_once_finds_a_reliable_message_delivered_twice() {
    for channel in [UNORDERED, ORDERED, REDUNDANT] {
        assert_eq!(
            found(Broken::new(Fault::Twice).on_channel(channel)),
            Promise::ExactlyOnce
        );
    }
}

#[test]
fn exactly_once_finds_a_last_word_lost() {
    assert_eq!(
        found(Broken::new(Fault::Lose).on_channel(UNORDERED).after(20)),
        Promise::ExactlyOnce
    );
}

#[test]
fn in_order_finds_two_messages_swapped() {
    for channel in [ORDERED, REDUNDANT] {
        assert_eq!(
            found(Broken::new(Fault::Swap).on_channel(channel)),
            Promise::InOrder
        );
    }
    assert_eq!(
        play(Some(Broken::new(Fault::Swap).on_channel(UNORDERED))),
        Ok(()),
        "allowed there"
    );
}

#[test]
fn in_order_finds_a_message_left_out() {
    assert_eq!(
        found(Broken::new(Fault::Lose).on_channel(ORDERED)),
        Promise::InOrder
    );
}

#[test]
fn never_back_finds_a_sequenced_message_after_a_newer_one() {
    assert_eq!(
        found(Broken::new(Fault::Swap).on_channel(SEQUENCED)),
        Promise::NeverBack
    );
}

#[test]
fn at_most_once_finds_a_sequenced_message_repeated() {
    assert_eq!(
        found(Broken::new(Fault::Rewind).on_channel(SEQUENCED)),
        Promise::AtMostOnce
    );
}

#[test]
fn strangers_are_found_by_an_invented_message() {
    for channel in [UNRELIABLE, SEQUENCED, UNORDERED, ORDERED, REDUNDANT] {
        let broken = Broken::new(Fault::Invent).on_channel(channel);
        assert_eq!(found(broken), Promise::NothingFromStrangers);
    }
}

#[test]
fn strangers_are_found_by_a_flipped_bit() {
    assert_eq!(
        found(Broken::new(Fault::Garble).on_channel(UNRELIABLE)),
        Promise::NothingFromStrangers
    );
}

#[test]
fn strangers_are_found_by_a_message_on_the_wrong_channel() {
    assert_eq!(
        found(Broken::new(Fault::Misroute).on_channel(UNRELIABLE)),
        Promise::NothingFromStrangers
    );
}

#[test]
fn progress_finds_an_endpoint_that_stops_sending() {
    assert_eq!(found(Broken::new(Fault::Mute)), Promise::Progress);
}

#[test]
fn progress_finds_a_lost_message() {
    assert_eq!(
        found(Broken::new(Fault::Lose).on_channel(UNORDERED)),
        Promise::Progress
    );
}

#[test]
fn bounded_memory_finds_a_leak() {
    assert_eq!(
        found(Broken::new(Fault::Leak(1 << 20))),
        Promise::BoundedMemory
    );
}

#[test]
fn close_reasons_finds_a_misstated_reason() {
    assert_eq!(
        found(Broken::new(Fault::MisstateClose)),
        Promise::CloseReasons
    );
}

#[test]
fn progress_finds_a_concealed_close() {
    assert_eq!(found(Broken::new(Fault::ConcealClose)), Promise::Progress);
}

#[test]
fn life_cycle_finds_a_message_after_the_close() {
    assert_eq!(found(Broken::new(Fault::Haunt)), Promise::LifeCycle);
}

#[test]
fn honest_reports_finds_an_acknowledged_message_that_never_arrived() {
    assert_eq!(
        found(Broken::new(Fault::Lose).on_channel(UNRELIABLE)),
        Promise::HonestReports
    );
}
