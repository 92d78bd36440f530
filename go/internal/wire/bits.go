package wire

// PackedLen returns the number of bytes of count values of this many bits.
func PackedLen(count int, bits uint) int {
	// Both factors are checked before: count below 2^33, bits at most 64.
	return int((uint64(count)*uint64(bits) + 7) / 8)
}

// Pack appends values of this many bits, at most 56, without gaps, least significant bit first.
func Pack(out []byte, values []uint64, bits uint) []byte {
	var held uint64
	var count uint
	for _, value := range values {
		held |= value << count
		count += bits
		for count >= 8 {
			out = append(out, byte(held))
			held >>= 8
			count -= 8
		}
	}
	if count > 0 {
		out = append(out, byte(held))
	}
	return out
}

// Unpack returns count values of this many bits, at most 56, from exactly as many bytes as they
// need. Padding bits that are not zero are refused.
func Unpack(what string, data []byte, count int, bits uint) ([]uint64, error) {
	if expected := PackedLen(count, bits); len(data) != expected {
		return nil, Refuse(WrongLength, "%s: %d bytes: expected %d", what, len(data), expected)
	}
	values := make([]uint64, count)
	mask := uint64(1)<<bits - 1
	var held uint64
	var filled uint
	at := 0
	for i := range values {
		for filled < bits {
			held |= uint64(data[at]) << filled
			at++
			filled += 8
		}
		values[i] = held & mask
		held >>= bits
		filled -= bits
	}
	if held != 0 {
		return nil, Refuse(Malformed, "%s: padding bits that are set: expected zeros", what)
	}
	return values, nil
}

// ExtractBits returns the bits from start on, lowest first, in whole bytes. The data has them. No
// branch and no address depends on the bytes.
func ExtractBits(out, data []byte, start, bits uint64) {
	offset, shift := start/8, start%8
	for i := range out {
		pair := uint16(byteAt(data, offset+uint64(i))) | uint16(byteAt(data, offset+uint64(i)+1))<<8
		out[i] = byte(pair >> shift)
	}
	if rest := bits % 8; rest > 0 {
		out[len(out)-1] &= 1<<rest - 1
	}
}

func byteAt(data []byte, at uint64) byte {
	if at < uint64(len(data)) {
		return data[at]
	}
	return 0
}
