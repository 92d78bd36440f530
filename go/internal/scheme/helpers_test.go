package scheme

import "math/bits"

// mulShift returns ⌊a·b / 2^shift⌋.
func mulShift(a, b uint64, shift uint) uint64 {
	high, low := bits.Mul64(a, b)
	return high<<(64-shift) | low>>shift
}
