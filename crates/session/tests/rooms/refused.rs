//! Who is refused at the door is told why within a second, and so is the room: in words that name the difference.

use std::time::Duration;

use crate::room::{NodeIndex, TestNetwork, address, config, ms};
use samestep_netem::LinkConfig;
use samestep_session::{
    GameDescription, JoinTo, LeaveReason, Match, Role, SessionConfig, SessionEvent, State,
};
use samestep_sync::{
    Events, Input, Inputs, Live, Lockstep, Replicate, Rollback, Simulation, Snapshot, StateSync,
    Wire,
};

/// A guest's and a host's words about the same refusal.
struct Words {
    guest: String,
    host: String,
}

/// A round trip of 100 ms.
fn network() -> TestNetwork {
    let latency = ms(50);
    let link = LinkConfig {
        latency,
        ..LinkConfig::default()
    };
    TestNetwork::new(1, link)
}

fn join(room: NodeIndex) -> JoinTo {
    JoinTo::new(address(room))
}

/// Has somebody join through `member`, and returns what both ends say within a second.
#[track_caller]
fn refused_by(
    network: &mut TestNetwork,
    member: NodeIndex,
    config: SessionConfig,
    role: Role,
) -> Words {
    refused_within(ms(1_000), network, member, config, role)
}

#[track_caller]
fn refused_within(
    limit: Duration,
    network: &mut TestNetwork,
    member: NodeIndex,
    config: SessionConfig,
    role: Role,
) -> Words {
    let guest = network.enter(config, role);
    let told = |network: &TestNetwork| {
        network.events[member].iter().find_map(|event| match event {
            SessionEvent::Refused {
                address: from,
                reason,
            } if *from == address(guest) => Some(reason.to_string()),
            _ => None,
        })
    };
    let left = |network: &TestNetwork| match network.at(guest).state() {
        State::Left(reason) => Some(reason.to_string()),
        _ => None,
    };
    network.run_until(limit, |network| {
        told(network).is_some() && left(network).is_some()
    });
    Words {
        guest: left(network).unwrap(),
        host: told(network).unwrap(),
    }
}

/// The words about a client that a host refuses.
#[track_caller]
fn refused(host: SessionConfig, client: SessionConfig) -> Words {
    let mut network = network();
    let host = network.enter(host, Role::Host);
    refused_by(&mut network, host, client, Role::Client(join(host)))
}

fn playing(description: GameDescription) -> SessionConfig {
    SessionConfig {
        description: Some(description),
        ..config("Ann")
    }
}

/// Refused for what is played: both ends say the same.
#[track_caller]
fn incompatible(room: GameDescription, newcomer: GameDescription) -> String {
    let words = refused(playing(room), playing(newcomer));
    assert_eq!(words.guest, words.host);
    words.guest
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Jump(bool);

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct HighJump {
    height: u8,
}

impl Input for Jump {
    fn predict(&self) -> Self {
        self.clone()
    }
}

impl Input for HighJump {
    fn predict(&self) -> Self {
        self.clone()
    }
}

/// Declares a game and gives its description.
macro_rules! description {
    ($model:expr, $state:ident { $($field:ident: $type:ty),* }, $input:ty, $event:ty, $rate:expr) => {{
        #[derive(Clone, Default, Replicate)]
        struct $state {
            $($field: $type,)*
        }

        impl Simulation for $state {
            type Input = $input;
            type Event = $event;
            const NAME: &'static str = "meadow";
            const TICKS_PER_SECOND: u32 = $rate;

            fn step(&mut self, _: &Inputs<'_, $input>, _: &mut Events<$event>) {}
        }

        let role = Role::Host;
        let game = Match::new(ms(0), config("Ann"), role, [1; 32], $model, Live::new($state::default()));
        game.unwrap().session().config().description.clone().unwrap()
    }};
}

fn meadow() -> GameDescription {
    description!(Rollback::default(), Meadow { jumps: u32 }, Jump, u8, 60)
}

#[test]
fn another_model() {
    let newcomer = description!(Lockstep::default(), Meadow { jumps: u32 }, Jump, u8, 60);
    assert_eq!(
        incompatible(meadow(), newcomer),
        "the room plays by rollback, the newcomer by lockstep"
    );
    let room = description!(StateSync::default(), Meadow { jumps: u32 }, Jump, u8, 60);
    let newcomer = description!(Snapshot::default(), Meadow { jumps: u32 }, Jump, u8, 60);
    assert_eq!(
        incompatible(room, newcomer),
        "the room plays by state-sync, the newcomer by snapshot"
    );
}

#[test]
fn another_layout_of_the_state() {
    let newcomer = description!(Rollback::default(), Meadow { leaps: u32 }, Jump, u8, 60);
    assert_eq!(
        incompatible(meadow(), newcomer),
        "the state types of the room and of the newcomer differ: build both from the same source"
    );
}

#[test]
fn other_inputs_and_events() {
    let newcomer = description!(Rollback::default(), Meadow { jumps: u32 }, HighJump, u8, 60);
    assert_eq!(
        incompatible(meadow(), newcomer),
        "the input types of the room and of the newcomer differ: build both from the same source"
    );
    let newcomer = description!(
        Rollback::default(),
        Meadow { jumps: u32 },
        HighJump,
        u16,
        60
    );
    assert_eq!(
        incompatible(meadow(), newcomer),
        "the input and event types of the room and of the newcomer differ: build both from the same source"
    );
}

#[test]
fn another_tick_rate() {
    let newcomer = description!(Rollback::default(), Meadow { jumps: u32 }, Jump, u8, 30);
    assert_eq!(
        incompatible(meadow(), newcomer),
        "the room has 60 ticks per second, the newcomer 30"
    );
}

#[test]
fn every_member_of_a_mesh_refuses_another_game() {
    let mut network = network();
    let members = network.mesh(playing(meadow()), 3);
    let newcomer = description!(Lockstep::default(), Meadow { jumps: u32 }, Jump, u8, 20);
    for member in members {
        let role = Role::Peer(join(member));
        let words = refused_by(&mut network, member, playing(newcomer.clone()), role);
        assert_eq!(
            words.guest,
            "the room plays by rollback, the newcomer by lockstep; the room has 60 ticks per second, the newcomer 20"
        );
        assert_eq!(words.host, words.guest);
    }
}

#[test]
fn the_same_game_or_an_undescribed_one_is_admitted() {
    let mut network = network();
    let host = network.enter(playing(meadow()), Role::Host);
    for config in [playing(meadow()), config("Bo")] {
        let guest = network.enter(config, Role::Client(join(host)));
        network.run_until(ms(1_000), |network| {
            *network.at(guest).state() == State::InSync
        });
    }
}

#[test]
fn another_version_or_game() {
    let words = refused(
        SessionConfig::new("test", 2).player("Ann"),
        SessionConfig::new("test", 1).player("Bo"),
    );
    assert!(
        words
            .guest
            .starts_with("the server runs version 2, you run 1"),
        "{}",
        words.guest
    );
    assert_eq!(words.host, "the newcomer runs version 1, this program 2");
    let words = refused(config("Ann"), SessionConfig::new("chess", 1).player("Bo"));
    assert!(
        words.guest.starts_with("the server runs a different game"),
        "{}",
        words.guest
    );
    assert_eq!(words.host, "the newcomer runs a different game");
}

#[test]
fn a_wrong_missing_or_needless_password() {
    for plain in [false, true] {
        let password = |asked: Option<&str>, given: Option<&str>| {
            let mut host = config("Ann");
            let mut guest = config("Bo");
            if plain {
                host.protocol = host.protocol.plain();
                guest.protocol = guest.protocol.plain();
            }
            host.password = asked.map(Into::into);
            let mut network = network();
            let host = network.enter(host, Role::Host);
            let mut join = join(host);
            join.password = given.map(Into::into);
            // Whether a password is wrong shows to the host by the guest's silence.
            let limit = match (asked, given) {
                (Some(_), Some(_)) => ms(6_000),
                _ => ms(1_000),
            };
            refused_within(limit, &mut network, host, guest, Role::Client(join))
        };
        let words = password(Some("sesame"), Some("simsim"));
        assert_eq!(
            words.guest,
            "wrong password: type it again or ask the host for it"
        );
        assert_eq!(words.host, "the newcomer's password is wrong");
        let words = password(Some("sesame"), None);
        assert_eq!(
            words.guest,
            "the server asks for a password: enter it and try again"
        );
        assert_eq!(words.host, "the newcomer gave no password");
        let words = password(None, Some("sesame"));
        assert_eq!(
            words.guest,
            "the server has no password: connect without one"
        );
        assert_eq!(
            words.host,
            "the newcomer gave a password, and this room has none"
        );
    }
}

#[test]
fn a_full_room() {
    let mut full = config("Ann");
    full.capacity = 1;
    let words = refused(full, config("Bo"));
    assert_eq!(words.guest, "the room is full");
    assert_eq!(words.host, words.guest);
}

#[test]
fn who_is_banned() {
    let mut network = network();
    let [host, guest] = network.hosted(config("Ann"), 1)[..] else {
        panic!("a host and a guest");
    };
    let banned = network.at(guest).me().unwrap();
    network.with(host, |now, host| {
        host.ban(now, banned, ms(60_000), "cheats")
    });
    network.run(ms(500));
    let mut join = join(host);
    join.rejoin = Some(network.at(guest).rejoin_secret());
    let words = refused_by(&mut network, host, config("Bo"), Role::Client(join));
    assert_eq!(words.guest, "banned: cheats");
    assert_eq!(words.host, words.guest);
}

#[test]
fn a_room_of_the_other_kind() {
    let mut network = network();
    let host = network.enter(config("Ann"), Role::Host);
    let words = refused_by(&mut network, host, config("Bo"), Role::Peer(join(host)));
    assert_eq!(words.guest, LeaveReason::WrongTopology.to_string());
    assert_eq!(words.host, words.guest);
}

#[test]
fn a_flood_of_refusals_is_told_of_ten_times_a_second() {
    let mut network = network();
    let host = network.enter(config("Ann"), Role::Host);
    for _ in 0..100 {
        let other = SessionConfig::new("chess", 1).player("Bo");
        network.enter(other, Role::Client(join(host)));
    }
    network.run(ms(1_000));
    let told = network.events[host].iter();
    let told = told.filter(|event| matches!(event, SessionEvent::Refused { .. }));
    assert!((1..=10).contains(&told.count()));
}

#[test]
fn a_program_that_ends_gives_its_place_back_at_once() {
    let mut network = network();
    let mut small = config("Ann");
    small.capacity = 2;
    let [host, guest] = network.hosted(small, 1)[..] else {
        panic!("a host and a guest");
    };
    network.with(guest, |now, guest| guest.leave(now, "supper"));
    // What it has sent by now arrives; the program does not wait for an answer.
    network.run(ms(1));
    network.with(guest, |now, guest| guest.hang_up(now));
    network.run(ms(1));
    network.kill(guest);
    network.run(ms(60));
    assert_eq!(network.at(host).room().peers().len(), 1);
    let next = network.enter(config("Bo"), Role::Client(join(host)));
    network.run_until(ms(1_000), |network| {
        *network.at(next).state() == State::InSync
    });
}

#[test]
fn a_program_whose_close_is_lost_has_left_two_seconds_after_its_farewell() {
    let mut network = network();
    let [host, guest] = network.hosted(config("Ann"), 1)[..] else {
        panic!("a host and a guest");
    };
    network.with(guest, |now, guest| guest.leave(now, "supper"));
    network.run(ms(1));
    network.kill(guest);
    network.run(ms(3_000));
    assert_eq!(network.at(host).room().peers().len(), 1);
}
