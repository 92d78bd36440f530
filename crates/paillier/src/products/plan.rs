//! Block size and rows per pass of products of powers.

use crate::batch::LANES;

/// Largest block. Larger ones would save a twentieth, but their tables exceed every cache.
const MAXIMUM_BLOCK: u32 = 14;

/// Dimensions of the products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of products.
    pub rows: usize,
    /// Bases of each product.
    pub columns: usize,
    /// Bits of an exponent.
    pub bits: u32,
    /// Bytes of an element.
    pub element_bytes: usize,
}

/// Block size and rows per pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bases of a block; its table has 2 to this power elements.
    pub block: u32,
    /// Rows computed together, with one accumulator for each bit of each row.
    pub rows_at_once: usize,
}

impl Plan {
    /// Returns the plan with the fewest multiplications whose table and accumulators fit in
    /// `memory` bytes; the smallest plan if none fits.
    pub fn choose(shape: &Shape, memory: usize) -> Self {
        let mut best = Self {
            block: 1,
            rows_at_once: shape.rows.clamp(1, LANES),
        };

        // Multiples of the lane count, up to all rows: partial groups would waste lanes.
        for groups in 1..=shape.rows.div_ceil(LANES) {
            let rows_at_once = (groups * LANES).min(shape.rows);
            for block in 1..=MAXIMUM_BLOCK {
                let plan = Self {
                    block,
                    rows_at_once,
                };
                if plan.memory(shape) <= memory
                    && plan.multiplications(shape) < best.multiplications(shape)
                {
                    best = plan;
                }
            }
        }
        best
    }

    /// Bytes of the table and the accumulators.
    pub fn memory(&self, shape: &Shape) -> usize {
        let accumulators = self.rows_at_once.saturating_mul(shape.bits as usize);
        accumulators
            .saturating_add(1 << self.block)
            .saturating_mul(shape.element_bytes)
    }

    /// Multiplications and squarings: for each block a table and one for each bit of each row, plus
    /// two for each bit of each row.
    pub fn multiplications(&self, shape: &Shape) -> u64 {
        let accumulators = shape.rows as u64 * u64::from(shape.bits);
        let blocks = (shape.columns as u64).div_ceil(self.block.into());
        let passes = (shape.rows as u64).div_ceil(self.rows_at_once.max(1) as u64);
        // Each pass builds the table of every block again, since only one table exists at a time.
        blocks * (passes * (1 << self.block) + accumulators) + 2 * accumulators
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: Shape = Shape {
        rows: 160,
        columns: 1256,
        bits: 3072,
        element_bytes: 960,
    };

    #[test]
    fn a_ticket_takes_about_fifty_million_multiplications() {
        let plan = Plan::choose(&TICKET, 512 << 20);
        assert_eq!(plan.rows_at_once, 160);
        assert_eq!(plan.block, MAXIMUM_BLOCK);

        let least = plan.multiplications(&TICKET);
        assert!((40_000_000..50_000_000).contains(&least), "{least}");
        assert!(
            least < 160 * 3072 * 1256 / 2 / 6,
            "six times fewer than base by base"
        );
    }

    #[test]
    fn plans_respect_the_memory_limit() {
        for megabytes in [1, 16, 64, 128] {
            let plan = Plan::choose(&TICKET, megabytes << 20);
            let least = Plan {
                block: 1,
                rows_at_once: 8,
            }
            .memory(&TICKET);
            assert!(
                plan.memory(&TICKET) <= (megabytes << 20).max(least),
                "{megabytes}: {plan:?}"
            );
        }

        let small = Plan::choose(&TICKET, 64 << 20);
        assert!(small.multiplications(&TICKET) < 70_000_000, "{small:?}");
    }

    #[test]
    fn one_row_has_a_plan() {
        let plan = Plan::choose(
            &Shape {
                rows: 1,
                columns: 630,
                bits: 64,
                element_bytes: 960,
            },
            1 << 20,
        );
        assert_eq!(plan.rows_at_once, 1);
        assert!((4..=6).contains(&plan.block), "{plan:?}");

        assert_eq!(
            Plan::choose(
                &Shape {
                    rows: 0,
                    columns: 0,
                    bits: 1,
                    element_bytes: 8
                },
                0
            )
            .rows_at_once,
            1
        );
    }
}
