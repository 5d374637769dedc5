//! Close reasons arrive.

use samestep_proto::CloseReason;

/// The two ends of one connection: the reason each gave when closing, and the reason each saw.
#[derive(Clone, Debug, Default)]
pub struct CloseReasons {
    given: [Option<(u32, String)>; 2],
    seen: [Option<CloseReason>; 2],
    /// Closed when the peer had already given the connection up: nobody was left to see it.
    unseen: [bool; 2],
}

impl CloseReasons {
    /// End `side` (0 or 1) closed with a code and a text. Only the first time counts.
    pub fn on_close(&mut self, side: usize, code: u32, text: &str) {
        if self.given[side].is_none() {
            self.unseen[side] = self.seen[1 - side].is_some();
            self.given[side] = Some((code, text.to_owned()));
        }
    }

    /// Whether end `side` has closed.
    pub fn has_closed(&self, side: usize) -> bool {
        self.given[side].is_some()
    }

    /// End `side` saw that the connection is closed.
    pub fn on_closed(&mut self, side: usize, reason: &CloseReason) -> Result<(), String> {
        self.seen[side] = Some(reason.clone());
        match reason {
            CloseReason::Local if self.given[side].is_none() => {
                Err("it saw that it closed the connection itself, which it did not".into())
            }
            CloseReason::Remote { code, reason } => match &self.given[1 - side] {
                None => Err(format!(
                    "it saw \"{reason}\" ({code}), but the peer did not close"
                )),
                Some((given, text)) if given != code || text != reason => Err(format!(
                    "it saw \"{reason}\" ({code}), but the peer gave \"{text}\" ({given})"
                )),
                Some(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Over a working network, when all should be closed: the peer of an end that closed must have seen its reason,
    /// unless it closed too.
    pub fn finish(&self) -> Result<(), String> {
        for side in 0..2 {
            let (Some((code, text)), None) = (&self.given[side], &self.given[1 - side]) else {
                continue;
            };
            if self.unseen[side] {
                continue;
            }
            match &self.seen[1 - side] {
                Some(CloseReason::Remote { .. }) => {}
                other => {
                    return Err(format!(
                        "one end closed with \"{text}\" ({code}), the other saw {other:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_must_arrive_as_said() {
        let remote = |code, text: &str| CloseReason::Remote {
            code,
            reason: text.into(),
        };
        let mut close = CloseReasons::default();
        close.on_close(0, 7, "enough");
        assert!(close.finish().is_err(), "the other end knows nothing yet");
        assert!(close.clone().on_closed(1, &remote(8, "enough")).is_err());
        assert!(close.clone().on_closed(1, &CloseReason::Local).is_err());
        assert!(close.on_closed(1, &remote(7, "enough")).is_ok());
        assert!(close.on_closed(0, &CloseReason::Local).is_ok());
        assert!(close.finish().is_ok());
    }

    #[test]
    fn words_to_a_peer_that_is_gone_need_not_arrive() {
        let mut close = CloseReasons::default();
        assert!(close.on_closed(1, &CloseReason::TimedOut).is_ok());
        close.on_close(0, 7, "enough");
        assert!(close.finish().is_ok());
    }
}
