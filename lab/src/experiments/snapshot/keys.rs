//! The keys of the snapshot experiments, beside those of all matches.

use samestep_sync::SnapshotConfig;

use super::played::Setting;
use crate::error::LabError;
use crate::experiment::RunContext;
use crate::link;
use crate::parameters::{Case, Domain, Key};
use crate::samples::{self, TimeSeries};
use crate::testmatch::{
    ENTITIES, MatchConfig, PLAYERS, SECONDS, SETTLING_S, UPLINK_KBPS, uplink_bps,
};

/// The interval of snapshots.
pub const EVERY: Key = Key::number(
    "every",
    3.0,
    Domain::Whole(1, 600),
    "ticks between two snapshots; there are 60 ticks a second",
);

/// The budget for each client.
pub const BUDGET_KBPS: Key = Key::number(
    "budget_kbps",
    0.0,
    Domain::Number(0.0, 1e6),
    "what the host may send to each client, in kbit/s, all headers included; 0 for what the connection carries",
)
.labelled(|value| Some(format!("{value}kbps")).filter(|label| label != "0kbps"));

/// How many clients draw.
pub const DRAWING: Key = Key::number(
    "drawing",
    2.0,
    Domain::Whole(0, 1_000),
    "clients whose pictures are compared with what is true, 60 times a second",
);

/// The make-up of a match with snapshots.
pub const MATCH: &[Key] = &[link::PROFILE, PLAYERS, ENTITIES, EVERY, BUDGET_KBPS];

/// How it is judged.
pub const JUDGED: &[Key] = &[UPLINK_KBPS, DRAWING, SETTLING_S, SECONDS, link::REPEATS];

/// The match that a case describes.
pub fn setting(case: &Case) -> Result<Setting, String> {
    let defaults = SnapshotConfig::default();
    let budget_kbps = case.number("budget_kbps");
    Ok(Setting {
        room: MatchConfig::hosted(
            case.number("players") as u16,
            link::path(case)?,
            uplink_bps(case),
        ),
        drawing: case.number("drawing") as usize,
        entities: case.number("entities") as usize,
        seconds: case.number("seconds") as u32,
        settling: case.number("settling_s") as u32,
        snapshot: SnapshotConfig {
            every: case.number("every") as u64,
            budget: (budget_kbps > 0.0).then_some((budget_kbps * 1e3) as u32),
            ..defaults
        },
    })
}

/// Writes the samples of a case's first repeat under the name that the published scheme gives it.
pub fn write(
    context: &RunContext,
    case: &Case,
    course: Option<&TimeSeries>,
) -> Result<(), LabError> {
    let name = samples::name("sl", case, &link::bad_suffix(case));
    course.map_or(Ok(()), |course| course.write(context, &name))
}
