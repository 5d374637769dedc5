//! Names and colours that tell players apart.

use crate::config::Profile;

/// Colours given to players who bring none, as different from each other as ten can be.
const COLOURS: [[u8; 3]; 10] = [
    [0xE6, 0x19, 0x4B],
    [0x43, 0x63, 0xD8],
    [0x3C, 0xB4, 0x4B],
    [0xFF, 0xE1, 0x19],
    [0xF5, 0x82, 0x31],
    [0x91, 0x1E, 0xB4],
    [0x42, 0xD4, 0xF4],
    [0xF0, 0x32, 0xE6],
    [0xBF, 0xEF, 0x45],
    [0xA9, 0xA9, 0xA9],
];

/// A profile like the one asked for that nobody else here has: a taken name gets a number, a taken colour is exchanged.
pub(crate) fn distinct<'a>(
    asked: &Profile,
    others: impl Iterator<Item = &'a Profile> + Clone,
) -> Profile {
    let asked_name = match asked.name.trim() {
        "" => "player",
        name => name,
    };
    let taken = |name: &str| others.clone().any(|p| p.name == name);
    let mut name = asked_name.to_owned();
    let mut number = 2u32;
    while taken(&name) {
        let ending = format!(" {number}");
        let mut kept = asked_name.len().min(64 - ending.len());
        while !asked_name.is_char_boundary(kept) {
            kept -= 1;
        }
        name = format!("{}{ending}", &asked_name[..kept]);
        number += 1;
    }
    let used = |colour: &[u8; 3]| others.clone().any(|p| p.colour == *colour);
    let mut colour = asked.colour;
    if colour == [0; 3] || used(&colour) {
        let mut shade = 0u8;
        colour = loop {
            let free = COLOURS
                .iter()
                .map(|c| c.map(|part| part.saturating_sub(shade)))
                .find(|c| !used(c) && *c != [0; 3]);
            match free {
                Some(colour) => break colour,
                None if shade > 200 => break COLOURS[0],
                None => shade += 23,
            }
        };
    }
    Profile { name, colour }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_can_be_told_apart() {
        let mut profiles: Vec<Profile> = Vec::new();
        let long = "ä".repeat(32);
        for name in ["Ann", "Ann", "", " ", &long, &long, "Ann"].repeat(6) {
            let profile = distinct(&Profile::named(name), profiles.iter());
            assert!(profile.name.len() <= 64);
            assert!(profiles.iter().all(|p| p.name != profile.name));
            assert!(profiles.iter().all(|p| p.colour != profile.colour));
            profiles.push(profile);
        }
        assert_eq!(profiles[1].name, "Ann 2");
    }

    #[test]
    fn what_is_free_is_given_as_asked() {
        let asked = Profile {
            name: "Bo".into(),
            colour: [1, 2, 3],
        };
        assert_eq!(distinct(&asked, [].iter()), asked);
    }
}
