//! Maps and what is said about those that are none.

use samestep_hat_hunters::{Builtin, Ground, Map};

#[test]
fn what_comes_with_the_game_can_be_played() {
    for builtin in Builtin::ALL {
        let map = builtin.map();
        assert_eq!(map.name(), builtin.name());
        assert_eq!(
            Builtin::named(&builtin.name().to_lowercase()),
            Some(builtin)
        );
        assert_eq!(Map::parse(&map.to_string()), Ok(map.clone()));
        let field = map.field();
        let cells = (0..field.height()).flat_map(|row| (0..field.width()).map(move |c| (c, row)));
        let floor = cells
            .filter(|(column, row)| field.ground(*column, *row) == Ground::Floor)
            .count();
        assert!(floor > 70, "{builtin:?}: {floor}");
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    let rows = |change: &dyn Fn(&mut Vec<String>)| {
        let mut rows = vec!["#".repeat(12)];
        rows.extend(vec![format!("#{}#", ".".repeat(10)); 8]);
        rows.push("#".repeat(12));
        change(&mut rows);
        Map::parse(&format!("name: Try\n; a remark\n\n{}\n", rows.join("\n")))
    };
    assert!(rows(&|_| {}).is_ok());
    let error = |change: &dyn Fn(&mut Vec<String>)| rows(change).unwrap_err().to_string();
    let letter = error(&|rows| rows[2].replace_range(4..5, "x"));
    assert_eq!(
        letter,
        "line 6, column 5: 'x' is no cell; there are space . # b B"
    );
    let apart = error(&|rows| {
        rows[2].replace_range(1..4, ".#.");
        rows[1].replace_range(1..4, ".#.");
        rows[3].replace_range(1..4, "##.");
    });
    assert!(
        apart.starts_with("line 5, column 4: nobody gets here"),
        "{apart}"
    );
    let wide = error(&|rows| rows[5].push_str(&".".repeat(30)));
    assert!(
        wide.starts_with("line 9, column 41: 42 letters wide"),
        "{wide}"
    );
    let low = error(&|rows| rows.truncate(4));
    assert!(low.starts_with("line 4, column 1: 4 rows"), "{low}");
    let empty = error(&|rows| rows[3].clear());
    assert!(
        empty.starts_with("line 7, column 1: an empty line"),
        "{empty}"
    );
    let full = error(&|rows| {
        let last = rows.len() - 1;
        rows[2..last].fill("#".repeat(12));
    });
    assert!(
        full.starts_with("line 4, column 1: 10 cells of floor"),
        "{full}"
    );
    for (text, message) in [
        ("Glade\n\n####", "line 1, column 1: a line of the header"),
        (
            "size: 3\n\n####",
            "line 1, column 1: \"size\" means nothing",
        ),
        (
            "name: A\nname: B\n\n####",
            "line 2, column 1: there is a name already",
        ),
        (
            "; none\n\n####",
            "line 2, column 1: a name of 1 to 32 bytes is needed",
        ),
    ] {
        let error = Map::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
