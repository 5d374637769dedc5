//! One state is made to differ: is it found, repaired, and do the others notice?

use std::time::Duration;

use samestep_session::PeerId;
use samestep_sim::NodeId;
use samestep_sync::Tick;

use super::{OTHERS_PAUSE_TURNS, longest_pause, write};
use crate::deterministic::{DeterministicConfig, DeterministicMatch};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, plain};
use crate::plot::{Data, Plot};
use crate::samples::TimeSeries;
use crate::stats::Samples;
use crate::testmatch::{DELAY, ENTITIES, MACHINES, Notice, OPENER, PLAYERS, TOPOLOGY, TURN};

/// A state changed behind the rules' back.
pub static EXPERIMENT: Experiment = Experiment::new("lockstep-resync", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        TOPOLOGY,
        link::PROFILE,
        PLAYERS,
        ENTITIES,
        Key::text(
            "fault",
            "one-entity",
            Domain::Choice(&["one-entity", "every-entity"]),
            "what is changed on one player's machine: the colour of one entity, or the position of every entity",
        )
        .labelled(plain),
        TURN,
        DELAY,
    ],
    link::WITH_LOSS,
    link::FURTHER,
    MACHINES,
    &[link::REPEATS],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "repaired",
        "",
        "share of the repeats in which the state was the same again within 20 s and stayed so; of theirs 0 where it never was",
    ),
    Metric::new(
        "found_checks",
        "",
        "checks from the fault to the one that found it, most of the repeats",
    ),
    Metric::new("found", "s", "from the fault until it was known, longest"),
    Metric::new(
        "repair",
        "s",
        "from then until the state was the same again, longest",
    ),
    OTHERS_PAUSE_TURNS,
    Metric::new("others_pause", "ms", "the same time"),
    Metric::new(
        "others_lagged",
        "",
        "ticks in which another simulation could not go on meanwhile, all together",
    ),
    Metric::new(
        "named",
        "",
        "share of the repeats in which the report names the entity and the field that were changed",
    ),
    Metric::new(
        "repair_bytes",
        "kB",
        "parts of the state that were transferred, mean of the repeats",
    ),
    Metric::new(
        "entity_bytes",
        "B",
        "what one entity costs when the whole state is transferred, exactly",
    ),
];

/// How long a repair may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it has to last.
const AFTER: Duration = Duration::from_secs(3);

struct Measured {
    course: TimeSeries,
    found_checks: f64,
    found: Duration,
    repair: Option<Duration>,
    pause: Duration,
    pause_turns: f64,
    others_lagged: f64,
    named: bool,
    repair_bytes: f64,
    entity_bytes: f64,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    let (mut groups, mut bars) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (case, repeats) in &measured {
        let all = |of: &dyn Fn(&Measured) -> f64| repeats.iter().map(of).collect::<Samples>();
        let seconds = |time: Duration| time.as_secs_f64();
        let given_up = PATIENCE.as_secs_f64();
        let figures = [
            all(&|m| f64::from(u8::from(m.repair.is_some()))).mean(),
            all(&|m| m.found_checks).max(),
            all(&|m| seconds(m.found)).max(),
            all(&|m| m.repair.map_or(given_up, seconds)).max(),
            all(&|m| m.pause_turns).max(),
            all(&|m| seconds(m.pause) * 1e3).max(),
            all(&|m| m.others_lagged).max(),
            all(&|m| f64::from(u8::from(m.named))).mean(),
            all(&|m| m.repair_bytes / 1e3).mean(),
            all(&|m| m.entity_bytes).max(),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        let first = repeats.first().map(|m| &m.course);
        let suffix = format!("resync-{}", case.text("fault"));
        write(context, case, &suffix, first)?;
        groups.push(case.name.replace('/', " "));
        bars[0].push(figures[2]);
        bars[1].push(figures[3]);
    }
    let names = ["found", "repaired"].map(String::from);
    findings.plots.push(Plot::new(
        "repair",
        "A state that differs: until the check that finds it, and from there until it is repaired",
        ["", "seconds, at most"],
        Data::Bars(groups, names.into_iter().zip(bars).collect()),
    ));
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let config = DeterministicConfig::of(case)?;
    let (players, check_every) = (config.setup.players, config.lockstep.desync_check_interval);
    let entities = config.entities as f64;
    let mut room: DeterministicMatch = DeterministicMatch::open(config, seed)?;
    room.begin(usize::from(players))?;
    room.play_until(case.seconds("settling_s"))?;
    room.check_equal()?;

    let victim = NodeId(players / 2);
    let peer = room.program(victim).peer();
    let fault = (room.elapsed(), room.program(victim).status().tick);
    let everything = case.text("fault") == "every-entity";
    for node in [OPENER, victim] {
        room.with(node, |_, program| program.keep_positions());
    }
    let (entity, field) = room.with(victim, |_, program| program.damage(everything));
    let lagged_before = lagged_by_others(&room, victim);
    for node in 0..players {
        room.with(NodeId(node), |now, program| program.forget_pauses(now));
    }
    let mut repaired = None;
    while repaired.is_none() && room.elapsed() < fault.0 + PATIENCE {
        let next = room.elapsed() + Duration::from_millis(100);
        room.play_until(next)?;
        repaired = room
            .notices()
            .iter()
            .find_map(|(at, _, notice)| match notice {
                Notice::Repaired { peer: of, bytes } if Some(*of) == peer => Some((*at, *bytes)),
                _ => None,
            });
    }
    // What was looked at before was simulated with the wrong state.
    let right_from = room.program(victim).status().tick;
    let found = reports(&room, peer).next();
    let (found_at, found_tick) = found.ok_or("the fault was not found")?;
    let (pause, pause_turns) = longest_pause(&room, victim);
    let others_lagged = lagged_by_others(&room, victim) - lagged_before;
    let end = room.elapsed() + AFTER;
    room.play_until(end)?;
    let wrong = |(node, tick): &(NodeId, Tick)| *node != victim || *tick > right_from;
    let stayed_so = !room.differing().iter().any(wrong);
    let named = room.notices().iter().any(|(_, _, notice)| match notice {
        Notice::Desync(report) => report.difference.as_ref().is_some_and(|difference| {
            // An entity that has arrived where it goes is displaced no more.
            let displaced = || {
                room.program(OPENER)
                    .first_displaced(room.program(victim), report.tick)
            };
            let is_right = entity
                .or_else(displaced)
                .is_some_and(|right| difference.entity == Some(right));
            is_right && difference.field.starts_with(field)
        }),
        _ => false,
    });
    let checkpoint = room.with(OPENER, |_, program| program.state_bytes()) as f64;
    Ok(Measured {
        course: room.course().clone(),
        found_checks: (found_tick.since(fault.1) as f64 / check_every as f64).ceil(),
        found: found_at.saturating_sub(fault.0),
        repair: repaired
            .filter(|_| stayed_so)
            .map(|(at, _)| at.saturating_sub(found_at)),
        pause,
        pause_turns,
        others_lagged,
        named,
        repair_bytes: repaired.map_or(0.0, |(_, bytes)| bytes as f64),
        entity_bytes: checkpoint / entities,
    })
}

/// When a peer's state was found to differ, and by which check.
fn reports(
    room: &DeterministicMatch,
    peer: Option<PeerId>,
) -> impl Iterator<Item = (Duration, Tick)> {
    room.notices()
        .iter()
        .filter_map(move |(at, _, notice)| match notice {
            Notice::Desync(report) if Some(report.peer) == peer => Some((*at, report.tick)),
            _ => None,
        })
}

fn lagged_by_others(room: &DeterministicMatch, victim: NodeId) -> f64 {
    let others = room.programs().filter(|(node, _)| *node != victim);
    others
        .map(|(_, program)| program.status().stalled_ticks as f64)
        .sum()
}
