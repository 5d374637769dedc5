//! Types that another program would read differently have other layouts; names of types and of modules do not matter.

use samestep_wire::{Wire, layout_hash};

mod elsewhere {
    use super::*;

    #[derive(Clone, Wire)]
    pub struct SameMove {
        #[wire(range = 0..=3)]
        pub direction: u8,
        pub to: Option<(i16, i16)>,
    }

    #[derive(Clone, Wire)]
    pub enum Word {
        Yes,
        No { reason: String },
    }
}

#[derive(Clone, Wire)]
struct Move {
    #[wire(range = 0..=3)]
    direction: u8,
    to: Option<(i16, i16)>,
}

/// Declares a type and gives the hash of its layout.
macro_rules! layout {
    ($($item:tt)*) => {{
        #[derive(Clone, Wire)]
        #[allow(dead_code)]
        $($item)*
        layout_hash::<Changed>()
    }};
}

#[test]
fn a_type_has_the_layout_of_its_twin() {
    assert_eq!(layout_hash::<Move>(), layout_hash::<elsewhere::SameMove>());
    let word = layout! { enum Changed { Yes, No { reason: String } } };
    assert_eq!(word, layout_hash::<elsewhere::Word>());
}

#[test]
fn every_change_of_a_field_is_another_layout() {
    let changed = [
        layout! { struct Changed { #[wire(range = 0..=2)] direction: u8, to: Option<(i16, i16)> } },
        layout! { struct Changed { direction: u8, to: Option<(i16, i16)> } },
        layout! { struct Changed { #[wire(range = 0..=3)] way: u8, to: Option<(i16, i16)> } },
        layout! { struct Changed { #[wire(range = 0..=3)] direction: u8, to: (i16, i16) } },
        layout! { struct Changed { #[wire(range = 0..=3)] direction: u8, to: Option<(i16, u16)> } },
        layout! { struct Changed { to: Option<(i16, i16)>, #[wire(range = 0..=3)] direction: u8 } },
        layout! { struct Changed { #[wire(range = 0..=3)] direction: u8 } },
        layout! { enum Changed { No, Yes { reason: String } } },
        layout! { enum Changed { Yes, No { reason: String } } },
        layout! { enum Changed { Yes, No { #[wire(max_len = 9)] reason: String } } },
        layout! { struct Changed([f32; 2]); },
        layout! { struct Changed([f32; 3]); },
        layout! { struct Changed([u32; 2]); },
        layout! { struct Changed(#[wire(range = 0.0..=1.0, precision = 0.1)] f32); },
        layout! { struct Changed(#[wire(range = 0.0..=1.0, precision = 0.2)] f32); },
    ];
    for (at, layout) in changed.iter().enumerate() {
        assert_ne!(*layout, layout_hash::<Move>(), "{at}");
        assert!(!changed[..at].contains(layout), "{at}");
    }
}

#[test]
fn a_type_that_contains_itself_has_a_layout() {
    #[derive(Clone, Wire)]
    struct Tree {
        children: Vec<Tree>,
        twin: Option<Box<Tree>>,
    }
    assert_ne!(layout_hash::<Tree>(), layout_hash::<Vec<Tree>>());
}
