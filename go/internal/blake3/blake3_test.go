package blake3

import (
	"encoding/hex"
	"testing"
)

// input is the input of the official test vectors: bytes 0 to 250, repeated.
func input(length int) []byte {
	out := make([]byte, length)
	for i := range out {
		out[i] = byte(i % 251)
	}
	return out
}

// The beginnings of the official test vectors (test_vectors.json of the reference implementation).
func TestOfficialVectors(t *testing.T) {
	for _, one := range []struct {
		length int
		hash   string
	}{
		{0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
		{1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
		{1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"},
		{1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
		{1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
		{2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"},
		{2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"},
		{3072, "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2"},
		{31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"},
	} {
		sum := Sum(input(one.length))
		if found := hex.EncodeToString(sum[:]); found != one.hash {
			t.Errorf("%d bytes: %s, expected %s", one.length, found, one.hash)
		}
	}
}

func TestPiecesGiveTheSameHash(t *testing.T) {
	data := input(5000)
	whole := Sum(data)
	for _, piece := range []int{1, 63, 64, 65, 1024, 4999} {
		h := New()
		for rest := data; len(rest) > 0; {
			n := min(piece, len(rest))
			h.Write(rest[:n])
			rest = rest[n:]
		}
		if h.Sum() != whole {
			t.Errorf("pieces of %d bytes give another hash", piece)
		}
	}
}

func TestModesDiffer(t *testing.T) {
	data := input(100)
	var key [32]byte
	var keyed [32]byte
	SumKeyed(&key, data, keyed[:])
	plain, derived := Sum(data), DeriveKey("context", data)
	if plain == derived || plain == keyed || keyed == derived {
		t.Error("two modes give the same hash")
	}
	if DeriveKey("context", data[:40], data[40:]) != derived {
		t.Error("parts are not joined")
	}
}

func TestOutputContinues(t *testing.T) {
	h := New()
	h.Write([]byte("input"))
	whole := make([]byte, 200)
	h.Read(whole)
	parts := make([]byte, 200)
	output := h.Output()
	output.Read(parts[:70])
	output.Read(parts[70:])
	if string(whole) != string(parts) {
		t.Error("the output differs when it is read in parts")
	}
	if sum := h.Sum(); string(whole[:32]) != string(sum[:]) {
		t.Error("the output does not begin with the hash")
	}
}
