//! Products of powers: from bases b₁ … b_n and a matrix E of public exponents the products Π bᵢ^E\[r\]\[i\], one
//! for each row r. Encrypted vectors times public matrices.
//!
//! All rows have the same bases. So these are taken in blocks of k, by the method of four Russians: a
//! table holds the products of all 2ᵏ subsets of a block, and one multiplication by an entry of it serves
//! k bits, one of each exponent, of one row. There is an accumulator for each row and bit; block
//! after block is multiplied into them, so that one table is alive. In the end each row's accumulators
//! become one product by Horner's rule, with a squaring for each bit.
//!
//! For n bases, R rows and B bits that takes (n/k)·(2ᵏ + R·B) + 2·R·B multiplications: with the 1,256 bases,
//! 160 rows and 3,072 bits of a ticket some 46 million at k = 14. [`Plan`] chooses k, and how many rows at
//! once, for a bound on memory.
//!
//! - `exponents`: where exponents come from. `plan`: the costs. `steps`: the work, in steps that take some
//!   milliseconds each, so that it can be done in idle time.

mod exponents;
mod plan;
mod steps;

pub use exponents::{ExponentMatrix, Exponents};
pub use plan::{Plan, Shape};
pub use steps::Products;
