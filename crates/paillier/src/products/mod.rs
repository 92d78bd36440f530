//! Products of powers: encrypted vectors times public matrices.
//!
//! For bases b₁ … b_n and a matrix E of public exponents, these are the products Π bᵢ^E\[r\]\[i\],
//! one for each row r.
//!
//! All rows share the bases, which are processed in blocks of k by the method of four Russians. A
//! table holds the products of all 2ᵏ subsets of a block, and one multiplication by a table entry
//! accounts for k bits of a row, one of each exponent. Each row and bit has an accumulator. The
//! blocks are multiplied into the accumulators one after another, so only one table exists at a
//! time. Finally, Horner's rule, with a squaring for each bit, combines the accumulators of each
//! row.
//!
//! For n bases, R rows and B bits this takes (n/k)·(2ᵏ + R·B) + 2·R·B multiplications: about 46
//! million at k = 14 for the 1,256 bases, 160 rows and 3,072 bits of a ticket. [`Plan`] chooses k
//! and the number of rows processed together for a memory limit.
//!
//! Products of few and short powers, such as the difference between two matrices, are combined with
//! [`multiply_shifted`].
//!
//! - `exponents`: sources of exponents. `plan`: the cost model. `steps`: the computation in steps
//!   of some milliseconds, which can run in idle time. `shifted`: products of powers of powers of
//!   two.

mod exponents;
mod plan;
mod shifted;
mod steps;

pub use exponents::{ExponentMatrix, Exponents};
pub use plan::{Plan, Shape};
pub use shifted::{Place, ShiftedFactors, multiply_shifted};
pub use steps::Products;
