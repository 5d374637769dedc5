//! Honest delivery reports.

use super::Seen;

/// One flow of a channel with delivery reports: a message is acknowledged only if it arrived, and once; it may be
/// presumed lost before that, once, if the channel is unreliable.
#[derive(Clone, Debug, Default)]
pub struct HonestReports {
    acked: Seen,
    lost: Seen,
}

impl HonestReports {
    /// Message `number` was reported, as acknowledged or as lost; `arrived` is the truth.
    pub fn on_report(&mut self, number: u32, acked: bool, arrived: bool) -> Result<(), String> {
        let wrong = match acked {
            true if !self.acked.insert(number) => "acknowledged twice",
            true if !arrived => "acknowledged but had not arrived",
            false if self.acked.contains(number) => "reported lost after it was acknowledged",
            false if !self.lost.insert(number) => "reported lost twice",
            _ => return Ok(()),
        };
        Err(format!("message {number} was {wrong}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_may_be_wrong_but_acked_may_not() {
        let mut reports = HonestReports::default();
        assert!(reports.on_report(0, true, true).is_ok());
        assert!(reports.on_report(1, false, true).is_ok());
        assert!(reports.on_report(1, true, true).is_ok(), "it was only late");
        assert!(reports.on_report(1, false, true).is_err());
        assert!(reports.on_report(2, true, false).is_err());
        assert!(reports.on_report(0, true, true).is_err());
    }
}
