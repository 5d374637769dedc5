//! The way from one place to another, round obstacles: a breadth-first search over cells.

use crate::field::{Field, MAX_HEIGHT, MAX_WIDTH};
use crate::place::{Cell, Place};

/// Cells in the largest field.
const CELLS: usize = MAX_WIDTH * MAX_HEIGHT;

/// How many cells ahead one looks for a straight way.
const LOOKAHEAD: usize = 6;

/// A place to walk straight to, on the shortest way from one place to another; `None` if no way leads there.
pub(crate) fn next_place(field: &Field<'_>, from: Place, to: Place) -> Option<Place> {
    if field.is_clear(from, to) {
        return Some(to);
    }
    let (begin, goal) = (from.cell(), to.cell());
    if begin == goal {
        return Some(to);
    }
    let distances = Distances::to(field, goal, begin)?;
    let mut next = None;
    let mut cell = begin;
    for _ in 0..LOOKAHEAD {
        let Some(closer) = distances.closer(cell) else {
            break;
        };
        cell = closer;
        // The first step in any case: whoever stands close to a corner has no straight way anywhere.
        if next.is_some() && !field.is_clear(from, cell.middle()) {
            break;
        }
        next = Some(cell.middle());
    }
    next
}

/// How far cells are from a goal, as far as they have been looked at.
struct Distances {
    /// 0 for unknown, else one more than the distance.
    cells: [u16; CELLS],
    width: usize,
    height: usize,
}

impl Distances {
    /// Searches from the goal until `begin` is reached; `None` if it cannot be.
    fn to(field: &Field<'_>, goal: Cell, begin: Cell) -> Option<Distances> {
        let mut distances = Distances {
            cells: [0; CELLS],
            width: field.width() as usize,
            height: field.height() as usize,
        };
        let mut queue = [0u16; CELLS];
        let (first, last) = (distances.at(goal)?, distances.at(begin)?);
        distances.cells[first] = 1;
        queue[0] = first as u16;
        let (mut next, mut end) = (0, 1);
        while next < end && distances.cells[last] == 0 {
            let at = usize::from(queue[next]);
            next += 1;
            let (column, row) = ((at % distances.width) as i32, (at / distances.width) as i32);
            for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
                if field.is_solid(column + x, row + y) {
                    continue;
                }
                let beside = (row + y) as usize * distances.width + (column + x) as usize;
                if distances.cells[beside] == 0 {
                    distances.cells[beside] = distances.cells[at] + 1;
                    queue[end] = beside as u16;
                    end += 1;
                }
            }
        }
        (distances.cells[last] > 0).then_some(distances)
    }

    fn at(&self, cell: Cell) -> Option<usize> {
        let (column, row) = (usize::from(cell.column), usize::from(cell.row));
        (column < self.width && row < self.height).then_some(row * self.width + column)
    }

    /// The cell beside this one that is closer to the goal.
    fn closer(&self, cell: Cell) -> Option<Cell> {
        let own = self.cells[self.at(cell)?];
        let beside = [(1i16, 0i16), (-1, 0), (0, 1), (0, -1)];
        let cells = beside.iter().filter_map(|(x, y)| {
            let column = u8::try_from(i16::from(cell.column) + x).ok()?;
            let row = u8::try_from(i16::from(cell.row) + y).ok()?;
            Some(Cell::new(column, row))
        });
        let distance = |cell: &Cell| self.at(*cell).map_or(0, |at| self.cells[at]);
        let mut closer = cells.filter(|cell| distance(cell) > 0 && distance(cell) < own);
        closer.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Builtin;
    use crate::motion::{Body, FORCE};
    use crate::place::{Heading, ONE};

    #[test]
    fn a_way_leads_from_everywhere_to_everywhere_else() {
        for builtin in Builtin::ALL {
            let mut map = builtin.map();
            map.rows.iter_mut().for_each(|row| row.boxes = 0);
            let field = map.field();
            let cells: Vec<Cell> = field.floor().collect();
            for (from, to) in cells.iter().zip(cells.iter().rev()).step_by(7) {
                let mut body = Body::at(from.middle());
                let target = to.middle();
                let mut ticks = 0;
                while !body.place.is_within(target, ONE / 2) {
                    let next = next_place(&field, body.place, target).expect("a way");
                    let heading = Heading::of(body.place.to(next)).unwrap_or_default();
                    for _ in 0..6 {
                        body = body.advance(heading.way(FORCE), &field);
                    }
                    ticks += 6;
                    assert!(ticks < 60 * 60, "{builtin:?}: from {from:?} to {to:?}");
                }
            }
        }
    }

    #[test]
    fn no_way_leads_through_walls() {
        let rows = "#...#...#\n".repeat(3);
        let text = format!("name: Two\n\n#########\n{rows}#.......#\n{rows}#########\n");
        let mut map = crate::Map::parse(&text).unwrap();
        let (from, to) = (Place::middle_of(1, 1), Place::middle_of(6, 1));
        assert!(next_place(&map.field(), from, to).is_some());
        map.rows[4].set(4, crate::Ground::Box);
        assert_eq!(next_place(&map.field(), from, to), None);
        let outside = Place::new(-5 * ONE, 99 * ONE);
        assert_eq!(next_place(&map.field(), from, outside), None);
    }
}
