//! Sorting of points by their coordinates.
//!
//! Points that share coordinates share work and memory.

/// A group of points, with the coordinates that they do not share.
pub(super) struct PointGroup<'a> {
    /// Indices of the points.
    pub(super) order: &'a [u32],
    /// Residues of the points: a row for each coordinate.
    pub(super) rows: Vec<&'a [u16]>,
}

/// Sorts points into groups that share their first coordinates, and calls `leaf` with the shared
/// coordinates and each group, in ascending order. `prefix` has the coordinates that all points
/// share; they have no rows. Points are sorted by one coordinate after the other until
/// `enough(shared, points)` is true.
pub(super) fn walk(
    prime: u32,
    points: &PointGroup<'_>,
    prefix: &mut Vec<u16>,
    enough: &impl Fn(usize, usize) -> bool,
    leaf: &mut impl FnMut(&[u16], &PointGroup<'_>),
) {
    if points.rows.is_empty() || enough(prefix.len(), points.order.len()) {
        return leaf(prefix, points);
    }

    let sorted = Sorted::new(prime, points);
    for x in 0..prime {
        let group = sorted.of(x);
        if !group.order.is_empty() {
            prefix.push(x as u16);
            walk(prime, &group, prefix, enough, leaf);
            prefix.pop();
        }
    }
}

/// Points in the order of their first coordinate. The coordinate itself is removed.
struct Sorted {
    /// Start of the points of each value, and the number of points at the end.
    starts: Vec<u32>,
    order: Vec<u32>,
    rows: Vec<Vec<u16>>,
}

impl Sorted {
    /// Sorts points by counting.
    fn new(prime: u32, points: &PointGroup<'_>) -> Self {
        let first = points.rows[0];
        let others = &points.rows[1..];

        let mut starts = vec![0u32; prime as usize + 1];
        first.iter().for_each(|&x| starts[usize::from(x) + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }

        // Only places are scattered, so that the first-level cache holds the ends of all groups.
        // Rows are gathered.
        let mut next = starts.clone();
        let mut places = vec![0u32; first.len()];
        for (place, &x) in first.iter().enumerate() {
            let next = &mut next[usize::from(x)];
            places[*next as usize] = place as u32;
            *next += 1;
        }

        let order = places
            .iter()
            .map(|&place| points.order[place as usize])
            .collect();
        let rows = others
            .iter()
            .map(|row| places.iter().map(|&place| row[place as usize]).collect())
            .collect();

        Self {
            starts,
            order,
            rows,
        }
    }

    /// Returns the points with this value of the first coordinate.
    fn of(&self, x: u32) -> PointGroup<'_> {
        let range = self.starts[x as usize] as usize..self.starts[x as usize + 1] as usize;
        PointGroup {
            order: &self.order[range.clone()],
            rows: self.rows.iter().map(|row| &row[range.clone()]).collect(),
        }
    }
}
