//! The delay of a path through a host, whatever model runs over it: the reference for a command's delay.

use std::time::Duration;

use samestep_netem::{Link, LinkConfig, LinkError};

use crate::experiment::seed_of;
use crate::stats::Samples;

/// Probes from each client through the host to the next client, over links of their own with the same settings: one packet per
/// tick on each hop, the host's at its own ticks. The next packet repeats what a lost one carried, and nothing else is
/// done against loss or jitter.
pub struct Probes {
    /// The link of every hop.
    pub link: LinkConfig,
    /// How many clients.
    pub clients: u32,
    /// Time between two packets of a hop.
    pub tick: Duration,
    /// How long probes are sent.
    pub length: Duration,
}

impl Probes {
    /// Time in ms from each probe's first sending at its client to its arrival at the other.
    pub fn run(&self, seed: u64) -> Result<Samples, LinkError> {
        let ticks = (self.length.as_nanos() / self.tick.as_nanos()) as u32;
        // Hops go on for longer than what is measured, so that the last probes arrive too.
        let rest = 600 + (Duration::from_secs(2).as_nanos() / self.tick.as_nanos()) as u32;
        let mut samples = Samples::new();
        for client in 0..self.clients {
            let up = self.hop(seed_of(seed, u64::from(client) * 2), ticks + rest)?;
            let down = self.hop(seed_of(seed, u64::from(client) * 2 + 1), ticks + rest)?;
            // Ticks of clients begin at other times than the host's.
            let phase = self.tick * client / self.clients;
            for tick in 0..ticks {
                let sent = self.tick * tick + phase;
                let Some(at_host) = up[tick as usize] else {
                    continue;
                };
                let leaves = (at_host + phase).as_nanos().div_ceil(self.tick.as_nanos());
                let Some(Some(arrived)) = down.get(leaves as usize) else {
                    continue;
                };
                samples.push((*arrived - sent).as_secs_f64() * 1e3);
            }
        }
        Ok(samples)
    }

    /// When what is sent in each tick has arrived, by the first packet from then on that is not lost; packets leave at whole ticks.
    fn hop(&self, seed: u64, ticks: u32) -> Result<Vec<Option<Duration>>, LinkError> {
        const BYTES: usize = 100;
        let mut link = Link::new(self.link.clone(), seed)?;
        let fates = (0..ticks).map(|tick| link.send(self.tick * tick, BYTES));
        let mut arrivals: Vec<Option<Duration>> = fates
            .map(|fate| fate.arrivals.iter().min().copied())
            .collect();
        for tick in (1..arrivals.len()).rev() {
            if arrivals[tick - 1].is_none() {
                arrivals[tick - 1] = arrivals[tick];
            }
        }
        Ok(arrivals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_netem::Loss;

    fn probes(loss: f64) -> Samples {
        let probes = Probes {
            link: LinkConfig {
                latency: Duration::from_millis(200),
                loss: Loss::Bernoulli(loss),
                ..LinkConfig::default()
            },
            clients: 10,
            tick: Duration::from_secs(1) / 60,
            length: Duration::from_secs(20),
        };
        probes.run(3).unwrap()
    }

    #[test]
    fn without_loss_a_path_takes_both_ways_and_the_wait_for_the_hosts_tick() {
        let times = probes(0.0);
        assert_eq!(times.len(), 12_000);
        let (low, high) = (times.min().unwrap(), times.max().unwrap());
        assert!(
            low >= 400.0 && high <= 400.0 + 1000.0 / 60.0,
            "{low} {high}"
        );
    }

    #[test]
    fn what_is_lost_goes_with_the_next_packet() {
        let (lossy, perfect) = (probes(0.1).sorted(), probes(0.0).sorted());
        let tick = 1000.0 / 60.0;
        let more =
            |percent| lossy.percentile(percent).unwrap() - perfect.percentile(percent).unwrap();
        assert!(more(50.0) < tick, "{}", more(50.0));
        assert!((tick..4.0 * tick).contains(&more(99.0)), "{}", more(99.0));
    }
}
