//! The keys of the experiments with matches.

use std::time::Duration;

use samestep_sim::Topology;
use samestep_sync::{Length, LockstepConfig};

use super::MatchConfig;
use crate::link;
use crate::parameters::{Case, Domain, Key, Value, unless};

/// How the members are connected.
pub const TOPOLOGY: Key = Key::text(
    "topology",
    "hosted",
    Domain::Choice(&["hosted", "mesh"]),
    "hosted: everyone talks to a hosting player; mesh: everyone talks to everyone",
)
.labelled(|value| Some(value.to_string()).filter(|text| text != "hosted"));

/// How many play.
pub const PLAYERS: Key = Key::number(
    "players",
    10.0,
    Domain::Whole(2, 2_000),
    "players, the hosting one among them; each gives 8 commands a second",
)
.labelled(|value| Some(format!("{value}p")));

/// How much there is to simulate.
pub const ENTITIES: Key = Key::number(
    "entities",
    1024.0,
    Domain::Whole(1, 65_536),
    "entities, split evenly over the players",
)
.labelled(|value| Some(format!("{value}e")));

/// Length of a turn.
pub const TURN: Key = Key::number(
    "turn",
    0.0,
    Domain::Whole(0, 600),
    "ticks of a turn; 0 for as many as the connections require",
)
.labelled(|value| some(value, "turn"));

/// Delay of inputs.
pub const DELAY: Key = Key::number(
    "delay",
    0.0,
    Domain::Whole(0, 600),
    "ticks from the end of a turn to its first tick; 0 for as many as the connections require",
)
.labelled(|value| some(value, "ahead"));

/// Ticks between two checks.
pub const CHECK_EVERY: Key = Key::number(
    "check_every",
    60.0,
    Domain::Whole(1, 9_000),
    "ticks between two comparisons of everyone's state",
);

/// The line the host has to everyone.
pub const UPLINK_KBPS: Key = Key::number(
    "uplink_kbps",
    0.0,
    Domain::Number(0.0, 1e9),
    "what everything the host sends shares, in kbit/s; 0 for 40,000 with the profile wan and 1,000,000 otherwise",
);

/// The time that a step takes on every machine.
pub const CPU_NS_PER_ENTITY: Key = Key::number(
    "cpu_ns_per_entity",
    MEASURED_CPU_NS_PER_ENTITY,
    Domain::Number(0.0, 1e6),
    "time each machine is busy for each entity after each step, in ns; default as measured",
);

/// Measured with the evaluation game's benchmark `step`, 16,000 entities on one core.
const MEASURED_CPU_NS_PER_ENTITY: f64 = 5.0;

/// How long a match lasts.
pub const SECONDS: Key = Key::number(
    "seconds",
    20.0,
    Domain::Whole(2, 3_600),
    "length of each match, in s",
);

/// The first seconds, which are not judged.
pub const SETTLING_S: Key = Key::number(
    "settling_s",
    2.0,
    Domain::Whole(0, 600),
    "first seconds of each match that are not judged",
);

/// Names a number of ticks after the key, unless it is 0.
pub fn some(value: &Value, name: &str) -> Option<String> {
    unless(0.0, value, |value| format!("{name}{value}"))
}

/// How a room under lockstep is made up.
pub const LOCKSTEP_ROOM: &[Key] = &[TOPOLOGY, link::PROFILE, PLAYERS, ENTITIES, TURN, DELAY];

/// The machines of a room, and how it is judged.
pub const MACHINES: &[Key] = &[UPLINK_KBPS, CPU_NS_PER_ENTITY, CHECK_EVERY, SETTLING_S];

/// The settings of the match that a case describes.
pub fn match_config(case: &Case) -> Result<MatchConfig, String> {
    let step_ns = case.number("cpu_ns_per_entity") * case.number("entities");
    Ok(MatchConfig {
        players: case.number("players") as u16,
        topology: topology(case),
        path: link::path(case)?,
        uplink_bps: uplink_bps(case),
        step_cost: Duration::from_nanos(step_ns as u64),
    })
}

/// The topology of a case.
pub fn topology(case: &Case) -> Topology {
    match case.text("topology") {
        "mesh" => Topology::Mesh,
        _ => Topology::Hosted,
    }
}

/// The settings of lockstep in a case.
pub fn lockstep_config(case: &Case) -> LockstepConfig {
    let length = |key: &str, otherwise: Length| match case.number(key) {
        0.0 => otherwise,
        ticks => Length::Fixed(ticks as u64),
    };
    let defaults = LockstepConfig::default();
    let check_every = case.number("check_every") as u64;
    LockstepConfig {
        turn: length("turn", defaults.turn),
        input_delay: length("delay", defaults.input_delay),
        desync_check_interval: check_every,
        keep: defaults.keep.max(4 * check_every),
        ..defaults
    }
}

/// The rate of the host's line in a case, in bit/s.
pub fn uplink_bps(case: &Case) -> u64 {
    let kbps = match (case.number("uplink_kbps"), case.text("link.profile")) {
        (0.0, "wan") => 40_000.0,
        (0.0, _) => 1_000_000.0,
        (kbps, _) => kbps,
    };
    (kbps * 1e3) as u64
}

/// The name of a case's network in the names of files.
pub fn network_name(case: &Case) -> &str {
    match case.text("link.profile") {
        "none" => "lan",
        profile => profile,
    }
}
