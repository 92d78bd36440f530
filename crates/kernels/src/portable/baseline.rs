//! Lanes of the portable backend.
//!
//! On x86-64 they are the lanes of SSE2, on aarch64 of NEON, which every such CPU has. LLVM does
//! not reliably find their products of 16-bit words in plain loops.

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use super::lanes::Plain as Baseline;
#[cfg(target_arch = "aarch64")]
pub(crate) use crate::aarch64::neon::Neon as Baseline;
#[cfg(target_arch = "x86_64")]
pub(crate) use crate::x86_64::sse2::Sse2 as Baseline;

#[cfg(test)]
mod tests {
    use super::super::lanes::{ByteLanes, FourLanes, Lanes, Plain};
    use super::*;

    fn products<L: Lanes<4>>(lanes: L, sum: u32, a: [[i16; 2]; 4], b: [[i16; 2]; 4]) -> [i32; 4] {
        let mut words = [0i32; 4];
        lanes.store(
            &mut words,
            lanes.add_products(lanes.splat(sum), lanes.load(&a), lanes.load(&b)),
        );
        words
    }

    fn halves<L: ByteLanes<4>>(lanes: L, cells: [[u8; 4]; 4]) -> [[[u16; 2]; 4]; 2] {
        lanes.split_bytes(lanes.load(&cells)).map(|half| {
            let mut pairs = [[0; 2]; 4];
            lanes.store(&mut pairs, half);
            pairs
        })
    }

    fn check<L: ByteLanes<4> + FourLanes>(lanes: L) {
        let a = [[1, 2], [-3, 4], [i16::MIN, i16::MIN], [5, -6]];
        let b = [[10, 100], [10, 100], [i16::MIN, i16::MIN], [-7, 8]];
        assert_eq!(products(lanes, 0, a, b), [210, 370, i32::MIN, -83]);
        assert_eq!(products(lanes, u32::MAX, a, b), [209, 369, i32::MAX, -84]);
        let cells = [[255, 1, 2, 3], [4, 250, 6, 7], [8; 4], [0; 4]];
        let even = [[255, 2], [4, 6], [8, 8], [0, 0]];
        let odd = [[1, 3], [250, 7], [8, 8], [0, 0]];
        assert_eq!(halves(lanes, cells), [even, odd]);
        let zipped = lanes.zip(lanes.load(&[1, 2, 3, 4]), lanes.load(&[5, 6, 7, 8]));
        assert_eq!(lanes.store_all(&[zipped]), [[[1, 5, 2, 6], [3, 7, 4, 8]]]);
    }

    #[test]
    fn plain_and_baseline_lanes_follow_their_definitions() {
        check(Plain);
        check(Baseline);
    }
}
