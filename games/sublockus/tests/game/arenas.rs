//! Arenas as text: those that come with the game, those of one's own, and mistakes.

use samestep_playable::TextMapFault;
use samestep_sublockus::{
    Arena, ArenaChoice, ArenaErrorKind, Block, Builtin, Sublockus, SublockusConfig,
};
use samestep_sync::{Replicate, Table};

fn pit(change: impl Fn(&mut Vec<String>)) -> String {
    let rows = [
        "name: Pit",
        "",
        "################",
        "#              #",
        "#              #",
        "#  S   p    S  #",
        "#####  --  #####",
        "####        ####",
        "####  ^^^^  ####",
        "################",
    ];
    let mut rows: Vec<String> = rows.map(String::from).to_vec();
    change(&mut rows);
    rows.join("\n")
}

fn error(change: impl Fn(&mut Vec<String>)) -> (usize, usize, ArenaErrorKind) {
    let error = Arena::parse(&pit(change)).expect_err("a mistake");
    assert!(!error.to_string().is_empty());
    (error.line, error.column, error.kind)
}

#[test]
fn mistakes_are_told_with_their_place() {
    use ArenaErrorKind::*;
    use TextMapFault::*;
    let width = |is| Width {
        is,
        least: 12,
        most: 128,
    };
    let height = |is| Height {
        is,
        least: 8,
        most: 128,
    };
    assert!(Arena::parse(&pit(|_| {})).is_ok());
    assert_eq!(error(|rows| rows[0] = "Pit".into()), (1, 1, Text(Header)));
    assert_eq!(
        error(|rows| rows[0] = "size: 7".into()),
        (1, 1, Text(UnknownKey("size".into())))
    );
    assert_eq!(
        error(|rows| rows[0] = "name:".into()),
        (1, 6, Text(Name { most: 32 }))
    );
    assert_eq!(
        error(|rows| rows[0] = format!("name: {}", "x".repeat(33))),
        (1, 7, Text(Name { most: 32 }))
    );
    assert_eq!(
        error(|rows| rows.insert(1, "name: Pot".into())),
        (2, 1, Text(NamedTwice))
    );
    assert_eq!(
        error(|rows| rows[5].replace_range(4..5, "%")),
        (6, 5, UnknownLetter('%'))
    );
    assert_eq!(
        error(|rows| rows[3] = "#".repeat(129)),
        (4, 129, Text(width(129)))
    );
    let narrow = |rows: &mut Vec<String>| rows[2..].iter_mut().for_each(|row| row.truncate(9));
    assert_eq!(error(narrow), (3, 9, Text(width(9))));
    assert_eq!(error(|rows| rows.truncate(6)), (3, 1, Text(height(4))));
    assert_eq!(error(|rows| rows.truncate(1)), (1, 1, Text(height(0))));
    assert_eq!(error(|rows| rows[4].clear()), (5, 1, Text(EmptyRow)));
    assert_eq!(
        error(|rows| rows[5].replace_range(12..13, " ")),
        (3, 1, FewSpawns(1))
    );
    assert_eq!(
        error(|rows| rows[4].replace_range(3..4, "#")),
        (6, 4, LowSpawn)
    );
    assert_eq!(
        error(|rows| rows[7].replace_range(6..7, "S")),
        (8, 7, ThornySpawn)
    );
    assert_eq!(
        error(|rows| (3..9).for_each(|row| rows[row].replace_range(9..10, "#"))),
        (6, 13, Apart)
    );
    assert_eq!(
        error(|rows| {
            let row = format!("#{}#", "p".repeat(33));
            (rows[3], rows[4]) = (row.clone(), row);
        }),
        (5, 33, Crowded)
    );
}

#[test]
fn rows_may_be_short_and_files_end_as_they_like() {
    let text = pit(|rows| {
        rows[3].truncate(1);
        rows.insert(1, "; a remark: with a colon".into());
        rows.push(String::new());
        rows.push(" ".into());
    });
    let arena = Arena::parse(&text.replace('\n', "\r\n")).unwrap();
    assert_eq!((arena.width(), arena.height()), (16, 8));
    assert_eq!(arena.terrain().block(15, 1), Block::Air);
    assert_eq!(arena.terrain().block(16, 1), Block::Rock);
}

#[test]
fn those_that_come_with_the_game_are_of_different_sizes() {
    let mut sizes: Vec<_> = Vec::new();
    for builtin in Builtin::ALL {
        let arena = builtin.arena();
        assert_eq!(arena.name(), builtin.name());
        assert_eq!(
            Builtin::named(&builtin.name().to_lowercase()),
            Some(builtin)
        );
        assert_eq!(Arena::parse(&arena.to_string()), Ok(arena.clone()));
        sizes.push(arena.width() * arena.height());
    }
    sizes.dedup();
    assert_eq!(sizes.len(), Builtin::ALL.len());
    assert!(sizes.is_sorted());
    for players in 2..=32 {
        let arena = Builtin::for_players(players).arena();
        assert!(arena.spawns().len() >= usize::from(players), "{players}");
    }
    assert_eq!(Builtin::named("Attic"), None);
}

#[test]
fn an_arena_of_ones_own_travels_in_the_state() {
    let config = SublockusConfig {
        arena: ArenaChoice::Text(pit(|_| {})),
        ..SublockusConfig::default()
    };
    let game = Sublockus::new(&config).unwrap();
    let mut table = Table::new(Sublockus::schema());
    game.extract(&mut table);
    let bytes = table.encode();
    let table = Table::decode(Sublockus::schema(), &bytes).unwrap();
    let copy = Sublockus::from_table(&table).unwrap();
    assert_eq!(copy.arena(), Arena::parse(&pit(|_| {})).unwrap());
}
