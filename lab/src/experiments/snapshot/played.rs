//! A match under an authority, and its measurements.

use std::time::Duration;

use samestep_sim::NodeId;
use samestep_sync::{Model, SentStats, Snapshot, SnapshotConfig, StateSync, StateSyncConfig};

use crate::display::{DisplayMatch, Seen, Viewer};
use crate::samples::{Counts, TimeSeries};
use crate::stats::Samples;
use crate::testmatch::{MatchConfig, OPENER, Playable, TICK, setup_of};

/// The settings of a match.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The room.
    pub room: MatchConfig,
    /// Clients whose pictures are looked at.
    pub drawing: usize,
    /// How much there is in the game.
    pub entities: usize,
    /// Length of the match.
    pub seconds: u32,
    /// The first part of it, which is not judged.
    pub settling: u32,
    /// The settings of the snapshots.
    pub snapshot: SnapshotConfig,
}

/// A model with an authority.
pub trait Authority: Model {
    /// The model with these settings of its snapshots and its own defaults.
    fn of(config: &SnapshotConfig) -> Result<Self, String>
    where
        Self: Sized;

    /// What the authority has sent so far.
    fn sent(&self) -> SentStats;
}

impl Authority for Snapshot {
    fn of(config: &SnapshotConfig) -> Result<Self, String> {
        Snapshot::new(config.clone()).map_err(|error| error.to_string())
    }

    fn sent(&self) -> SentStats {
        Snapshot::sent(self)
    }
}

impl Authority for StateSync {
    fn of(config: &SnapshotConfig) -> Result<Self, String> {
        let config = StateSyncConfig {
            snapshot: config.clone(),
            ..StateSyncConfig::default()
        };
        StateSync::new(config).map_err(|error| error.to_string())
    }

    fn sent(&self) -> SentStats {
        StateSync::sent(self)
    }
}

/// A match after settling.
pub struct Played {
    /// The comparison of pictures with the true states.
    pub seen: Seen,
    /// The counters of every client in each second.
    pub course: TimeSeries,
    /// Wire bytes a second to each client, and from it.
    pub down: Samples,
    pub up: Samples,
    /// Packets a second to each client.
    pub packets_down: Samples,
    /// Wire bytes to each client in its fullest second.
    pub fullest: Samples,
    /// Wire bits that one update of an entity takes, everything included; updates of an entity that does not move do not count.
    pub bits: f64,
    /// Bits of it that hold the entity's values.
    pub row_bits: f64,
    /// Wire bytes of one snapshot to one client.
    pub snapshot_bytes: f64,
    /// Share of the datagrams that the host's line could not take, in percent.
    pub line_lost: f64,
    /// Processor time in which the host simulates and encodes one snapshot for everyone, in ms.
    pub encode: Samples,
    /// All of the host's processor time for each tick, in ms.
    pub work: f64,
    /// Wire bytes a second that the host sends.
    pub host_up: f64,
}

/// Plays a match.
pub fn play<G: Playable, M: Authority + 'static>(
    setting: &Setting,
    seed: u64,
) -> Result<Played, String> {
    let players = setting.room.players;
    let setup = setup_of::<G>(players, setting.entities, seed);
    let (game, script) = (G::begin_measured(&setup)?, G::script(&setup)?);
    M::of(&setting.snapshot)?;
    let config = setting.snapshot.clone();
    let model = move || M::of(&config).expect("they were checked");
    let (config, drawing) = (setting.room.clone(), setting.drawing);
    let mut room = DisplayMatch::open(config, drawing, seed, game, script, model);
    room.begin(players.into())?;
    let mut course = TimeSeries::default();
    for second in 0..setting.settling {
        sample(&room, second, &mut course);
        room.play_until(seconds(second + 1))?;
    }
    let before = Totals::of(&room);
    for node in room.nodes() {
        room.with(node, |_, program| program.forget());
    }
    room.observer_mut().viewer = Some(Viewer::default());
    for second in setting.settling..setting.seconds {
        sample(&room, second, &mut course);
        room.play_until(seconds(second + 1))?;
    }
    sample(&room, setting.seconds, &mut course);
    if room.program(OPENER).status().stalled_ticks > 0 {
        return Err("the host fell behind its own schedule".into());
    }
    let viewer = room.observer_mut().viewer.take().unwrap_or_default();
    Ok(sum_up(setting, &room, before, course, viewer.finish()))
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

fn sample<G: Playable, M: Authority>(
    room: &DisplayMatch<G, M>,
    second: u32,
    course: &mut TimeSeries,
) {
    for node in room.nodes() {
        let counts = Counts {
            // Nothing that takes time prevents a picture here.
            views: room.elapsed().div_duration_f64(TICK) as u64,
            ..Counts::of(room.program(node).game().session())
        };
        course.take(u32::from(node.0), second, counts);
    }
}

/// The counters of everything sent so far.
struct Totals {
    up: Vec<u64>,
    sent: SentStats,
    line: (u64, u64),
}

impl Totals {
    fn of<G: Playable, M: Authority>(room: &DisplayMatch<G, M>) -> Totals {
        let up = |node: NodeId| room.traffic(node, OPENER).wire_bytes_sent();
        Totals {
            up: room.guests().map(up).collect(),
            sent: room.program(OPENER).game().model().sent(),
            line: room.uplink(),
        }
    }
}

fn sum_up<G: Playable, M: Authority>(
    setting: &Setting,
    room: &DisplayMatch<G, M>,
    before: Totals,
    course: TimeSeries,
    seen: Seen,
) -> Played {
    let length = f64::from((setting.seconds - setting.settling).max(1));
    let after = Totals::of(room);
    let logs: Vec<_> = room.guests().map(|node| room.packets_to(node)).collect();
    let clients = logs.len().max(1) as f64;
    let all: u64 = logs.iter().map(|log| log.bytes()).sum();
    let snapshots = length / TICK.as_secs_f64() / setting.snapshot.every as f64;
    let rows = (after.sent.rows - before.sent.rows) as f64;
    let moving = seen.movers.mean().unwrap_or_default();
    let updates = rows.min(moving * snapshots * clients).max(1.0);
    let row_bytes = (after.sent.row_bytes - before.sent.row_bytes) as f64;
    let [taken, lost] = [
        after.line.0 - before.line.0,
        after.line.1.saturating_sub(before.line.1),
    ];
    let work = room.program(OPENER).work();
    let up = after.up.iter().zip(&before.up);
    Played {
        down: (logs.iter().map(|l| l.bytes() as f64 / length)).collect(),
        up: up
            .map(|(after, before)| (after - before) as f64 / length)
            .collect(),
        packets_down: (logs.iter().map(|l| l.packets() as f64 / length)).collect(),
        fullest: (logs.iter())
            .map(|log| log.most_within(Duration::from_secs(1)) as f64)
            .collect(),
        bits: all as f64 * 8.0 / updates,
        row_bits: row_bytes * 8.0 / rows.max(1.0),
        snapshot_bytes: all as f64 / clients / snapshots,
        line_lost: lost as f64 / (taken as f64).max(1.0) * 100.0,
        encode: work
            .map(|work| work.longest_of(setting.snapshot.every as usize))
            .unwrap_or_default(),
        work: work.and_then(|work| work.per_tick()).unwrap_or_default(),
        host_up: all as f64 / length,
        seen,
        course,
    }
}

/// The samples of all repeats of a case, together.
pub fn together(played: &[&Played], of: impl Fn(&Played) -> Samples) -> Samples {
    Samples::together(played.iter().map(|played| of(played)))
}

/// The mean over the repeats of a case.
pub fn mean(played: &[&Played], of: impl Fn(&Played) -> f64) -> Option<f64> {
    let all: Samples = played.iter().map(|played| of(played)).collect();
    all.mean()
}

/// Pictures in which most of what moves stood still, in percent.
pub fn stalls(played: &[&Played]) -> Option<f64> {
    let sum = |of: fn(&Seen) -> u64| played.iter().map(|p| of(&p.seen)).sum::<u64>() as f64;
    let pictures = sum(|seen| seen.pictures);
    (pictures > 0.0).then(|| sum(|seen| seen.stalls) / pictures * 100.0)
}

/// How far what is shown is from what was true, 95th percentile: in units, and in percent of what things move in a second.
pub fn errors(played: &[&Played]) -> (Option<f64>, Option<f64>) {
    let errors = together(played, |played| played.seen.errors.clone());
    let speed = together(played, |played| played.seen.speeds.clone()).mean();
    let p95 = errors.sorted().percentile(95.0);
    (p95, p95.zip(speed).map(|(p95, speed)| p95 / speed * 100.0))
}

/// How long entities wait for an update, in s: 95th percentile, and the longest.
pub fn waits(played: &[&Played]) -> (Option<f64>, Option<f64>) {
    let mut all = crate::display::Waits::default();
    played
        .iter()
        .for_each(|played| all.append(&played.seen.waits));
    (all.percentile(95.0), all.longest())
}
