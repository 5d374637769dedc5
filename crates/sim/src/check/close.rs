//! Close reasons arrive.

use samestep_proto::CloseReason;

/// The two ends of one connection: what each said when closing, and what each was told.
#[derive(Clone, Debug, Default)]
pub struct CloseReasons {
    said: [Option<(u32, String)>; 2],
    told: [Option<CloseReason>; 2],
    /// Closed when the peer had already given the connection up: nobody was left to hear it.
    unheard: [bool; 2],
}

impl CloseReasons {
    /// End `side` (0 or 1) closed with a code and words. Only the first time counts.
    pub fn on_close(&mut self, side: usize, code: u32, words: &str) {
        if self.said[side].is_none() {
            self.unheard[side] = self.told[1 - side].is_some();
            self.said[side] = Some((code, words.to_owned()));
        }
    }

    /// Whether end `side` has closed.
    pub fn has_closed(&self, side: usize) -> bool {
        self.said[side].is_some()
    }

    /// End `side` was told that the connection is closed.
    pub fn on_closed(&mut self, side: usize, reason: &CloseReason) -> Result<(), String> {
        self.told[side] = Some(reason.clone());
        match reason {
            CloseReason::Local if self.said[side].is_none() => {
                Err("it was told that it closed the connection itself, which it did not".into())
            }
            CloseReason::Remote { code, reason } => match &self.said[1 - side] {
                None => Err(format!(
                    "it was told \"{reason}\" ({code}), but the peer did not close"
                )),
                Some((said, words)) if said != code || words != reason => Err(format!(
                    "it was told \"{reason}\" ({code}), but the peer said \"{words}\" ({said})"
                )),
                Some(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Over a working network, when all should be closed: the peer of an end that closed must have heard its words,
    /// unless it closed too.
    pub fn finish(&self) -> Result<(), String> {
        for side in 0..2 {
            let (Some((code, words)), None) = (&self.said[side], &self.said[1 - side]) else {
                continue;
            };
            if self.unheard[side] {
                continue;
            }
            match &self.told[1 - side] {
                Some(CloseReason::Remote { .. }) => {}
                other => {
                    return Err(format!(
                        "one end closed with \"{words}\" ({code}), the other saw {other:?}"
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
        let remote = |code, words: &str| CloseReason::Remote {
            code,
            reason: words.into(),
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
