//! Finds rooms in the local network.

use std::error::Error;
use std::time::Duration;

use clap::Args;
use samestep::session::discovery::{Finder, FinderConfig, Found, QUERY_BYTES, Topology};
use samestep::transport::{DISCOVERY_PORT, LanSeeker, now};

use crate::announce::random;
use crate::failure::{Failure, Kind};

/// The discovery port.
#[derive(Args, Clone, Copy, Debug)]
pub struct PortArgument {
    /// The port on which rooms in the local network are found
    #[arg(long, value_name = "PORT", default_value_t = DISCOVERY_PORT)]
    pub discovery_port: u16,
}

/// The rooms that answer within `time`, or until `enough` says so.
pub fn search(
    port: u16,
    game: &str,
    time: Duration,
    enough: impl Fn(&Finder) -> bool,
) -> Result<Vec<Found>, Box<dyn Error>> {
    let config = FinderConfig {
        // A short search should not depend on a single query.
        every: Duration::from_millis(500).min(time / 4),
        // A room that has answered once is listed.
        forget_after: time * 2,
        ..FinderConfig::for_game(game)
    };
    let mut finder = Finder::new(config, random()?)?;
    let mut seeker = LanSeeker::new(port)?;
    let end = now() + time;
    let mut query = [0; QUERY_BYTES];
    while now() < end && !enough(&finder) {
        if let Some(len) = finder.poll_query(now(), &mut query) {
            seeker
                .send_to_all(&query[..len])
                .map_err(|error| format!("nothing can be sent to the local network: {error}"))?;
        }
        while let Some(answer) = seeker.recv()? {
            finder.handle_answer(answer.at, answer.from, answer.bytes);
        }
        if enough(&finder) {
            break;
        }
        seeker.wait(Some(finder.poll_timeout().min(end)))?;
    }
    let mut rooms: Vec<Found> = finder.rooms().cloned().collect();
    rooms.sort_by_key(|room| room.address);
    Ok(rooms)
}

/// No room answered.
pub fn nobody(port: u16) -> Failure {
    let words = format!(
        "no room found in the local network (port {port}). Is one open (samestep host GAME, samestep console host), and does a firewall let UDP through? \
         A room elsewhere is joined by its address, as in samestep join GAME ADDRESS"
    );
    Failure::new(Kind::NobodyThere, words)
}

/// The rooms for people. What stands under `address` is what joins them, and nobody in their place.
pub fn table(rooms: &[Found]) -> String {
    let game = |room: &Found| {
        let about = &room.announcement;
        let password = if about.password { ", password" } else { "" };
        format!("{} {}{password}", about.game, about.version)
    };
    let width = |of: &dyn Fn(&Found) -> usize, heading: &str| {
        let longest = rooms.iter().map(of).max().unwrap_or(0);
        longest.max(heading.len())
    };
    let names = width(&|room| room.announcement.room.chars().count(), "room");
    let games = width(&|room| game(room).chars().count(), "game");
    let mut text = format!(
        "{:<names$}  {:<games$}  {:>10}  {:<6}  {:>10}  address\n",
        "room", "game", "players", "kind", "round trip"
    );
    for room in rooms {
        let about = &room.announcement;
        text += &format!(
            "{:<names$}  {:<games$}  {:>10}  {:<6}  {:>7.1} ms  {}\n",
            about.room,
            game(room),
            format!("{} of {}", about.players, about.capacity),
            topology(about.topology),
            room.round_trip.as_secs_f64() * 1e3,
            room.whole_address(),
        );
    }
    text
}

/// How a room is connected, in a word.
pub fn topology(topology: Topology) -> &'static str {
    match topology {
        Topology::Hosted => "hosted",
        Topology::Mesh => "mesh",
    }
}

#[cfg(test)]
mod tests {
    use samestep::session::Identity;
    use samestep::session::discovery::Announcement;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let room = |name: &str, address: &str| Found {
            address: address.parse().unwrap(),
            announcement: Announcement {
                room: name.into(),
                game: "g".into(),
                version: 1,
                players: 2,
                capacity: 16,
                password: true,
                topology: Topology::Mesh,
                port: 1,
                key: Identity::from_secret([7; 32]).public_key(),
            },
            round_trip: Duration::from_micros(340),
            heard_at: Duration::ZERO,
        };
        let text = table(&[
            room("café", "10.0.0.1:1"),
            room("a long name", "192.168.100.100:14242"),
        ]);
        let starts: Vec<_> = text
            .lines()
            .map(|line| line.chars().count() - line.rsplit("  ").next().unwrap().chars().count())
            .collect();
        assert!(starts.iter().all(|start| *start == starts[0]), "{text}");
        assert!(
            text.contains("0.3 ms") && text.contains("2 of 16"),
            "{text}"
        );
    }
}
