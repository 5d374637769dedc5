//! The colours of series: the same name has the same colour in every plot.

/// How a series is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The class of its colour.
    pub colour: String,
    /// How many series before it have the same colour: dashes or paler bars tell them apart.
    pub repeat: usize,
}

impl Look {
    /// Dashes of its line, as SVG has them.
    pub fn dash(&self) -> &'static str {
        ["", "7 4", "2 3", "9 3 2 3"][self.repeat % 4]
    }

    /// How strong its bars are.
    pub fn opacity(&self) -> f64 {
        [1.0, 0.5, 0.3, 0.75][self.repeat % 4]
    }
}

/// Prefixes of names and their colours; see plot.css.
const KNOWN: [(&str, &str); 12] = [
    ("ours", "c0"),
    ("theirs", "c1"),
    ("published", "c7"),
    ("lockstep", "c1"),
    ("rollback", "c0"),
    ("snapshot", "c2"),
    ("state-sync", "c3"),
    ("rewind", "c5"),
    ("hosted", "c0"),
    ("mesh", "c4"),
    ("by what was seen", "c0"),
    ("by the present", "c1"),
];
/// As many as differ for colour-blind readers, on light and on dark ground.
const FREE: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];
/// With more series of one colour than this, dashes say less than colours.
const DASHES: usize = 3;

/// A look for each series.
pub fn looks(names: &[&str]) -> Vec<Look> {
    let known = |name: &str| {
        let found = KNOWN.iter().find(|(begin, _)| name.starts_with(begin));
        found.map(|(_, colour)| *colour)
    };
    let colours: Vec<Option<&str>> = names.iter().map(|name| known(name)).collect();
    let of = |colour: &str| colours.iter().flatten().filter(|c| **c == colour).count();
    let crowded = colours.iter().flatten().any(|colour| of(colour) > DASHES);
    let mut looks: Vec<Look> = Vec::new();
    // Names of two kinds, as many of each: a colour for what they share, dashes for the kind.
    let half = match crowded || names.len() > FREE.len() {
        true => names.len().div_ceil(2).min(FREE.len()),
        false => FREE.len(),
    };
    let taken: Vec<&str> = colours
        .iter()
        .flatten()
        .copied()
        .filter(|_| !crowded)
        .collect();
    let free: Vec<&str> = FREE.into_iter().filter(|c| !taken.contains(c)).collect();
    let mut next = free.iter().take(half).cycle();
    for colour in &colours {
        let colour = colour.filter(|_| !crowded);
        let colour = colour.or_else(|| next.next().copied()).unwrap_or("c5");
        let repeat = looks.iter().filter(|look| look.colour == colour).count();
        looks.push(Look {
            colour: colour.into(),
            repeat,
        });
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(names: &[&str]) -> Vec<(String, usize)> {
        let looks = looks(names).into_iter();
        looks.map(|look| (look.colour, look.repeat)).collect()
    }

    #[test]
    fn a_name_has_its_colour_wherever_it_stands() {
        assert_eq!(colours(&["ours", "theirs", "published"])[0].0, "c0");
        assert_eq!(
            colours(&["theirs, true error", "ours, true error"])[1].0,
            "c0"
        );
        let others = colours(&["ethernet", "ours"]);
        assert_ne!(others[0].0, others[1].0, "no other takes it");
    }

    #[test]
    fn the_same_colour_twice_is_told_apart_by_dashes() {
        let looks = looks(&["lockstep, another's", "lockstep, one's own", "rollback"]);
        assert_eq!(looks[0].colour, looks[1].colour);
        assert_ne!(looks[0].dash(), looks[1].dash());
        assert_ne!(looks[0].colour, looks[2].colour);
    }

    #[test]
    fn many_of_two_kinds_are_a_colour_each_and_dashed_in_the_second_half() {
        let names = [
            "hosted 1", "hosted 2", "hosted 3", "hosted 4", "mesh 1", "mesh 2", "mesh 3", "mesh 4",
        ];
        let found = colours(&names);
        assert_eq!(found[0].0, found[4].0);
        assert_eq!((found[0].1, found[4].1), (0, 1));
        assert_ne!(found[0].0, found[1].0);
    }
}
