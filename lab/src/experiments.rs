//! The experiments, one per file.

mod block;
mod bottleneck;
mod churn;
mod clock;
mod delay_designs;
mod delivery;
mod event_time;
mod felt_delay;
mod fireball;
mod hidden;
mod hits;
mod host_cost;
mod hostile;
mod jitter;
mod join;
mod lockstep;
mod loss_latency;
mod matchmaking;
mod migration;
mod models;
mod ownership;
mod powerup;
mod prediction;
mod rawrlocks_bandwidth;
mod reaction;
mod rollback;
mod snapshot;
mod topology;
mod update_window;

use crate::experiment::Experiment;

/// Every experiment there is.
pub static EXPERIMENTS: [&Experiment; 35] = [
    &delivery::EXPERIMENT,
    &jitter::EXPERIMENT,
    &loss_latency::EXPERIMENT,
    &block::EXPERIMENT,
    &bottleneck::EXPERIMENT,
    &hostile::EXPERIMENT,
    &clock::EXPERIMENT,
    &topology::EXPERIMENT,
    &join::EXPERIMENT,
    &churn::EXPERIMENT,
    &migration::EXPERIMENT,
    &ownership::EXPERIMENT,
    &lockstep::limits::EXPERIMENT,
    &lockstep::conditions::EXPERIMENT,
    &lockstep::resync::EXPERIMENT,
    &lockstep::join::EXPERIMENT,
    &lockstep::scale::EXPERIMENT,
    &rollback::EXPERIMENT,
    &snapshot::limits::EXPERIMENT,
    &snapshot::conditions::EXPERIMENT,
    &snapshot::bandwidth::EXPERIMENT,
    &prediction::EXPERIMENT,
    &hits::EXPERIMENT,
    &models::EXPERIMENT,
    &felt_delay::EXPERIMENT,
    &fireball::EXPERIMENT,
    &powerup::EXPERIMENT,
    &event_time::EXPERIMENT,
    &delay_designs::EXPERIMENT,
    &rawrlocks_bandwidth::EXPERIMENT,
    &update_window::EXPERIMENT,
    &reaction::EXPERIMENT,
    &host_cost::EXPERIMENT,
    &hidden::EXPERIMENT,
    &matchmaking::EXPERIMENT,
];
