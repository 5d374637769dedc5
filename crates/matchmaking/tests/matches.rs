//! What a matchmaker does with tickets: whom it brings together and when, who hosts, and who fills a free place.

use std::time::Duration;

use samestep_matchmaking::*;
use samestep_netem::Rng;

const DUEL: ModeId = ModeId(1);
const TEAMS: ModeId = ModeId(2);
const ON_SERVERS: ModeId = ModeId(3);
const ON_EITHER: ModeId = ModeId(4);
const HERE: BeaconId = BeaconId(1);
const THERE: BeaconId = BeaconId(2);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn matchmaker() -> Matchmaker {
    let hosted = |hosting| ModeConfig {
        hosting,
        ..ModeConfig::new(2, 1)
    };
    let config = MatchmakerConfig::default()
        .mode(DUEL, ModeConfig::new(2, 1))
        .mode(TEAMS, ModeConfig::new(2, 2))
        .mode(ON_SERVERS, hosted(Hosting::Servers))
        .mode(ON_EITHER, hosted(Hosting::ServersOrPlayers));
    Matchmaker::new(config).expect("these settings make sense")
}

/// A player `here` ms from one beacon and so far from the other that it is 100 ms away.
fn entrant(player: u64, mean: f64, here: u64) -> Entrant {
    Entrant {
        player: PlayerId(player),
        rating: Rating {
            mean,
            uncertainty: 1.0,
        },
        place: Place::new([(HERE, ms(here)), (THERE, ms(100 - here))]),
        ability: Some(HostAbility {
            step: ms(2),
            upstream: 500_000,
            failures: 0,
        }),
    }
}

fn solo(mode: ModeId, player: u64, mean: f64, here: u64) -> Ticket {
    Ticket::solo(mode, entrant(player, mean, here))
}

fn party(mode: ModeId, of: &[(u64, f64)]) -> Ticket {
    Ticket {
        mode,
        party: of.iter().map(|(p, mean)| entrant(*p, *mean, 10)).collect(),
        takes_vacancy: false,
    }
}

fn queue(matchmaker: &mut Matchmaker, now: Duration, tickets: Vec<Ticket>) -> Vec<TicketId> {
    let take = |ticket| matchmaker.handle_ticket(now, ticket);
    let taken = tickets.into_iter().map(take);
    taken.collect::<Result<_, _>>().expect("they are in order")
}

/// Lets time pass as its owner would, until the end or the first event.
fn first_event(
    matchmaker: &mut Matchmaker,
    until: Duration,
) -> Option<(Duration, MatchmakerEvent)> {
    while let Some(at) = matchmaker.poll_timeout().filter(|at| *at <= until) {
        matchmaker.handle_timeout(at);
        if let Some(event) = matchmaker.poll_event() {
            return Some((at, event));
        }
    }
    None
}

fn first_match(matchmaker: &mut Matchmaker) -> (Duration, FormedMatch) {
    match first_event(matchmaker, s(1000.0)) {
        Some((at, MatchmakerEvent::Formed(formed))) => (at, formed),
        other => panic!("no match was formed: {other:?}"),
    }
}

fn players(formed: &FormedMatch) -> Vec<u64> {
    let mut players: Vec<u64> = formed.sides.iter().flatten().map(|p| p.0).collect();
    players.sort_unstable();
    players
}

#[test]
fn equals_who_are_near_meet_at_once() {
    let mut matchmaker = matchmaker();
    let now = s(5.0);
    queue(
        &mut matchmaker,
        now,
        vec![solo(DUEL, 1, 25.0, 10), solo(DUEL, 2, 25.2, 12)],
    );
    let (at, formed) = first_match(&mut matchmaker);
    assert_eq!((at, players(&formed)), (now, vec![1, 2]));
    assert!(formed.is_rated && formed.imbalance < 0.01);
}

#[test]
fn unequals_meet_only_after_they_have_waited() {
    let mut matchmaker = matchmaker();
    queue(
        &mut matchmaker,
        s(0.0),
        vec![solo(DUEL, 1, 25.0, 10), solo(DUEL, 2, 29.0, 10)],
    );
    let (at, formed) = first_match(&mut matchmaker);
    assert!(at > s(14.25) && at < s(16.0), "{at:?}");
    assert!(formed.imbalance > 0.1 && formed.imbalance <= formed.tolerance.imbalance);
}

#[test]
fn the_far_meet_only_after_they_have_waited() {
    let mut matchmaker = matchmaker();
    queue(
        &mut matchmaker,
        s(0.0),
        vec![solo(DUEL, 1, 25.0, 5), solo(DUEL, 2, 25.0, 95)],
    );
    let (at, formed) = first_match(&mut matchmaker);
    assert!(at > s(2.0) && at < s(8.0), "{at:?}");
    assert_eq!(formed.host.worst_rtt, ms(95), "between 90 and 100 ms");
}

#[test]
fn the_nearest_of_equals_is_taken() {
    let mut matchmaker = matchmaker();
    let tickets = [(1, 10), (2, 35), (3, 30), (4, 12), (5, 25)];
    let tickets = tickets.map(|(player, here)| solo(DUEL, player, 25.0, here));
    queue(&mut matchmaker, s(0.0), tickets.to_vec());
    assert_eq!(players(&first_match(&mut matchmaker).1), [1, 4]);
    // What is left is formed in the same call.
    let Some(MatchmakerEvent::Formed(next)) = matchmaker.poll_event() else {
        panic!("others are near too");
    };
    assert_eq!(players(&next), [2, 3]);
    assert_eq!(matchmaker.waiting(), 1);
}

#[test]
fn a_newcomer_also_plays_with_one_who_has_waited_long() {
    let mut matchmaker = matchmaker();
    queue(&mut matchmaker, s(0.0), vec![solo(DUEL, 1, 25.0, 10)]);
    assert_eq!(first_event(&mut matchmaker, s(60.0)), None);
    queue(&mut matchmaker, s(60.0), vec![solo(DUEL, 2, 33.0, 10)]);
    let (at, formed) = first_match(&mut matchmaker);
    assert_eq!((at, players(&formed)), (s(60.0), vec![1, 2]));
}

#[test]
fn who_finds_nobody_is_told_so() {
    let mut matchmaker = matchmaker();
    let ids = queue(
        &mut matchmaker,
        s(1.0),
        vec![solo(DUEL, 1, 25.0, 10), solo(TEAMS, 2, 25.0, 10)],
    );
    let ended = first_event(&mut matchmaker, s(500.0));
    assert_eq!(ended, Some((s(121.0), MatchmakerEvent::Expired(ids[0]))));
    assert_eq!(
        matchmaker.poll_event(),
        Some(MatchmakerEvent::Expired(ids[1]))
    );
    assert_eq!(matchmaker.poll_timeout(), None);
    assert!(!matchmaker.handle_cancel(ids[0]));
}

#[test]
fn friends_stay_together_against_even_strangers() {
    let mut matchmaker = matchmaker();
    let tickets = vec![
        party(TEAMS, &[(1, 24.0), (2, 28.0)]),
        solo(TEAMS, 3, 25.0, 10),
        solo(TEAMS, 4, 27.0, 10),
    ];
    queue(&mut matchmaker, s(0.0), tickets);
    let (_, formed) = first_match(&mut matchmaker);
    let side_of = |p| {
        formed
            .sides
            .iter()
            .position(|side| side.contains(&PlayerId(p)))
    };
    assert_eq!(side_of(1), side_of(2));
    assert_eq!(side_of(3), side_of(4));
    assert!(formed.imbalance < 1e-9);
}

#[test]
fn friends_who_fill_a_match_play_at_once_and_unrated() {
    let mut matchmaker = matchmaker();
    let friends = party(TEAMS, &[(1, 10.0), (2, 20.0), (3, 30.0), (4, 45.0)]);
    queue(&mut matchmaker, s(0.0), vec![friends]);
    let (at, formed) = first_match(&mut matchmaker);
    assert_eq!(at, s(0.0));
    assert!(!formed.is_rated);
    assert!(
        formed.sides.contains(&vec![PlayerId(1), PlayerId(4)]),
        "as even as can be"
    );
}

#[test]
fn a_player_is_in_one_place_at_a_time() {
    let mut matchmaker = matchmaker();
    queue(&mut matchmaker, s(0.0), vec![solo(DUEL, 1, 25.0, 10)]);
    let again = matchmaker.handle_ticket(s(0.0), party(TEAMS, &[(9, 25.0), (1, 25.0)]));
    assert_eq!(again, Err(TicketError::Waiting(PlayerId(1))));
    queue(&mut matchmaker, s(0.0), vec![solo(DUEL, 2, 25.0, 10)]);
    let (_, formed) = first_match(&mut matchmaker);
    let again =
        |matchmaker: &mut Matchmaker| matchmaker.handle_ticket(s(1.0), solo(TEAMS, 1, 25.0, 10));
    assert_eq!(
        again(&mut matchmaker),
        Err(TicketError::Playing(PlayerId(1)))
    );
    assert!(matchmaker.handle_departure(formed.id, PlayerId(1)));
    assert!(again(&mut matchmaker).is_ok());
    assert!(matchmaker.handle_match_over(formed.id));
    let taken = matchmaker.handle_ticket(s(1.0), solo(DUEL, 2, 25.0, 10));
    assert!(taken.is_ok());
}

#[test]
fn a_match_waits_for_a_server_with_room() {
    let mut matchmaker = matchmaker();
    let tickets = |from| {
        (from..from + 2)
            .map(|p| solo(ON_SERVERS, p, 25.0, 10))
            .collect()
    };
    queue(&mut matchmaker, s(0.0), tickets(1));
    assert_eq!(first_event(&mut matchmaker, s(3.0)), None);
    matchmaker
        .handle_server(ServerId(7), HERE, 1)
        .expect("there is room");
    let (_, first) = first_match(&mut matchmaker);
    assert_eq!(first.host.host, Host::Server(ServerId(7)));
    assert_eq!(first.host.worst_rtt, ms(10));
    queue(&mut matchmaker, s(4.0), tickets(3));
    assert_eq!(first_event(&mut matchmaker, s(8.0)), None);
    matchmaker.handle_match_over(first.id);
    assert_eq!(
        first_match(&mut matchmaker).1.host.reason,
        HostReason::ServerWithRoom
    );
}

#[test]
fn a_player_hosts_where_every_server_is_far() {
    for (here, host) in [
        (10, Host::Player(PlayerId(1))),
        (60, Host::Server(ServerId(7))),
    ] {
        let mut matchmaker = matchmaker();
        matchmaker
            .handle_server(ServerId(7), THERE, 5)
            .expect("there is room");
        let tickets = vec![
            solo(ON_EITHER, 1, 25.0, here),
            solo(ON_EITHER, 2, 25.0, here),
        ];
        queue(&mut matchmaker, s(0.0), tickets);
        let (_, formed) = first_match(&mut matchmaker);
        assert_eq!(formed.host.host, host, "{here} ms from the beacon here");
    }
}

#[test]
fn a_match_needs_somebody_who_can_host() {
    let mut matchmaker = matchmaker();
    let mut tickets = vec![solo(DUEL, 1, 25.0, 10), solo(DUEL, 2, 25.0, 10)];
    for ticket in &mut tickets {
        ticket.party[0].ability = None;
    }
    queue(&mut matchmaker, s(0.0), tickets);
    assert_eq!(first_event(&mut matchmaker, s(1.0)), None);
    queue(&mut matchmaker, s(1.0), vec![solo(DUEL, 3, 25.0, 10)]);
    let (_, formed) = first_match(&mut matchmaker);
    assert_eq!(formed.host.host, Host::Player(PlayerId(3)));
    assert_eq!(formed.host.reason, HostReason::OnlyOne);
}

/// A running match of two teams, of which player 4 has left.
fn with_vacancy(strengths: [f64; 2]) -> (Matchmaker, MatchId, usize) {
    let mut matchmaker = matchmaker();
    let tickets = (1..=4).map(|p| solo(TEAMS, p, 25.0, 10)).collect();
    queue(&mut matchmaker, s(0.0), tickets);
    let (_, formed) = first_match(&mut matchmaker);
    let side = formed
        .sides
        .iter()
        .position(|side| side.contains(&PlayerId(4)));
    let side = side.expect("it plays");
    matchmaker.handle_departure(formed.id, PlayerId(4));
    let vacancy = vacancy(formed.id, side, 1, strengths);
    matchmaker
        .handle_vacancy(s(1.0), vacancy)
        .expect("it makes sense");
    (matchmaker, formed.id, side)
}

fn vacancy(match_id: MatchId, side: usize, seats: usize, [own, other]: [f64; 2]) -> Vacancy {
    let strength = |mean| Strength {
        mean,
        variance: 2.0,
    };
    let mut strengths = vec![strength(other); 2];
    strengths[side] = strength(own);
    Vacancy {
        match_id,
        side,
        seats,
        strengths,
        host: entrant(1, 25.0, 10).place,
    }
}

#[test]
fn a_free_place_goes_to_who_makes_the_match_even() {
    let (mut matchmaker, id, side) = with_vacancy([25.0, 52.0]);
    let tickets = [(5, 20.0), (6, 27.2), (7, 33.0), (8, 26.0)];
    let mut tickets = tickets.map(|(p, mean)| solo(TEAMS, p, mean, 10)).to_vec();
    tickets[3].takes_vacancy = false;
    let ids = queue(&mut matchmaker, s(1.0), tickets);
    let filled = MatchmakerEvent::Filled {
        match_id: id,
        side,
        ticket: ids[1],
        players: vec![PlayerId(6)],
    };
    assert_eq!(first_event(&mut matchmaker, s(2.0)), Some((s(1.0), filled)));
    let again = matchmaker.handle_ticket(s(2.0), solo(DUEL, 6, 25.0, 10));
    assert_eq!(again, Err(TicketError::Playing(PlayerId(6))));
    assert_eq!(
        first_event(&mut matchmaker, s(3.0)),
        None,
        "the place is taken"
    );
}

#[test]
fn a_vacancy_has_to_make_sense() {
    let (mut matchmaker, id, side) = with_vacancy([25.0, 50.0]);
    let mut tell = |vacancy| matchmaker.handle_vacancy(s(1.0), vacancy);
    let even = [25.0, 50.0];
    let unknown = tell(vacancy(MatchId(99), side, 1, even));
    assert_eq!(unknown, Err(VacancyError::UnknownMatch(MatchId(99))));
    for wrong in [
        vacancy(id, side, 2, even),
        vacancy(id, side, 1, [f64::NAN, 50.0]),
        vacancy(id, side, 1, [1e300, 50.0]),
        Vacancy {
            side: 2,
            ..vacancy(id, side, 1, even)
        },
    ] {
        let seats = VacancyError::Seats {
            sides: 2,
            side_size: 2,
        };
        assert_eq!(tell(wrong), Err(seats));
    }
    assert_eq!(tell(vacancy(id, side, 0, even)), Ok(()));
    queue(&mut matchmaker, s(1.0), vec![solo(TEAMS, 6, 25.0, 10)]);
    assert_eq!(
        first_event(&mut matchmaker, s(5.0)),
        None,
        "it was taken back"
    );
}

#[test]
fn large_teams_are_found_in_a_mixed_crowd() {
    const FIVES: ModeId = ModeId(5);
    let config = MatchmakerConfig::default().mode(FIVES, ModeConfig::new(2, 5));
    let mut matchmaker = Matchmaker::new(config).expect("these settings make sense");
    let mut rng = Rng::new(1);
    let (mut players, mut matched, mut waited) = (0, 0, Vec::new());
    for step in 0..600 {
        let now = ms(100 * step);
        // Twenty players a second, every fourth ticket for two.
        for _ in 0..2 {
            let size = 1 + u64::from(rng.chance(0.25));
            let of = (0..size).map(|_| {
                players += 1;
                entrant(players, 25.0 + 8.0 * rng.normal(), rng.range(5..50))
            });
            let ticket = Ticket {
                mode: FIVES,
                party: of.collect(),
                takes_vacancy: false,
            };
            queue(&mut matchmaker, now, vec![ticket]);
        }
        matchmaker.handle_timeout(now);
        while let Some(event) = matchmaker.poll_event() {
            let MatchmakerEvent::Formed(formed) = event else {
                panic!("nobody waits for so long");
            };
            assert!(formed.imbalance <= 0.1, "{}", formed.imbalance);
            matched += 10;
            waited.push(now);
        }
    }
    assert!(matched * 20 > players * 19, "{matched} of {players}");
    assert!(waited[0] < s(5.0));
}

#[test]
fn limits_hold() {
    let config = MatchmakerConfig {
        max_tickets: 2,
        max_matches: 1,
        max_servers: 1,
        ..MatchmakerConfig::default()
    };
    let mut matchmaker = Matchmaker::new(config.clone().mode(DUEL, ModeConfig::new(2, 1))).unwrap();
    queue(
        &mut matchmaker,
        s(0.0),
        vec![solo(DUEL, 1, 25.0, 10), solo(DUEL, 2, 25.0, 10)],
    );
    let third = matchmaker.handle_ticket(s(0.0), solo(DUEL, 3, 25.0, 10));
    assert_eq!(third, Err(TicketError::Full));
    let (_, first) = first_match(&mut matchmaker);
    queue(
        &mut matchmaker,
        s(1.0),
        vec![solo(DUEL, 3, 25.0, 10), solo(DUEL, 4, 25.0, 10)],
    );
    assert_eq!(first_event(&mut matchmaker, s(5.0)), None);
    matchmaker.handle_match_over(first.id);
    assert_eq!(players(&first_match(&mut matchmaker).1), [3, 4]);
    assert_eq!(matchmaker.handle_server(ServerId(1), HERE, 9), Ok(()));
    assert_eq!(
        matchmaker.handle_server(ServerId(2), HERE, 9),
        Err(ServerError)
    );
    let none = Matchmaker::new(config.mode(DUEL, ModeConfig::new(3, 11))).err();
    assert_eq!(none, Some(ConfigError::Mode(DUEL)));
}
