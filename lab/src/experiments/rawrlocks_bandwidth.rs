//! Rawrlocks bandwidth: what bots that play it in a mesh send to each other, second by second.

use std::time::Duration;

use samestep_catalog::rawrlocks::{Bot, Controls, Rawrlocks, RawrlocksConfig, RawrlocksEvent};
use samestep_netem::IP_UDP_OVERHEAD_BYTES;
use samestep_playable::{Level, Playable, Setup};
use samestep_sim::NodeId;
use samestep_sync::EventStage;

use super::prediction::SETTLING_S;
use crate::delay_room::{DelayRoom, DelayRoomConfig};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, unless};
use crate::plot::{Data, Line, Plot, add_point};
use crate::stats::Samples;
use crate::testmatch::{SECONDS, TICK};

/// Bots play in a mesh, and everything they send is counted.
pub static EXPERIMENT: Experiment = Experiment::new("rawrlocks-bandwidth", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        Key::number(
            "players",
            5.0,
            Domain::Whole(2, 10),
            "players, one to a program",
        )
        .labelled(|value| Some(format!("{value}p"))),
        Key::number(
            "packets_per_second",
            0.0,
            Domain::Whole(0, 240),
            "the maximum of packets a second that repeat inputs; 0 for the default",
        )
        .labelled(|value| unless(0.0, value, |rate| format!("{rate}hz"))),
        link::PROFILE,
        link::LATENCY_MS,
    ],
    &[
        link::JITTER_MS.labelled(link::some_jitter_label),
        link::JITTER,
        link::LOSS.labelled(link::some_percent_label),
    ],
    link::FURTHER,
    &[SECONDS, SETTLING_S, link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "mean",
        "kbit/s",
        "what a peer sends to each other, IP and UDP headers included, mean",
    ),
    Metric::new("peak", "kbit/s", "the same in the busiest second of a peer"),
    Metric::new(
        "peer_mean",
        "kbit/s",
        "what a peer sends to all others, mean",
    ),
    Metric::new("peer_peak", "kbit/s", "the same in the busiest second"),
    Metric::new("packets", "/s", "packets from a peer to another, mean"),
    Metric::new("packet", "B", "length of one, headers included, mean"),
    Metric::new(
        "actions",
        "/s",
        "changes of direction and abilities used by each player, mean",
    ),
];

/// The bytes of the published packet, encryption not among them.
const THEIR_PACKET_BYTES: usize = 20;
/// How often it is sent when nothing happens.
const THEIR_PACKETS_PER_SECOND: f64 = 20.0;

/// What was measured in one room.
#[derive(Default)]
struct Measured {
    /// What each peer sent in each second to each other, by the mean of those, in kbit/s.
    seconds: Samples,
    packets: u64,
    bytes: u64,
    /// Seconds of all peers to all others.
    link_seconds: f64,
    /// The same counts of the published design.
    their_seconds: Samples,
    actions: u64,
    player_seconds: f64,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    let mut lines: Vec<Line> = Vec::new();
    for (case, repeats) in &measured {
        let (ours, theirs) = (figures(case, repeats), their_figures(case, repeats));
        findings.add(&case.name, METRICS, &theirs, &ours);
        let players = case.number("players");
        for (index, name) in [(2, "mean"), (3, "busiest second")] {
            for (whose, figures) in [("ours", &ours), ("theirs", &theirs)] {
                if let Some(rate) = figures[index]
                    && case.number("link.loss") == 0.0
                {
                    add_point(&mut lines, format!("{whose}, {name}"), (players, rate));
                }
            }
            let metric = METRICS[index].name;
            if let Some(rate) = context.published(case, metric) {
                add_point(&mut lines, format!("published, {name}"), (players, rate));
            }
        }
    }
    findings.retain_measured();
    let plot = Plot::new(
        "by-players",
        "What a peer sends, by the number of players",
        ["players", "kbit/s"],
        Data::Lines(lines),
    );
    findings.plots.extend(Some(plot).filter(Plot::has_lines));
    Ok(findings)
}

/// In the order of the metrics.
fn figures(case: &Case, repeats: &[Measured]) -> Vec<Option<f64>> {
    let sum = |of: fn(&Measured) -> f64| repeats.iter().map(of).sum::<f64>();
    let others = case.number("players") - 1.0;
    let seconds = Samples::together(repeats.iter().map(|it| &it.seconds));
    let packets = sum(|it| it.packets as f64);
    let (mean, peak) = (seconds.mean(), seconds.max());
    vec![
        mean,
        peak,
        mean.map(|rate| rate * others),
        peak.map(|rate| rate * others),
        Some(packets / sum(|it| it.link_seconds)),
        Some(sum(|it| it.bytes as f64) / packets),
        Some(sum(|it| it.actions as f64) / sum(|it| it.player_seconds)),
    ]
}

fn their_figures(case: &Case, repeats: &[Measured]) -> Vec<Option<f64>> {
    let others = case.number("players") - 1.0;
    let seconds = Samples::together(repeats.iter().map(|it| &it.their_seconds));
    let (mean, peak) = (seconds.mean(), seconds.max());
    let packet = (THEIR_PACKET_BYTES + IP_UDP_OVERHEAD_BYTES) as f64;
    vec![
        mean,
        peak,
        mean.map(|rate| rate * others),
        peak.map(|rate| rate * others),
        mean.map(|rate| rate * 1e3 / 8.0 / packet),
        Some(packet),
    ]
}

/// A player who is a bot, and what it has done.
struct Player {
    node: NodeId,
    bot: Bot,
    held: Controls,
    /// Changes of direction and abilities used in this second.
    actions: u64,
    /// Hits in this second.
    hits: u64,
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let players = case.number("players") as u16;
    let setup = Setup {
        players,
        size: None,
        seed,
    };
    let game = Rawrlocks::new(&RawrlocksConfig::for_players(seed, players));
    let mut config = DelayRoomConfig::new(players, &link::path(case)?.up, seed);
    match case.number("packets_per_second") as u32 {
        0 => {}
        rate => config.model.packets_per_second = rate,
    }
    let game = game.map_err(|error| error.to_string())?;
    let mut room = DelayRoom::open(&config, &game, |_| ())?;
    let nodes: Vec<NodeId> = room.nodes().collect();
    let bot = |node: &NodeId| Player {
        node: *node,
        bot: Rawrlocks::bot_at(&setup, room.player(*node), Level::Easy),
        held: Controls::default(),
        actions: 0,
        hits: 0,
    };
    let mut bots: Vec<Player> = nodes.iter().map(bot).collect();
    let others = f64::from(players - 1);
    let (settling, length) = (case.number("settling_s"), case.number("seconds"));
    let start = room.now();
    let mut before: Vec<(u64, u64)> = Vec::new();
    let mut measured = Measured::default();
    for second in 0..length as u32 {
        let is_settled = f64::from(second) >= settling;
        let lived = bots.iter().map(|bot| lives(&room, bot.node));
        let lived: Vec<bool> = lived.collect();
        play_second(&mut room, &mut bots, start, second)?;
        let after: Vec<(u64, u64)> = nodes.iter().map(|node| room.sent(*node)).collect();
        for (at, (before, after)) in before.iter().zip(&after).enumerate() {
            let (packets, bytes) = (after.0 - before.0, after.1 - before.1);
            let (actions, hits) = (bots[at].actions, bots[at].hits);
            if is_settled && lived[at] && lives(&room, nodes[at]) {
                measured.seconds.push(bytes as f64 * 8e-3 / others);
                measured.bytes += bytes;
                measured.packets += packets;
                measured.link_seconds += others;
                let theirs = THEIR_PACKETS_PER_SECOND + (actions + hits) as f64;
                let packet = (THEIR_PACKET_BYTES + IP_UDP_OVERHEAD_BYTES) as f64;
                measured.their_seconds.push(theirs * packet * 8e-3);
                measured.actions += actions;
                measured.player_seconds += 1.0;
            }
        }
        before = after;
        for bot in &mut bots {
            bot.actions = 0;
        }
    }
    Ok(measured)
}

/// Whether a program's player lives, as far as it knows.
fn lives(room: &DelayRoom<Rawrlocks, ()>, node: NodeId) -> bool {
    let state = room.program(node).game().world().state();
    let avatar = state.avatar_of(room.player(node));
    avatar.is_some_and(|avatar| avatar.is_alive())
}

/// Everyone plays for a second: in every tick one after the other, by what they see.
fn play_second(
    room: &mut DelayRoom<Rawrlocks, ()>,
    bots: &mut [Player],
    start: Duration,
    second: u32,
) -> Result<(), String> {
    let count = bots.len() as f64;
    for tick in 60 * second..60 * (second + 1) {
        for (at, player) in bots.iter_mut().enumerate() {
            let due = start + TICK * tick + TICK.mul_f64(at as f64 / count);
            room.run_until(due)?;
            let world = room.program(player.node).game().world();
            let decided = world.state().decide(&mut player.bot, world.tick());
            if let Some(controls) = decided {
                let is_action = controls.walk != player.held.walk || controls.cast.is_some();
                player.actions += u64::from(is_action);
                player.held = controls;
                room.give(player.node, &controls)?;
            }
        }
    }
    for player in bots {
        let id = room.player(player.node);
        let is_own_hit =
            |event: &RawrlocksEvent| matches!(event, RawrlocksEvent::Hit { by, .. } if *by == id);
        let seen = room.take_seen(player.node).into_iter();
        let confirmed = seen.filter(|(_, seen)| seen.stage == EventStage::Confirmed);
        player.hits = confirmed
            .filter(|(_, seen)| is_own_hit(&seen.event))
            .count() as u64;
    }
    Ok(())
}
