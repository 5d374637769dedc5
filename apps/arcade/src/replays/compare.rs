//! Both worlds of a divergence, and what differs between them.

use eframe::egui::{Align2, Color32, Painter, Pos2, Rect};
use samestep_sync::{Difference, DivergedState, Divergence, EntityId, PlayerId, Table, Tick};

use super::lens::Lens;
use crate::canvas::{Canvas, Frame};
use crate::drawn::{Drawn, Scene};
use crate::theme;

/// Differences that are looked for.
const MOST: usize = 10_000;
/// Places that are pointed at.
const MOST_PLACES: usize = 200;
/// How large what points at a place is, in points of the screen: if there are few, and if there are many.
const RING: (f32, f32) = (20.0, 9.0);
/// More than this are many.
const FEW: usize = 12;

/// One of two worlds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// What was wrong.
    Ours,
    /// What is right.
    Theirs,
}

impl Whose {
    /// Its colour, in pictures and tables.
    pub fn colour(self) -> Color32 {
        match self {
            Whose::Ours => theme::WRONG,
            Whose::Theirs => RIGHT,
        }
    }
}

/// Something is as it should be.
pub const RIGHT: Color32 = Color32::from_rgb(0x5f, 0xdb, 0x8b);

/// Which of two states the rules lead to, here and now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Led {
    /// To what is right.
    ToTheirs,
    /// To what was wrong.
    ToOurs,
    /// To something else.
    ToNeither,
}

impl Led {
    /// What that means.
    pub fn sentence(self, from: Tick, to: Tick) -> String {
        match self {
            Led::ToTheirs => format!(
                "RecordedMatch here from tick {from}, the rules lead to theirs. So the rules are not to blame: between ticks {from} and {to} something that is not a rule changed our state, or that machine does not run the rules as this one does."
            ),
            Led::ToOurs => format!(
                "RecordedMatch here from tick {from}, the rules lead to ours. So nothing tampered with our state: the rules themselves come out differently on different machines. Look for floating point functions, an order that is not fixed, or another version."
            ),
            Led::ToNeither => format!(
                "RecordedMatch here from tick {from}, the rules lead to neither. They do not come out the same twice: look for what is not part of the state, a clock or chance, or another version of the rules."
            ),
        }
    }
}

/// Both worlds of a divergence.
pub struct Compared {
    /// Where.
    pub tick: Tick,
    /// Checksum of what the rules lead to here.
    pub played: u64,
    /// Which of the two that is.
    pub led: Led,
    /// All that differs, or the first 10,000 of it.
    pub differences: Vec<Difference>,
    /// Whether the worlds shown have the checksums that were recorded: ours, theirs.
    pub is_whole: [bool; 2],
    worlds: Box<dyn Worlds>,
}

/// Two worlds to draw.
trait Worlds {
    fn paint(&self, whose: Whose, look: &Look, painter: &Painter, rect: Rect);
    fn has_places(&self) -> bool;
}

/// How both are looked at.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Look {
    /// Whose view; everything if `None`.
    pub viewer: Option<PlayerId>,
    /// Only where they differ.
    pub is_near: bool,
    /// Closer still.
    pub lens: Lens,
}

impl Compared {
    /// Makes both from the state that was played and the rows that each side had.
    pub(super) fn new<G: Drawn>(
        state: &G,
        tick: Tick,
        played: u64,
        divergence: &Divergence,
    ) -> Result<Compared, String> {
        if tick != divergence.tick {
            return Err(format!(
                "the recording does not reach tick {}, where the states differed",
                divergence.tick
            ));
        }
        let mut table = Table::new(G::schema());
        state.extract(&mut table);
        let (our_table, mut ours) = rebuild(state, &table, "our", &divergence.ours)?;
        let (their_table, mut theirs) = rebuild(state, &table, "their", &divergence.theirs)?;
        let differences = our_table.differences(&their_table, MOST);
        let led = match played {
            played if played == divergence.theirs.checksum => Led::ToTheirs,
            played if played == divergence.ours.checksum => Led::ToOurs,
            _ => Led::ToNeither,
        };
        Ok(Compared {
            tick,
            played,
            led,
            is_whole: [
                ours.checksum() == divergence.ours.checksum,
                theirs.checksum() == divergence.theirs.checksum,
            ],
            worlds: Box::new(Pair {
                marks: marks(&ours, &theirs, &differences),
                seconds: tick.0 as f32 / G::TICKS_PER_SECOND as f32,
                ours,
                theirs,
            }),
            differences,
        })
    }

    /// Whether there may be more differences than were looked for.
    pub fn may_have_more(&self) -> bool {
        self.differences.len() == MOST
    }

    /// Whether any difference has a place in the world.
    pub fn has_places(&self) -> bool {
        self.worlds.has_places()
    }

    /// Draws one world, and points at what differs.
    pub fn paint(&self, whose: Whose, look: &Look, painter: &Painter, rect: Rect) {
        self.worlds.paint(whose, look, painter, rect);
    }
}

/// The world of one side.
fn rebuild<G: Drawn>(
    state: &G,
    table: &Table,
    whose: &str,
    side: &DivergedState,
) -> Result<(Table, G), String> {
    let damaged = |error: String| format!("{whose} rows cannot be read: {error}");
    let (mut table, mut state) = (table.clone(), state.clone());
    let applied = table.apply_chunks(&side.rows);
    applied.map_err(|error| damaged(error.to_string()))?;
    let restored = state.restore(&table);
    restored.map_err(|error| damaged(error.to_string()))?;
    Ok((table, state))
}

/// What differs, and where that is in either world.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Mark {
    ours: Option<Pos2>,
    theirs: Option<Pos2>,
}

fn marks<G: Drawn>(ours: &G, theirs: &G, differences: &[Difference]) -> Vec<Mark> {
    let mut differing: Vec<(&str, Option<EntityId>)> = Vec::new();
    for difference in differences {
        let entity = (&*difference.kind, entity_of(difference));
        if differing.last() != Some(&entity) && !differing.contains(&entity) {
            differing.push(entity);
        }
        if differing.len() == MOST_PLACES {
            break;
        }
    }
    let marks = differing.into_iter().map(|(part, entity)| Mark {
        ours: ours.place_of(part, entity),
        theirs: theirs.place_of(part, entity),
    });
    marks
        .filter(|mark| mark.ours.is_some() || mark.theirs.is_some())
        .collect()
}

/// The entity that differs, or the row of a list, counted from 1.
fn entity_of(difference: &Difference) -> Option<EntityId> {
    difference.entity.or_else(|| {
        let (row, _) = difference
            .field
            .split_once('.')
            .unwrap_or((&difference.field, ""));
        EntityId::from_number(row.parse::<u32>().ok()?.checked_add(1)?)
    })
}

struct Pair<G: Drawn> {
    ours: G,
    theirs: G,
    marks: Vec<Mark>,
    seconds: f32,
}

impl<G: Drawn> Pair<G> {
    fn whole(&self, look: &Look, screen: Rect) -> Frame {
        let view_state = G::ViewState::default();
        self.theirs.frame(look.viewer, &view_state, screen.size())
    }

    /// What is seen of both worlds.
    fn frame(&self, look: &Look, screen: Rect) -> Frame {
        let whole = self.whole(look, screen);
        let places = self
            .marks
            .iter()
            .flat_map(|mark| [mark.ours, mark.theirs])
            .flatten();
        let around = places.fold(Rect::NOTHING, |mut around, place| {
            around.extend_with(place);
            around
        });
        let frame = match (around.is_finite(), look.is_near) {
            (false, _) => whole,
            (true, true) => Frame {
                centre: around.center(),
                size: (around.size() * 1.3).max(whole.size * 0.3),
            },
            (true, false) => {
                let all = whole.seen(screen).union(around.expand2(whole.size * 0.05));
                Frame::between(all.min, all.max)
            }
        };
        look.lens.frame(frame, screen)
    }

    /// The zoom of a frame.
    fn nearness(&self, look: &Look, frame: &Frame, screen: Rect) -> f32 {
        let whole = self.whole(look, screen);
        let (usual, now) = (whole.seen(screen).width(), frame.seen(screen).width());
        (usual / now.max(f32::MIN_POSITIVE)).clamp(1.0, 40.0)
    }
}

impl<G: Drawn> Worlds for Pair<G> {
    fn has_places(&self) -> bool {
        !self.marks.is_empty()
    }

    fn paint(&self, whose: Whose, look: &Look, painter: &Painter, rect: Rect) {
        let state = match whose {
            Whose::Ours => &self.ours,
            Whose::Theirs => &self.theirs,
        };
        let view_state = G::ViewState::default();
        let scene = Scene {
            viewer: look.viewer,
            sharing: &[],
            drawn: state,
            view_state: &view_state,
            recent: &[],
            names: &[],
            seconds: self.seconds,
        };
        let frame = self.frame(look, rect);
        let mut canvas = Canvas::new(painter, rect, frame);
        state.paint(&scene, &mut canvas);
        let radius = if self.marks.len() > FEW {
            RING.1
        } else {
            RING.0
        };
        let radius = radius * self.nearness(look, &frame, rect).powf(0.4) / canvas.scale();
        for mark in &self.marks {
            let (here, there) = match whose {
                Whose::Ours => (mark.ours, mark.theirs),
                Whose::Theirs => (mark.theirs, mark.ours),
            };
            match (here, there) {
                (Some(place), _) => {
                    canvas.ring(place, radius, 4.5, Color32::from_black_alpha(150));
                    canvas.ring(place, radius, 2.5, whose.colour());
                }
                (None, Some(place)) => {
                    canvas.ring(place, radius, 1.5, whose.colour().gamma_multiply(0.6));
                    canvas.text(
                        place,
                        Align2::CENTER_CENTER,
                        "not here",
                        12.0,
                        whose.colour(),
                    );
                }
                (None, None) => {}
            }
        }
        canvas.finish();
    }
}
