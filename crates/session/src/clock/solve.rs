//! Clocks that fit all measured offsets best: weighted least squares, reweighted by their residuals so that an outlier counts less
//! (iteratively reweighted least squares; the weight is Cauchy's).

/// A measured offset: the clock of `to` minus that of `from`, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) offset: f64,
    pub(crate) error: f64,
}

/// An offset this far from what the others say is a slow direction rather than chance: it counts less.
const DOUBTFUL: f64 = 1e-3;
/// No offset is known better than this.
const EXACT: f64 = 50e-6;
/// The number of reweighting rounds.
const ROUNDS: usize = 6;

/// Finds what has to be added to the clock of `wanted` to get the common time, from what has to be added to the `anchors`: the
/// weighted least squares over all offsets. Also says how exact that is. `None` if no way leads from an anchor to it.
pub(crate) fn solve(
    count: usize,
    edges: &[Edge],
    anchors: &[(usize, f64)],
    wanted: usize,
) -> Option<(f64, f64)> {
    let first = guess(count, edges, anchors);
    let middle = first[wanted]?;
    // Everything relative to a first guess stays small and exact.
    let usable: Vec<(Edge, f64)> = edges
        .iter()
        .filter_map(|edge| Some((*edge, edge.offset - (first[edge.from]? - first[edge.to]?))))
        .collect();
    let anchored: Vec<(usize, f64)> = anchors
        .iter()
        .filter_map(|(node, value)| Some((*node, value - first[*node]?)))
        .collect();
    let mut found = vec![0.0; count];
    let mut error = 0.0;
    for round in 0..ROUNDS {
        let mut matrix = vec![0.0; count * count];
        let mut right = vec![0.0; count];
        for (edge, offset) in &usable {
            let residual = offset - (found[edge.from] - found[edge.to]);
            let doubtful = residual / (DOUBTFUL + 2.0 * edge.error);
            // The first round gives all offsets the same weight.
            let trust = if round == 0 {
                1.0
            } else {
                1.0 / (1.0 + doubtful * doubtful)
            };
            let weight = trust / (edge.error * edge.error + EXACT * EXACT);
            let (i, j) = (edge.from, edge.to);
            matrix[i * count + i] += weight;
            matrix[j * count + j] += weight;
            matrix[i * count + j] -= weight;
            matrix[j * count + i] -= weight;
            right[i] += weight * offset;
            right[j] -= weight * offset;
        }
        let heavy = 1e3 / (EXACT * EXACT);
        for (node, value) in &anchored {
            matrix[node * count + node] += heavy;
            right[*node] += heavy * value;
        }
        for node in 0..count {
            if first[node].is_none() {
                matrix[node * count + node] = 1.0;
            }
        }
        let weights = matrix[wanted * count + wanted];
        error = (1.0 / weights.max(1e-12)).sqrt();
        found = eliminate(matrix, right)?;
    }
    Some((middle + found[wanted], error))
}

/// Follows the offsets outwards from the anchors, the best first.
fn guess(count: usize, edges: &[Edge], anchors: &[(usize, f64)]) -> Vec<Option<f64>> {
    let mut found = vec![None; count];
    for (node, value) in anchors {
        found[*node] = Some(*value);
    }
    let mut order: Vec<&Edge> = edges.iter().collect();
    order.sort_by(|a, b| a.error.total_cmp(&b.error));
    loop {
        let next = order
            .iter()
            .find_map(|edge| match (found[edge.from], found[edge.to]) {
                (Some(value), None) => Some((edge.to, value - edge.offset)),
                (None, Some(value)) => Some((edge.from, value + edge.offset)),
                _ => None,
            });
        let Some((node, value)) = next else {
            return found;
        };
        found[node] = Some(value);
    }
}

/// Gauss's elimination of a symmetric positive definite system, which needs no pivoting.
fn eliminate(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let count = right.len();
    for pivot in 0..count {
        let diagonal = matrix[pivot * count + pivot];
        if diagonal <= 0.0 || !diagonal.is_finite() {
            return None;
        }
        for row in pivot + 1..count {
            let factor = matrix[row * count + pivot] / diagonal;
            if factor == 0.0 {
                continue;
            }
            for column in pivot..count {
                matrix[row * count + column] -= factor * matrix[pivot * count + column];
            }
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..count).rev() {
        let mut value = right[row];
        for column in row + 1..count {
            value -= matrix[row * count + column] * right[column];
        }
        right[row] = value / matrix[row * count + row];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, offset: f64) -> Edge {
        Edge {
            from,
            to,
            offset,
            error: 1e-4,
        }
    }

    #[test]
    fn a_chain_is_followed_to_its_end() {
        // Clock 1 is 5 s ahead of clock 0, clock 2 is 1 s behind clock 1.
        let edges = [edge(0, 1, 5.0), edge(1, 2, -1.0)];
        let (found, _) = solve(3, &edges, &[(0, 100.0)], 2).unwrap();
        assert!((found - 96.0).abs() < 1e-9, "{found}");
        assert!(solve(4, &edges, &[(0, 100.0)], 3).is_none());
        assert!(solve(3, &edges, &[], 2).is_none());
    }

    #[test]
    fn one_wrong_offset_is_outvoted() {
        let truth = [0.0, 3.0, -7_200.0, 40.0, 1.5];
        let mut edges = Vec::new();
        for from in 0..5 {
            for to in 0..5 {
                if from != to {
                    edges.push(edge(from, to, truth[to] - truth[from]));
                }
            }
        }
        // The direct way is 60 ms longer in one direction.
        for e in &mut edges {
            if e.from == 0 && e.to == 2 {
                e.offset += 0.03;
            } else if e.from == 2 && e.to == 0 {
                e.offset -= 0.03;
            }
        }
        let (found, _) = solve(5, &edges, &[(0, 10.0)], 2).unwrap();
        assert!((found - 7_210.0).abs() < 1e-3, "{}", found - 7_210.0);
    }
}
