//! SplitMix64's mixing function, which is not cryptographic.

/// A bijection on 64 bits in which every output bit depends on all input bits: the finalizer of the
/// SplitMix64 generator (Steele, Lea, Flood 2014).
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the generator with seed 0.
    #[test]
    fn mix_is_splitmix64() {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        assert_eq!(mix(STEP), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(STEP.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }
}
