//! The synchronisation service of the thesis, as far as it says what happens: a variable is at its owner for good. Requests go there over TCP, the owner applies them and
//! sends the result to everyone, and the requester is told by that.

use std::time::Duration;

use samestep_netem::{Loss, Rng};
use samestep_sim::{Owners, OwnersOutcome, Vanishing};

/// The first retransmission timeout of TCP on common systems; it doubles.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// How long everyone asks before the owner vanishes, and after.
const BEFORE: Duration = Duration::from_secs(2);
const AFTER: Duration = Duration::from_secs(8);

/// A TCP connection from one member to another.
#[derive(Clone, Default)]
struct Stream {
    /// When the last message arrived: none overtakes another.
    last: Duration,
    /// A message that never arrives holds up all that follow.
    is_stuck: bool,
}

struct Network<'a> {
    owners: &'a Owners,
    rng: Rng,
    loss: f64,
}

impl Network<'_> {
    /// When a message arrives that is sent at `at`. After `end` its sender sends nothing again.
    fn arrival(
        &mut self,
        stream: &mut Stream,
        at: Duration,
        end: Option<Duration>,
    ) -> Option<Duration> {
        let (mut sent, mut timeout) = (at, RETRANSMISSION);
        while self.rng.chance(self.loss) {
            sent += timeout;
            timeout *= 2;
        }
        stream.is_stuck |= end.is_some_and(|end| sent > end);
        if stream.is_stuck {
            return None;
        }
        stream.last = stream.last.max(sent + self.owners.link.latency);
        Some(stream.last)
    }
}

/// Runs the room of a seed.
pub(super) fn run(owners: &Owners, seed: u64) -> OwnersOutcome {
    let loss = match owners.link.loss {
        Loss::None => 0.0,
        Loss::Bernoulli(rate) | Loss::Burst { rate, .. } => rate,
    };
    let mut network = Network {
        owners,
        rng: Rng::stream(seed, 12),
        loss,
    };
    // What an owner that leaves has written is still sent by its system; who crashes or is cut off sends nothing again.
    let end = (owners.vanishing != Vanishing::Leaves).then_some(BEFORE);
    let survivors = owners.peers - 1;
    let mut to_owner = vec![Stream::default(); survivors];
    let mut of_owner = vec![Stream::default(); survivors];

    // Requests: when they are made, and by whom. The owner is the last.
    let mut requests = Vec::new();
    let mut at = Duration::ZERO;
    while at < BEFORE + AFTER {
        let pause = owners.pause.as_secs_f64() / owners.peers as f64 / 0.6;
        at += Duration::from_secs_f64(pause * network.rng.exponential());
        let by = network.rng.range(0..owners.peers as u64) as usize;
        requests.push((at, by));
    }
    let mut outcome = OwnersOutcome {
        owners: (0, 0),
        ..OwnersOutcome::default()
    };
    let mut ordered = Vec::new();
    for (at, by) in requests {
        match by < survivors {
            true => match network.arrival(&mut to_owner[by], at, None) {
                Some(there) if there <= BEFORE => ordered.push((there, at, by)),
                _ => outcome.unanswered += 1,
            },
            false if at <= BEFORE => ordered.push((at, at, by)),
            false => {}
        }
    }
    ordered.sort();
    let mut differs = false;
    for (there, at, by) in ordered {
        let mut told = None;
        let mut missing = 0;
        for (survivor, stream) in of_owner.iter_mut().enumerate() {
            match network.arrival(stream, there, end) {
                Some(heard) if survivor == by => told = Some(heard),
                Some(_) => {}
                None => missing += 1,
            }
        }
        // The owner knows of its own at once.
        told = told.or((by == survivors).then_some(there));
        differs |= missing > 0 && missing < survivors;
        match told {
            Some(told) => {
                outcome.made += 1;
                outcome.lost += u64::from(missing > 0);
                outcome.took.push(told - at);
            }
            None => outcome.unanswered += 1,
        }
    }
    if differs {
        outcome.broken.push("survivors differ".into());
    }
    outcome
}
