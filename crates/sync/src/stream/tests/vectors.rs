//! The vectors of WIRE.md.

use super::*;

#[derive(Clone, Replicate)]
struct Game {
    units: Entities<Unit>,
    level: u8,
}

#[derive(Clone, Record)]
struct Unit {
    #[field(range(0.0, 100.0), precision = 0.5)]
    at: f32,
    count: u16,
}

fn table(game: &Game) -> Table {
    let mut table = Table::new(Game::schema());
    game.extract(&mut table);
    table
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn parts_are_as_described() {
    let mut game = Game {
        units: Entities::new(),
        level: 7,
    };
    for at in [3.0, 4.5, 20.0] {
        game.units.insert(Unit { at, count: 0 });
    }
    let mut publisher = Publisher::new(&Game::schema(), PublisherConfig::default());
    publisher.join(CLIENT);
    let mut parts = Vec::new();
    let mut write =
        |publisher: &mut Publisher, tick, game: &Game, interest: Option<&Interest>, budget| {
            publisher.publish(Tick(tick), &table(game));
            publisher.write(CLIENT, interest, budget, &mut parts);
            let part: PacketPart = parts.drain(..).next().expect("there is always a part");
            hex(&part.bytes)
        };
    let fresh = write(&mut publisher, 300, &game, None, None);
    publisher.acknowledge(CLIENT, 0, 0);
    let nothing = write(&mut publisher, 303, &game, None, None);
    for unit in game.units.as_mut_slice() {
        unit.at += 1.0;
    }
    game.units.as_mut_slice()[1].count = 1;
    let delta = write(&mut publisher, 306, &game, None, None);
    let mut interest = Interest::new(&Game::schema());
    interest.part("units").hide(2);
    let gone = write(&mut publisher, 309, &game, Some(&interest), None);
    let open = write(&mut publisher, 312, &game, Some(&interest), Some(60));
    assert_eq!(fresh, vector("stream.fresh"));
    assert_eq!(nothing, vector("stream.nothing"));
    assert_eq!(delta, vector("stream.delta"));
    assert_eq!(gone, vector("stream.gone"));
    assert_eq!(open, vector("stream.open"));
}

fn vector(name: &str) -> &'static str {
    let page = include_str!("../../../../../WIRE.md");
    let line = page
        .lines()
        .find(|line| line.split('=').next().is_some_and(|n| n.trim() == name))
        .unwrap_or_else(|| panic!("WIRE.md has no vector `{name}`"));
    line.split(['=', '#']).nth(1).unwrap_or_default().trim()
}
