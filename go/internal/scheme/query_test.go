package scheme

import (
	"testing"

	"papir.example/go/internal/ring"
	"papir.example/go/internal/sample"
	"papir.example/go/internal/vectors"
	"papir.example/go/internal/wire"
)

// copyOf returns a copy of an element.
func copyOf(e ring.Element) ring.Element {
	return ring.Element{append([]uint64(nil), e[0]...), append([]uint64(nil), e[1]...)}
}

func TestQueriesOfInspireEncryptTheRecordsPlace(t *testing.T) {
	var v lookupVectors
	vectors.Read(t, "inspire.json", &v)
	parameters, public, _, _ := v.bytes(t)
	const points = 36
	for name, sizes := range map[string][]uint32{"one point": {1}, "t = 12": {12}, "t = 3·8·2": {48, 3, 8, 2}} {
		changed := changed(parameters, points, u32(sizes[0])...)
		for _, size := range sizes[1:] {
			changed = append(changed, u32(size)...)
		}
		// Records of 3 MB in total, in units of one record.
		changed = append(numbers(700, 4096*8), changed[16:]...)
		opened, err := openInspire(changed, public)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Run(name, func(t *testing.T) { checkQueries(t, opened.(*inspire)) })
	}
}

func checkQueries(t *testing.T, s *inspire) {
	t.Helper()
	for _, index := range []uint64{0, 17, 47, 699} {
		source, err := sample.ForQuery(inspireNumber, wire.Version{}, index, nil)
		if err != nil {
			t.Fatal(err)
		}
		query, secret := s.query(index, source)
		if len(query) != s.QueryBytes() {
			t.Fatalf("%d bytes, expected %d", len(query), s.QueryBytes())
		}
		key := secret.(*inspireSecret).key
		coefficients := copyOf(key)
		s.ring.ToCoefficients(coefficients)
		for k, x := range s.ring.Centred(copyOf(coefficients)) {
			if x > 78 || x < -78 {
				t.Fatalf("coefficient %d of the key is %d", k, x)
			}
		}
		checkInspireQuery(t, s, query, key, coefficients, index/s.units.records)
	}
}
