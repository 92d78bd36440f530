package blake3

import "testing"

func BenchmarkSum(b *testing.B) {
	data := input(1 << 20)
	b.SetBytes(int64(len(data)))
	for i := 0; i < b.N; i++ {
		Sum(data)
	}
}
