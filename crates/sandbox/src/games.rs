//! The games there are.

mod evaluation;
mod skirmish;
mod sublockus;

#[cfg(test)]
mod tests {
    use samestep_evaluation::Evaluation;
    use samestep_skirmish::Skirmish;
    use samestep_sublockus::Sublockus;

    use crate::{Playable, Setup};

    fn is_refused<G: Playable>(players: u16, size: Option<u32>) -> bool {
        let seed = 1;
        G::begin(&Setup {
            players,
            size,
            seed,
        })
        .is_err()
    }

    #[test]
    fn impossible_games_are_refused() {
        assert!(is_refused::<Sublockus>(1, None) && is_refused::<Sublockus>(33, None));
        assert!(is_refused::<Sublockus>(4, Some(9)));
        assert!(is_refused::<Skirmish>(1, None) && is_refused::<Skirmish>(2, Some(u32::MAX)));
        assert!(is_refused::<Evaluation>(0, None) && is_refused::<Evaluation>(2, Some(70_000)));
    }
}
