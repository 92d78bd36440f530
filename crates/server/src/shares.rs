//! Shares of a bounded resource, by holder.

use std::collections::HashMap;
use std::hash::Hash;

/// Amounts of a resource that its holders have: places or bytes of clients, connections of
/// networks.
///
/// All bounds of the server are fair in the same way: a holder with more gives way to one that
/// would still have less.
pub(crate) struct Shares<K> {
    total: usize,
    /// Holders with an amount above 0.
    held: HashMap<K, usize>,
}

/// A holder, and the amount that it has.
pub(crate) struct Holding<K> {
    pub(crate) holder: K,
    pub(crate) amount: usize,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self {
            total: 0,
            held: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// The amount that all holders have together.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// The amount that a holder has.
    pub(crate) fn of(&self, holder: &K) -> usize {
        self.held.get(holder).copied().unwrap_or(0)
    }

    /// The amount that some of the holders have together.
    pub(crate) fn total_of(&self, is_counted: impl Fn(&K) -> bool) -> usize {
        let counted = self.held.iter().filter(|(holder, _)| is_counted(holder));
        counted.map(|(_, amount)| amount).sum()
    }

    /// Adds to what a holder has.
    pub(crate) fn take(&mut self, holder: &K, amount: usize) {
        self.total += amount;
        *self.held.entry(holder.clone()).or_default() += amount;
    }

    /// Subtracts from what a holder has.
    pub(crate) fn give_back(&mut self, holder: &K, amount: usize) {
        self.total -= amount;

        if let Some(held) = self.held.get_mut(holder) {
            *held -= amount;
            // Forgotten, so that the table is no larger than the resource.
            if *held == 0 {
                self.held.remove(holder);
            }
        }
    }

    /// The holders with more than `amount`, the one with the most first.
    pub(crate) fn above(&self, amount: usize) -> Vec<Holding<K>> {
        let mut heavier = Vec::new();
        for (holder, &held) in &self.held {
            if held > amount {
                heavier.push(Holding {
                    holder: holder.clone(),
                    amount: held,
                });
            }
        }

        heavier.sort_by_key(|share| std::cmp::Reverse(share.amount));
        heavier
    }

    /// The holder with the most, if it has more than `amount`.
    pub(crate) fn heaviest_above(&self, amount: usize) -> Option<Holding<K>> {
        let heaviest = self.held.iter().max_by_key(|(_, held)| **held);
        let (holder, &held) = heaviest?;
        if held <= amount {
            return None;
        }

        Some(Holding {
            holder: holder.clone(),
            amount: held,
        })
    }

    /// Returns whether nobody holds anything.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_ordered_by_what_they_have() {
        let mut shares = Shares::default();
        shares.take(&'a', 2);
        shares.take(&'b', 5);
        shares.take(&'c', 3);
        shares.take(&'a', 2);
        assert_eq!(
            (shares.total(), shares.of(&'a'), shares.of(&'d')),
            (12, 4, 0)
        );

        let order: Vec<char> = shares
            .above(3)
            .iter()
            .map(|holding| holding.holder)
            .collect();
        assert_eq!(order, ['b', 'a']);
        assert_eq!(shares.total_of(|holder| *holder != 'b'), 7);
        let heaviest = shares.heaviest_above(4).map(|holding| holding.amount);
        assert_eq!(heaviest, Some(5));
        assert!(shares.heaviest_above(5).is_none());

        shares.give_back(&'b', 5);
        assert_eq!(shares.above(0).len(), 2);
        shares.give_back(&'a', 4);
        shares.give_back(&'c', 3);
        assert!(shares.is_empty());
        assert_eq!(shares.total(), 0);
    }
}
