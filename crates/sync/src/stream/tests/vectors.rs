//! The vectors of WIRE.md.

use super::*;

#[derive(Clone, Replicate)]
struct Pond {
    frogs: Entities<Frog>,
    depth: u8,
}

#[derive(Clone, Record)]
struct Frog {
    #[field(range(0.0, 100.0), precision = 0.5)]
    at: f32,
    jumps: u16,
}

fn table(pond: &Pond) -> Table {
    let mut table = Table::new(Pond::schema());
    pond.extract(&mut table);
    table
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn parts_are_as_described() {
    let mut pond = Pond {
        frogs: Entities::new(),
        depth: 7,
    };
    for at in [3.0, 4.5, 20.0] {
        pond.frogs.insert(Frog { at, jumps: 0 });
    }
    let mut publisher = Publisher::new(&Pond::schema(), PublisherConfig::default());
    publisher.join(CLIENT);
    let mut parts = Vec::new();
    let mut tell =
        |publisher: &mut Publisher, tick, pond: &Pond, interest: Option<&Interest>, budget| {
            publisher.publish(Tick(tick), &table(pond));
            publisher.write(CLIENT, interest, budget, &mut parts);
            let part: PacketPart = parts.drain(..).next().expect("there is always a part");
            hex(&part.bytes)
        };
    let fresh = tell(&mut publisher, 300, &pond, None, None);
    publisher.acknowledge(CLIENT, 0, 0);
    let nothing = tell(&mut publisher, 303, &pond, None, None);
    for frog in pond.frogs.as_mut_slice() {
        frog.at += 1.0;
    }
    pond.frogs.as_mut_slice()[1].jumps = 1;
    let delta = tell(&mut publisher, 306, &pond, None, None);
    let mut interest = Interest::new(&Pond::schema());
    interest.part("frogs").hide(2);
    let gone = tell(&mut publisher, 309, &pond, Some(&interest), None);
    let open = tell(&mut publisher, 312, &pond, Some(&interest), Some(60));
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
