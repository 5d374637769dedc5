//! The shots of one player, and when its pictures show what came of them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::stats::Samples;

/// Looks at what one player is shown of its own shots.
#[derive(Clone, Debug, Default)]
pub struct VerdictLog {
    /// The shots so far, the others among them that are not judged.
    given: u16,
    /// When the shots were given that no picture shows decided, and which of all they were.
    awaited: VecDeque<(Duration, u16)>,
    /// From the shot to the picture, in ms.
    delays: Samples,
}

impl VerdictLog {
    /// The player shoots; whether that is judged.
    pub fn expect(&mut self, at: Duration, judged: bool) {
        self.given += 1;
        if judged {
            self.awaited.push_back((at, self.given));
        }
    }

    /// Sees a picture in which so many shots are decided.
    pub fn see(&mut self, at: Duration, decided: u16) {
        let is_shown = |shot: &(Duration, u16)| shot.1 <= decided;
        while self.awaited.front().is_some_and(is_shown)
            && let Some((given, _)) = self.awaited.pop_front()
        {
            self.delays.push((at - given).as_secs_f64() * 1e3);
        }
    }

    /// From each shot to the first picture that shows it decided, in ms.
    pub fn into_delays(self) -> Samples {
        self.delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_judged_shot_is_seen_decided_once() {
        let ms = Duration::from_millis;
        let mut log = VerdictLog::default();
        for (at, judged) in [(10, false), (20, true), (30, true), (40, true)] {
            log.expect(ms(at), judged);
        }
        log.see(ms(50), 1);
        log.see(ms(60), 3);
        log.see(ms(70), 3);
        assert_eq!(log.into_delays().values(), [40.0, 30.0]);
    }
}
