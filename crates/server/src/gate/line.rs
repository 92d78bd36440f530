//! Who waits, and who is answered together.

use std::collections::VecDeque;

/// Members of a group that gain most of what there is to gain by being answered together.
const FEW: usize = 4;

/// What decides who is answered together.
pub(crate) trait Kin: Sized {
    /// What those have in common that can be answered together.
    fn family(&self) -> usize;

    /// Whether this fits in a group of its family, which is not empty.
    fn fits<'a>(&'a self, group: impl Iterator<Item = &'a Self>) -> bool;
}

/// What waits for its turn, in the order of arrival.
///
/// Whoever came first is answered first, together with its family. These may overtake others that came
/// before them, which wait longer by what the group takes more: no group is larger than [`Kin::fits`]
/// allows, and the next one begins with the first of those who were overtaken.
pub(super) struct Line<W> {
    waiting: VecDeque<(u64, W)>,
    next: u64,
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), next: 0 }
    }
}

impl<W: Kin> Line<W> {
    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Adds one at the end; gives its number.
    pub(super) fn join(&mut self, work: W) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.push_back((number, work));
        number
    }

    /// Takes one out that waits no longer; `None` when its turn has come before.
    pub(super) fn leave(&mut self, number: u64) -> Option<W> {
        let place = self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.waiting.remove(place).map(|(_, work)| work)
    }

    /// Takes the first of a family that is not `busy`, and those that are answered together with it: half
    /// of its family, or a few, up to the first that does not fit. `None` when nobody of such a family waits.
    ///
    /// Half, so that groups are of even size: of clients that ask again and again, a group of all would
    /// make some wait for a long group and others for a short one.
    pub(super) fn take(&mut self, busy: &[usize]) -> Option<(usize, Vec<W>)> {
        let mut place = self.waiting.iter().position(|(_, work)| !busy.contains(&work.family()))?;
        let (_, first) = self.waiting.remove(place)?;
        let (family, mut group) = (first.family(), vec![first]);
        let others = self.waiting.range(place..).filter(|(_, work)| work.family() == family).count();
        let most = (others + 1).div_ceil(2).max(FEW);
        while let Some((_, work)) = self.waiting.get(place).filter(|_| group.len() < most) {
            if work.family() != family {
                place += 1;
            } else if work.fits(group.iter()) {
                group.extend(self.waiting.remove(place).map(|(_, work)| work));
            } else {
                break;
            }
        }
        Some((family, group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A family and a size; ten fit together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Sized(char, usize);

    impl Kin for Sized {
        fn family(&self) -> usize {
            self.0 as usize
        }

        fn fits<'a>(&'a self, group: impl Iterator<Item = &'a Self>) -> bool {
            group.map(|one| one.1).sum::<usize>() + self.1 <= 10
        }
    }

    fn line(all: &[Sized]) -> Line<Sized> {
        let mut line = Line::default();
        for &one in all {
            line.join(one);
        }
        line
    }

    fn take(line: &mut Line<Sized>, busy: &[char]) -> Vec<Sized> {
        let busy: Vec<usize> = busy.iter().map(|&family| family as usize).collect();
        line.take(&busy).map_or_else(Vec::new, |(_, group)| group)
    }

    #[test]
    fn the_first_takes_along_its_family() {
        let mut line = line(&[Sized('a', 1), Sized('b', 1), Sized('a', 2), Sized('b', 2), Sized('a', 3)]);
        assert_eq!(take(&mut line, &[]), [Sized('a', 1), Sized('a', 2), Sized('a', 3)]);
        assert_eq!(take(&mut line, &[]), [Sized('b', 1), Sized('b', 2)]);
        assert_eq!(take(&mut line, &[]), []);
    }

    #[test]
    fn of_many_half_are_taken() {
        let mut line = line(&[Sized('a', 1); 14]);
        let sizes: Vec<usize> = (0..4).map(|_| take(&mut line, &[]).len()).collect();
        assert_eq!(sizes, [7, 4, 3, 0]);
    }

    #[test]
    fn a_group_is_bounded_and_nobody_overtakes_within_a_family() {
        let mut line = line(&[Sized('a', 4), Sized('a', 4), Sized('a', 4), Sized('a', 1), Sized('b', 1)]);
        assert_eq!(take(&mut line, &[]), [Sized('a', 4), Sized('a', 4)]);
        assert_eq!(line.join(Sized('b', 8)), 5);
        assert_eq!(take(&mut line, &[]), [Sized('a', 4), Sized('a', 1)]);
        assert_eq!(take(&mut line, &[]), [Sized('b', 1), Sized('b', 8)]);
    }

    #[test]
    fn a_busy_family_waits_and_holds_up_no_other() {
        let mut line = line(&[Sized('a', 1), Sized('b', 1), Sized('a', 2), Sized('c', 1), Sized('b', 2)]);
        assert_eq!(take(&mut line, &['a']), [Sized('b', 1), Sized('b', 2)]);
        assert_eq!(take(&mut line, &['a', 'b']), [Sized('c', 1)]);
        assert_eq!(take(&mut line, &['a']), []);
        assert_eq!(take(&mut line, &[]), [Sized('a', 1), Sized('a', 2)]);
    }

    #[test]
    fn one_alone_may_be_of_any_size() {
        let mut line = line(&[Sized('a', 11), Sized('a', 1)]);
        assert_eq!(take(&mut line, &[]), [Sized('a', 11)]);
        assert_eq!(take(&mut line, &[]), [Sized('a', 1)]);
    }

    #[test]
    fn whoever_leaves_is_not_answered() {
        let mut line = line(&[Sized('a', 1), Sized('a', 2), Sized('a', 3)]);
        assert_eq!(line.leave(1), Some(Sized('a', 2)));
        assert_eq!(line.leave(1), None);
        assert_eq!(take(&mut line, &[]), [Sized('a', 1), Sized('a', 3)]);
        assert_eq!(line.leave(2), None, "its turn has come");
    }
}
