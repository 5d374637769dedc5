//! Which claims count.

use super::*;
use crate::host::{HostChoice, HostReason};
use crate::id::ModeId;
use crate::widening::Tolerance;

const MATCH: MatchId = MatchId(7);
const SERVER: ServerId = ServerId(3);

fn s(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn formed(sides: &[&[u64]], host: Host) -> FormedMatch {
    let side = |side: &&[u64]| side.iter().map(|p| PlayerId(*p)).collect();
    FormedMatch {
        id: MATCH,
        mode: ModeId(1),
        sides: sides.iter().map(side).collect(),
        chances: vec![0.5; sides.len()],
        imbalance: 0.0,
        host: HostChoice {
            host,
            reason: HostReason::Mesh,
            worst_rtt: Duration::ZERO,
            standbys: Vec::new(),
        },
        tickets: Vec::new(),
        tolerance: Tolerance {
            imbalance: 0.1,
            spread: 0.1,
            rtt: s(1),
        },
        is_rated: true,
    }
}

fn results(sides: &[&[u64]], host: Host) -> Results {
    let mut results = Results::new(ResultsConfig::default());
    results
        .handle_formed(s(0), &formed(sides, host))
        .expect("there is room");
    results
}

fn won(side: usize) -> Outcome {
    Outcome::won_by(side, 2)
}

fn verdict(results: &mut Results) -> Option<Verdict> {
    results.poll_decided().map(|decided| decided.verdict)
}

#[test]
fn a_duel_counts_once_both_agree() {
    let mut results = results(&[&[1], &[2]], Host::Nobody);
    let mut claim =
        |at, player, side| results.handle_claim(s(at), MATCH, PlayerId(player), won(side));
    assert_eq!(claim(10, 1, 0), Ok(Claimed::Noted));
    assert_eq!(claim(11, 1, 0), Ok(Claimed::Repeated));
    assert_eq!(claim(12, 2, 0), Ok(Claimed::Decisive));
    assert_eq!(claim(13, 2, 0), Ok(Claimed::Repeated));
    assert_eq!(claim(14, 3, 0), Err(ClaimError::NotPresent));
    assert_eq!(verdict(&mut results), Some(Verdict::Agreed(won(0))));
    assert_eq!(verdict(&mut results), None);
    results.handle_timeout(s(2000));
    assert_eq!(verdict(&mut results), None);
    let late = results.handle_claim(s(2000), MATCH, PlayerId(1), won(0));
    assert_eq!(late, Err(ClaimError::UnknownMatch(MATCH)));
    assert_eq!(results.poll_timeout(), None);
}

#[test]
fn one_against_the_rest_is_marked_and_not_counted() {
    for liar_is_first in [true, false] {
        let mut results = results(&[&[1, 2], &[3, 4]], Host::Player(PlayerId(1)));
        let mut claim =
            |player, side| results.handle_claim(s(1), MATCH, PlayerId(player), won(side));
        if liar_is_first {
            assert_eq!(claim(1, 0), Ok(Claimed::Noted));
        }
        assert_eq!(claim(3, 1), Ok(Claimed::Noted));
        assert_eq!(claim(4, 1), Ok(Claimed::Noted));
        assert_eq!(claim(2, 1), Ok(Claimed::Decisive));
        if !liar_is_first {
            assert_eq!(claim(1, 0), Ok(Claimed::Hopeless));
        }
        assert_eq!(verdict(&mut results), Some(Verdict::Agreed(won(1))));
        assert_eq!(results.conduct(PlayerId(1)).hopeless, 1);
        assert_eq!(results.conduct(PlayerId(2)).hopeless, 0);
        assert_eq!(results.conduct(PlayerId(2)).matches, 1);
    }
}

#[test]
fn a_side_alone_decides_nothing_however_many_it_is() {
    let mut results = results(&[&[1, 2, 3], &[4]], Host::Nobody);
    for player in 1..=3 {
        let claimed = results.handle_claim(s(1), MATCH, PlayerId(player), won(0));
        assert_eq!(claimed, Ok(Claimed::Noted));
    }
    results.handle_timeout(s(60));
    assert_eq!(verdict(&mut results), None);
    results.handle_timeout(s(61));
    assert_eq!(verdict(&mut results), Some(Verdict::Unclaimed));
    assert_eq!(results.conduct(PlayerId(4)).silent, 1);
    assert_eq!(results.conduct(PlayerId(1)).silent, 0);
    let late = results.handle_claim(s(62), MATCH, PlayerId(4), won(0));
    assert_eq!(late, Ok(Claimed::Late), "it comes too late to count");
    assert_eq!(verdict(&mut results), None);
}

#[test]
fn sides_that_contradict_each_other_are_in_dispute() {
    let mut results = results(&[&[1], &[2]], Host::Nobody);
    results
        .handle_claim(s(1), MATCH, PlayerId(1), won(0))
        .unwrap();
    results
        .handle_claim(s(2), MATCH, PlayerId(2), won(1))
        .unwrap();
    let changed = results.handle_claim(s(3), MATCH, PlayerId(2), won(0));
    assert_eq!(changed, Err(ClaimError::Contradiction));
    assert_eq!(results.conduct(PlayerId(2)).hopeless, 1);
    results.handle_timeout(s(62));
    assert_eq!(verdict(&mut results), Some(Verdict::Disputed));
    assert_eq!(results.conduct(PlayerId(1)).disputed, 1);
}

#[test]
fn the_servers_word_counts_and_no_others() {
    let mut results = results(&[&[1], &[2]], Host::Server(SERVER));
    for player in [1, 2] {
        let claimed = results.handle_claim(s(1), MATCH, PlayerId(player), won(0));
        assert_eq!(claimed, Ok(Claimed::Noted));
    }
    let mut report = |server, side| results.handle_report(s(2), MATCH, server, won(side));
    assert_eq!(report(ServerId(9), 1), Err(ClaimError::NotPresent));
    assert_eq!(report(SERVER, 1), Ok(Claimed::Decisive));
    assert_eq!(report(SERVER, 1), Ok(Claimed::Repeated));
    assert_eq!(report(SERVER, 0), Ok(Claimed::Late));
    assert_eq!(verdict(&mut results), Some(Verdict::Agreed(won(1))));
    assert_eq!(verdict(&mut results), None);
    assert_eq!(results.conduct(PlayerId(1)).hopeless, 1);
}

#[test]
fn a_hasty_claim_does_not_end_a_match_that_runs() {
    for host in [Host::Nobody, Host::Server(SERVER)] {
        let mut results = results(&[&[1], &[2]], host);
        let claimed = results.handle_claim(s(1), MATCH, PlayerId(1), won(0));
        assert_eq!(claimed, Ok(Claimed::Noted));
        results.handle_timeout(s(1000));
        assert_eq!(verdict(&mut results), None);
        results.handle_match_over(s(1000), MATCH);
        results.handle_match_over(s(1030), MATCH);
        results.handle_timeout(s(1059));
        assert_eq!(verdict(&mut results), None);
        results.handle_timeout(s(1060));
        assert_eq!(verdict(&mut results), Some(Verdict::Unclaimed));
    }
}

#[test]
fn a_match_nobody_speaks_of_is_forgotten() {
    let mut results = results(&[&[1], &[2]], Host::Nobody);
    let again = results.handle_formed(s(1), &formed(&[&[1], &[2]], Host::Nobody));
    assert_eq!(again, Err(ClaimError::Registered(MATCH)));
    let wrong = Outcome { places: vec![2, 2] };
    let claimed = results.handle_claim(s(1), MATCH, PlayerId(1), wrong);
    assert_eq!(claimed, Err(ClaimError::Outcome { sides: 2 }));
    while let Some(at) = results.poll_timeout() {
        results.handle_timeout(at);
    }
    assert_eq!(verdict(&mut results), Some(Verdict::Unclaimed));
    assert_eq!(verdict(&mut results), None);
}
