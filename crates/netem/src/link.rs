use crate::Rng;
use crate::config::{Effect, LinkConfig, LinkError};
use crate::delay::DelayProcess;
use crate::loss::LossProcess;
use std::ops::Deref;
use std::time::Duration;

/// What IPv4 and UDP add to each datagram on the wire; counted by the rate limit and nowhere else.
pub const IP_UDP_OVERHEAD_BYTES: usize = 28;

/// One direction of a path.
#[derive(Clone, Debug)]
pub struct Link {
    config: LinkConfig,
    /// The number of `config.changes` that have been applied.
    changes_done: usize,
    partitioned: bool,
    loss: LossProcess,
    delay: DelayProcess,
    luck: Rng,
    /// When the last datagram accepted will have left the rate queue.
    busy_until: Duration,
    /// The latest arrival so far of those that keep their order.
    last_arrival: Duration,
    stats: LinkStats,
}

impl Link {
    /// A link whose behaviour follows from `config` and `seed` alone.
    pub fn new(config: LinkConfig, seed: u64) -> Result<Link, LinkError> {
        config.check()?;
        Ok(Link {
            config,
            changes_done: 0,
            partitioned: false,
            loss: LossProcess::new(Rng::stream(seed, 1)),
            delay: DelayProcess::new(Rng::stream(seed, 2)),
            luck: Rng::stream(seed, 3),
            busy_until: Duration::ZERO,
            last_arrival: Duration::ZERO,
            stats: LinkStats::default(),
        })
    }

    /// Decides what becomes of a datagram of `bytes` handed over at `now`. `now` must not go back.
    pub fn send(&mut self, now: Duration, bytes: usize) -> Fate {
        self.apply_changes(now);
        self.stats.sent += 1;
        self.stats.bytes_sent += bytes as u64;
        if self.partitioned {
            self.stats.dropped_partition += 1;
            return Fate::dropped(DropCause::Partition);
        }
        if self.loss.loses(now, self.config.loss) {
            self.stats.dropped_loss += 1;
            return Fate::dropped(DropCause::Loss);
        }
        let mut queued = Duration::ZERO;
        let mut departure = now;
        if let Some(rate_bps) = self.config.rate_bps {
            queued = self.busy_until.saturating_sub(now);
            if queued > self.config.queue {
                self.stats.dropped_queue += 1;
                return Fate::dropped(DropCause::Queue);
            }
            let bits = (bytes + IP_UDP_OVERHEAD_BYTES) as u64 * 8;
            let transmission = Duration::from_nanos(bits.saturating_mul(1_000_000_000) / rate_bps);
            departure = now + queued + transmission;
            self.busy_until = departure;
            self.stats.queued_total += queued;
            self.stats.queued_max = self.stats.queued_max.max(queued);
        }
        let mut fate = Fate {
            arrivals: Arrivals::default(),
            queued,
            dropped: None,
            corrupt: None,
        };
        self.arrive(departure, bytes, &mut fate);
        fate
    }

    /// Replaces the settings. What is in the queue or on its way is not affected; the schedule of changes starts anew.
    pub fn set(&mut self, config: LinkConfig) -> Result<(), LinkError> {
        config.check()?;
        if config.loss != self.config.loss {
            self.loss.restart();
        }
        self.config = config;
        self.changes_done = 0;
        Ok(())
    }

    /// Begins or ends a partition now, beside any scheduled ones.
    pub fn set_partitioned(&mut self, partitioned: bool) {
        self.partitioned = partitioned;
    }

    /// The settings in force after the last datagram.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// The counters so far.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    fn apply_changes(&mut self, now: Duration) {
        while let Some(change) = self.config.changes.get_mut(self.changes_done) {
            if change.at > now {
                break;
            }
            self.changes_done += 1;
            // Taken out rather than copied; the spent entry is never looked at again.
            match std::mem::replace(&mut change.effect, Effect::PartitionEnd) {
                Effect::PartitionStart => self.partitioned = true,
                Effect::PartitionEnd => self.partitioned = false,
                Effect::Settings(settings) => {
                    let changes = std::mem::take(&mut self.config.changes);
                    if settings.loss != self.config.loss {
                        self.loss.restart();
                    }
                    self.config = LinkConfig {
                        changes,
                        ..*settings
                    };
                }
            }
        }
    }

    fn arrive(&mut self, departure: Duration, bytes: usize, fate: &mut Fate) {
        let mut arrival = departure + self.delay.delay(departure, &self.config);
        if self.config.keep_order {
            arrival = arrival.max(self.last_arrival);
        }
        let config = &self.config;
        if config.reorder > 0.0 && self.luck.chance(config.reorder) {
            arrival += config.reorder_by;
            self.stats.reordered += 1;
        } else {
            self.last_arrival = self.last_arrival.max(arrival);
        }
        fate.arrivals.push(arrival);
        if config.duplicate > 0.0 && self.luck.chance(config.duplicate) {
            let mut copy = departure + self.delay.delay(departure, config);
            if config.keep_order {
                copy = copy.max(arrival);
            }
            fate.arrivals.push(copy);
            self.stats.duplicated += 1;
        }
        if config.corrupt > 0.0 && self.luck.chance(config.corrupt) {
            fate.corrupt = Some(self.luck.next_u64());
            self.stats.corrupted += 1;
        }
        self.stats.delivered += fate.arrivals.len() as u64;
        self.stats.bytes_delivered += (fate.arrivals.len() * bytes) as u64;
    }
}

/// The fate of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When it arrives: not at all, once or twice. Not necessarily in order.
    pub arrivals: Arrivals,
    /// How long it waited for the rate before its own transmission began.
    pub queued: Duration,
    /// Why it does not arrive, if it does not.
    pub dropped: Option<DropCause>,
    /// If it arrives damaged, a number that says where; see [`Fate::damage`].
    pub corrupt: Option<u64>,
}

impl Fate {
    fn dropped(cause: DropCause) -> Fate {
        Fate {
            arrivals: Arrivals::default(),
            queued: Duration::ZERO,
            dropped: Some(cause),
            corrupt: None,
        }
    }

    /// Flips the bit that this fate says is flipped, if any.
    pub fn damage(&self, datagram: &mut [u8]) {
        if let Some(seed) = self.corrupt
            && !datagram.is_empty()
        {
            let bit = Rng::new(seed).range(0..datagram.len() as u64 * 8) as usize;
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// The arrival times of one datagram, up to two; a slice without allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    times: [Duration; 2],
    count: u8,
}

impl Arrivals {
    fn push(&mut self, at: Duration) {
        self.times[usize::from(self.count)] = at;
        self.count += 1;
    }
}

impl Deref for Arrivals {
    type Target = [Duration];

    fn deref(&self) -> &[Duration] {
        &self.times[..usize::from(self.count)]
    }
}

impl IntoIterator for Arrivals {
    type Item = Duration;
    type IntoIter = std::iter::Take<std::array::IntoIter<Duration, 2>>;

    fn into_iter(self) -> Self::IntoIter {
        self.times.into_iter().take(usize::from(self.count))
    }
}

/// Why a datagram did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Lost at random: [`Loss`](crate::Loss).
    Loss,
    /// The queue in front of the rate limit was full.
    Queue,
    /// The link was partitioned.
    Partition,
}

/// Counters of a link since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Datagrams handed to the link.
    pub sent: u64,
    /// Their bytes, without IP and UDP headers.
    pub bytes_sent: u64,
    /// Datagrams that arrive, copies counted.
    pub delivered: u64,
    /// Their bytes, without IP and UDP headers.
    pub bytes_delivered: u64,
    /// Datagrams lost at random.
    pub dropped_loss: u64,
    /// Datagrams dropped because the queue was full.
    pub dropped_queue: u64,
    /// Datagrams dropped in a partition.
    pub dropped_partition: u64,
    /// Datagrams delivered twice.
    pub duplicated: u64,
    /// Datagrams held back.
    pub reordered: u64,
    /// Datagrams delivered with a flipped bit.
    pub corrupted: u64,
    /// Time spent in the queue, summed over all datagrams that passed it.
    pub queued_total: Duration,
    /// Longest time one of them spent there.
    pub queued_max: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jitter, Loss, Path};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn fates(config: LinkConfig, interval: Duration, count: u32) -> (Vec<Fate>, LinkStats) {
        let mut link = Link::new(config, 99).unwrap();
        let fates = (0..count).map(|i| link.send(i * interval, 100)).collect();
        (fates, link.stats())
    }

    #[test]
    fn a_perfect_link_delivers_everything_at_once() {
        let (fates, stats) = fates(LinkConfig::default(), ms(1), 1000);
        for (i, fate) in fates.iter().enumerate() {
            assert_eq!(*fate.arrivals, [ms(i as u64)]);
            assert_eq!(
                (fate.queued, fate.dropped, fate.corrupt),
                (Duration::ZERO, None, None)
            );
        }
        assert_eq!(
            (stats.sent, stats.delivered, stats.bytes_delivered),
            (1000, 1000, 100_000)
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_fates() {
        let config = || {
            let mut config = LinkConfig::default();
            for (key, value) in [
                ("latency", "20"),
                ("jitter", "30"),
                ("jitter", "pareto"),
                ("loss", "10%"),
                ("burst", "40"),
                ("duplicate", "0.1"),
                ("reorder", "0.1"),
                ("corrupt", "0.1"),
                ("rate_kbps", "500"),
            ] {
                config.set(key, value).unwrap();
            }
            config
        };
        assert_eq!(fates(config(), ms(2), 5000), fates(config(), ms(2), 5000));
        let other = Link::new(config(), 100).map(|mut link| link.send(ms(0), 100));
        assert_ne!(other.unwrap(), fates(config(), ms(2), 1).0[0]);
    }

    #[test]
    fn losses_are_the_same_whatever_else_is_set() {
        let lossy = LinkConfig {
            loss: Loss::Bernoulli(0.2),
            ..LinkConfig::default()
        };
        let jittery = LinkConfig {
            jitter: Jitter {
                amount: ms(50),
                ..Jitter::default()
            },
            duplicate: 0.3,
            ..lossy.clone()
        };
        let lost = |config| {
            fates(config, ms(5), 2000)
                .0
                .iter()
                .map(|f| f.dropped)
                .collect::<Vec<_>>()
        };
        assert_eq!(lost(lossy), lost(jittery));
    }

    #[test]
    fn chances_are_kept() {
        let config = LinkConfig {
            latency: ms(10),
            duplicate: 0.5,
            reorder: 0.3,
            reorder_by: ms(7),
            corrupt: 0.01,
            ..LinkConfig::default()
        };
        let (fates, stats) = fates(config, ms(1), 100_000);
        assert!((49_000..51_000).contains(&stats.duplicated), "{stats:?}");
        assert!((29_200..30_800).contains(&stats.reordered), "{stats:?}");
        assert!((900..1_100).contains(&stats.corrupted), "{stats:?}");
        let late = |(i, fate): (usize, &Fate)| fate.arrivals[0] == ms(i as u64 + 17);
        assert_eq!(
            fates.iter().enumerate().filter(|pair| late(*pair)).count() as u64,
            stats.reordered
        );
        assert_eq!(stats.delivered, 100_000 + stats.duplicated);
    }

    #[test]
    fn damage_flips_exactly_one_bit() {
        let config = LinkConfig {
            corrupt: 1.0,
            ..LinkConfig::default()
        };
        let mut flipped = [0u32; 32];
        for fate in fates(config, ms(1), 3200).0 {
            let mut datagram = [0u8; 4];
            fate.damage(&mut datagram);
            let bits = u32::from_le_bytes(datagram);
            assert_eq!(bits.count_ones(), 1);
            flipped[bits.trailing_zeros() as usize] += 1;
            fate.damage(&mut []);
        }
        assert!(flipped.iter().all(|n| (60..140).contains(n)), "{flipped:?}");
    }

    #[test]
    fn jitter_reorders_unless_order_is_kept() {
        let backwards = |keep_order| {
            let config = LinkConfig {
                jitter: Jitter {
                    amount: ms(50),
                    ..Jitter::default()
                },
                duplicate: 0.2,
                keep_order,
                ..LinkConfig::default()
            };
            let (fates, _) = fates(config, ms(10), 1000);
            fates
                .windows(2)
                .filter(|w| w[1].arrivals[0] < w[0].arrivals[0])
                .count()
        };
        assert!(backwards(false) > 100);
        assert_eq!(backwards(true), 0);
    }

    #[test]
    fn the_rate_is_exact_and_counts_headers() {
        // 97 bytes and 28 of headers are 1000 bits: 1 ms each at 1 Mbit/s.
        let config = LinkConfig {
            latency: ms(10),
            rate_bps: Some(1_000_000),
            queue: ms(5),
            ..LinkConfig::default()
        };
        let mut link = Link::new(config, 1).unwrap();
        for i in 0..6 {
            let fate = link.send(ms(0), 97);
            assert_eq!(fate.queued, ms(i));
            assert_eq!(*fate.arrivals, [ms(i + 1 + 10)]);
        }
        let fate = link.send(ms(0), 97);
        assert_eq!(
            (fate.dropped, fate.arrivals.len()),
            (Some(DropCause::Queue), 0)
        );
        assert_eq!(
            link.send(ms(1), 97).queued,
            ms(5),
            "one has left: there is room again"
        );
        assert_eq!(
            link.send(ms(100), 97).queued,
            ms(0),
            "an idle link saves nothing up"
        );
        let stats = link.stats();
        assert_eq!((stats.dropped_queue, stats.queued_max), (1, ms(5)));
    }

    #[test]
    fn twice_the_rate_fills_the_queue_and_loses_half() {
        let config = LinkConfig {
            rate_bps: Some(1_000_000),
            queue: ms(500),
            ..LinkConfig::default()
        };
        let mut link = Link::new(config, 1).unwrap();
        let fates: Vec<Fate> = (0..20_000)
            .map(|i| link.send(Duration::from_micros(500) * i, 97))
            .collect();
        let lost = fates[10_000..]
            .iter()
            .filter(|f| f.dropped.is_some())
            .count();
        assert!((4_900..5_100).contains(&lost), "{lost}");
        assert!(
            fates[10_000..]
                .iter()
                .all(|f| f.dropped.is_some() || f.queued > ms(498))
        );
    }

    #[test]
    fn changes_happen_at_their_time() {
        let slow = LinkConfig {
            latency: ms(80),
            ..LinkConfig::default()
        };
        let config = LinkConfig {
            latency: ms(10),
            ..LinkConfig::default()
        }
        .partition(ms(100), ms(200))
        .then(ms(300), slow);
        let mut link = Link::new(config, 1).unwrap();
        assert_eq!(*link.send(ms(99), 10).arrivals, [ms(109)]);
        assert_eq!(link.send(ms(100), 10).dropped, Some(DropCause::Partition));
        assert_eq!(link.send(ms(199), 10).dropped, Some(DropCause::Partition));
        assert_eq!(*link.send(ms(200), 10).arrivals, [ms(210)]);
        assert_eq!(*link.send(ms(300), 10).arrivals, [ms(380)]);
        assert_eq!(link.stats().dropped_partition, 2);

        link.set(LinkConfig::default().partition(ms(500), ms(600)))
            .unwrap();
        assert_eq!(*link.send(ms(400), 10).arrivals, [ms(400)]);
        assert_eq!(link.send(ms(550), 10).dropped, Some(DropCause::Partition));
        link.set_partitioned(false);
        assert_eq!(link.send(ms(551), 10).dropped, None);
        assert!(
            link.set(LinkConfig {
                reorder: 2.0,
                ..LinkConfig::default()
            })
            .is_err()
        );
    }

    #[test]
    fn the_two_directions_of_a_path_are_independent() {
        let mut path = Path::default();
        path.set("loss", "0.5").unwrap();
        let (mut up, mut down) = path.links(8).unwrap();
        let differ = (0..200)
            .filter(|i| up.send(ms(*i), 1).dropped != down.send(ms(*i), 1).dropped)
            .count();
        assert!((60..140).contains(&differ), "{differ}");
    }
}
