//! Honest delivery reports.

use super::Seen;

/// One flow of a channel with delivery reports: each message is reported once, and acknowledged only if it arrived.
#[derive(Clone, Debug, Default)]
pub struct HonestReports {
    reported: Seen,
}

impl HonestReports {
    /// Message `number` was reported, as acknowledged or as lost; `arrived` is the truth.
    pub fn on_report(&mut self, number: u32, acked: bool, arrived: bool) -> Result<(), String> {
        if !self.reported.insert(number) {
            return Err(format!("message {number} was reported twice"));
        }
        match acked && !arrived {
            true => Err(format!(
                "message {number} was reported as arrived but had not"
            )),
            false => Ok(()),
        }
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
        assert!(reports.on_report(2, true, false).is_err());
        assert!(reports.on_report(1, true, true).is_err());
    }
}
