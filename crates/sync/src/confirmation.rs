//! Confirmation: when what happens in a tick counts, under a model whose authority may still change that tick.

/// How an effect of the rules becomes certain. The game says it for each kind of effect, and of event.
///
/// Under [`Rewind`](crate::Rewind) the authority simulates recent ticks again when a late input belongs into one of them. A character that moves a
/// little differently then is hardly noticed; a box that disappears is. Rules ask [`Inputs::effect`](crate::Inputs::effect) when to apply an effect
/// of each kind, and [`Simulation::confirmation`](crate::Simulation::confirmation) says the same of events. Under all other models every effect
/// applies in its own tick, so the rules need no second form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Confirmation {
    /// Every program applies it in its own tick, ahead of the authority, and takes it back if the authority disagrees.
    #[default]
    Predicted,
    /// The authority applies it as soon as it knows of it. Clients wait for the authority.
    AtOnce,
    /// It applies when its tick leaves the update window and cannot change any more. Whether it is allowed is judged then.
    WindowEnd,
}

impl Confirmation {
    /// All there are.
    pub const ALL: [Confirmation; 3] = [
        Confirmation::Predicted,
        Confirmation::AtOnce,
        Confirmation::WindowEnd,
    ];

    /// Its name on command lines and in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Confirmation::Predicted => "predicted",
            Confirmation::AtOnce => "at-once",
            Confirmation::WindowEnd => "window-end",
        }
    }
}

/// When the rules apply an effect that is decided in this tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// In this tick.
    Now,
    /// So many ticks later, when nothing can change the tick that it was decided in. The state remembers it until then.
    After(u64),
    /// The authority applies it, and this program receives the result.
    Elsewhere,
}
