package scheme

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"papir.example/go/internal/sample"
	"papir.example/go/internal/vectors"
	"papir.example/go/internal/wire"
)

func codeOf(err error) string {
	var refused *wire.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func numbers(values ...uint64) (out []byte) {
	for _, value := range values {
		out = binary.LittleEndian.AppendUint64(out, value)
	}
	return out
}

func TestHostileParametersOfSimpleAreRefused(t *testing.T) {
	for name, one := range map[string]struct {
		parameters []byte
		code       string
	}{
		"good":                   {numbers(60, 56, 3), ""},
		"a bound on failures":    {append(numbers(60, 56, 3), 128), ""},
		"a bound that is none":   {append(numbers(60, 56, 3), 40), wire.OutOfBounds},
		"a bound too low":        {append(numbers(60, 56, 3), 129), wire.OutOfBounds},
		"two bytes more":         {append(numbers(60, 56, 3), 128, 0), wire.WrongLength},
		"a byte less":            {numbers(60, 56, 3)[:23], wire.WrongLength},
		"no records":             {numbers(0, 56, 3), wire.OutOfBounds},
		"too many records":       {numbers(1<<40+1, 8, 1<<20), wire.OutOfBounds},
		"no bits":                {numbers(60, 0, 3), wire.OutOfBounds},
		"too many bits":          {numbers(60, 1<<21+8, 1), wire.OutOfBounds},
		"no units":               {numbers(60, 56, 0), wire.OutOfBounds},
		"more units than stored": {numbers(60, 56, 61), wire.OutOfBounds},
		"too many rows":          {numbers(1<<40, 56, 1<<21), wire.OutOfBounds},
		"rows that overflow":     {numbers(1<<40, 1<<21, 1<<40), wire.OutOfBounds},
		"too many columns":       {numbers(1<<17, 8, 1), wire.OutOfBounds},
	} {
		opened, err := openSimple(one.parameters, nil)
		// The public part is missing in all of them.
		code := codeOf(err)
		if one.code == "" {
			if code != wire.WrongLength {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if code != one.code || opened == Scheme(nil) && err == nil {
			t.Errorf("%s: %v, expected %s", name, err, one.code)
		}
	}
}

// changed returns the parameters of the vectors with some bytes replaced.
func changed(parameters []byte, at int, bytes ...byte) []byte {
	out := append([]byte(nil), parameters...)
	copy(out[at:], bytes)
	return out
}

func u32(value uint32) []byte { return binary.LittleEndian.AppendUint32(nil, value) }

func f64(value float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(value))
}

func TestHostileParametersOfInspireAreRefused(t *testing.T) {
	var v lookupVectors
	vectors.Read(t, "inspire.json", &v)
	good, _ := hex.DecodeString(v.Parameters)
	const (
		records, recordBits, degree, q1, q2, sigma, points = 0, 8, 16, 20, 24, 28, 36
		packing, rgsw, queryBits, keyBits, masks, bodies   = 40, 43, 46, 47, 50, 51
	)
	several := func(t uint32, sizes ...uint32) []byte {
		out := changed(good, points, u32(t)...)
		for _, size := range sizes {
			out = append(out, u32(size)...)
		}
		return out
	}
	for name, one := range map[string]struct {
		parameters []byte
		code       string
	}{
		"good":                     {good, ""},
		"two variables":            {several(8, 2, 4), ""},
		"four variables":           {append(several(16, 2, 2, 2, 2), 64), ""},
		"a smaller degree":         {changed(good, degree, u32(1024)...), wire.Insecure},
		"a larger degree":          {changed(good, degree, u32(4096)...), wire.Insecure},
		"no errors":                {changed(good, sigma, f64(0)...), wire.Insecure},
		"small errors":             {changed(good, sigma, f64(3.2)...), wire.Insecure},
		"errors that are none":     {changed(good, sigma, f64(math.NaN())...), wire.Insecure},
		"a longer q":               {changed(changed(good, q1, u32(1<<28-57)...), q2, u32(1<<28-57)...), wire.Insecure},
		"a q of zero":              {changed(good, q1, u32(0)...), wire.OutOfBounds},
		"equal primes":             {changed(changed(good, q1, u32(12289)...), q2, u32(12289)...), wire.OutOfBounds},
		"a q that is no prime":     {changed(good, q1, u32(4097)...), wire.OutOfBounds},
		"a prime without roots":    {changed(good, q1, u32(12281)...), wire.OutOfBounds},
		"no records":               {changed(good, records, numbers(0)...), wire.OutOfBounds},
		"too many bits":            {changed(good, recordBits, numbers(1<<21+1)...), wire.OutOfBounds},
		"no points":                {several(0), wire.OutOfBounds},
		"too many points":          {several(4097), wire.OutOfBounds},
		"many points":              {several(math.MaxUint32), wire.OutOfBounds},
		"another product":          {several(8, 2, 2), wire.OutOfBounds},
		"a product that overflows": {several(8, 4096, 4096, 4096, 4096), wire.OutOfBounds},
		"a variable of one point":  {several(8, 8, 1), wire.OutOfBounds},
		"one variable":             {several(8, 8), wire.WrongLength},
		"five variables":           {several(32, 2, 2, 2, 2, 2), wire.WrongLength},
		"two bytes more":           {append(several(8), 41, 41), wire.WrongLength},
		"a bound that is none":     {append(several(8), 0), wire.OutOfBounds},
		"no reserve":               {changed(good, masks, good[masks]&0x7f), wire.OutOfBounds},
		"masks of no bits":         {changed(good, masks, 0x80), wire.OutOfBounds},
		"masks of many bits":       {changed(good, masks, 0x80|33), wire.OutOfBounds},
		"masks of most bits":       {changed(good, masks, 0xff), wire.OutOfBounds},
		"bodies of few bits":       {changed(good, bodies, 16), wire.OutOfBounds},
		"more bits than masks":     {changed(good, bodies, good[masks]&0x7f+1), wire.OutOfBounds},
		"no query bits":            {changed(good, queryBits, 0), wire.OutOfBounds},
		"many query bits":          {changed(good, queryBits, 56), wire.OutOfBounds},
		"most query bits":          {changed(good, queryBits, 255), wire.OutOfBounds},
		"no key bits":              {changed(good, keyBits, 0), wire.OutOfBounds},
		"many RGSW bits":           {changed(good, keyBits+2, 200), wire.OutOfBounds},
		"no digits":                {changed(good, packing, 0), wire.OutOfBounds},
		"many digits":              {changed(good, packing, 255, 255, 255), wire.OutOfBounds},
		"digits of no bits":        {changed(good, packing+1, 0), wire.OutOfBounds},
		"no RGSW digits":           {changed(several(8), rgsw, 0), wire.OutOfBounds},
		"unused RGSW digits":       {changed(good, rgsw, 0), ""},
		"too many columns":         {changed(good, records, numbers(1<<40)...), wire.OutOfBounds},
	} {
		_, err := readInspire(one.parameters)
		if code := codeOf(err); code != one.code {
			t.Errorf("%s: `%s` (%v), expected `%s`", name, code, err, one.code)
		}
	}
	for length := range good {
		if _, err := readInspire(good[:length]); err == nil {
			t.Errorf("%d bytes are accepted", length)
		}
	}
}

// parameters1 are parameters of `inspire1`.
func parameters1(records, recordBits, packs uint64, bits [8]byte) []byte {
	return append(numbers(records, recordBits, packs), bits[:]...)
}

var goodBits = [8]byte{3, 14, 11, 32, 40, 30, 20, 6}

func TestHostileParametersOfInspire1AreRefused(t *testing.T) {
	bits := func(at int, to byte) [8]byte {
		changed := goodBits
		changed[at] = to
		return changed
	}
	for name, one := range map[string]struct {
		parameters []byte
		code       string
	}{
		"good":                {parameters1(100, 800, 1, goodBits), ""},
		"a bound on failures": {append(parameters1(100, 800, 1, goodBits), 100), ""},
		"no packs":            {parameters1(100, 800, 0, goodBits), wire.OutOfBounds},
		"too few packs":       {parameters1(100, 8*1025, 1, goodBits), wire.OutOfBounds},
		"too many packs":      {parameters1(100, 800, 4097, goodBits), wire.OutOfBounds},
		"many packs":          {parameters1(100, 800, 1<<63, goodBits), wire.OutOfBounds},
		"too many columns":    {parameters1(1<<40, 800, 1, goodBits), wire.OutOfBounds},
		"no digits":           {parameters1(100, 800, 1, bits(0, 0)), wire.OutOfBounds},
		"many digits":         {parameters1(100, 800, 1, bits(0, 255)), wire.OutOfBounds},
		"no query bits":       {parameters1(100, 800, 1, bits(3, 0)), wire.OutOfBounds},
		"many query bits":     {parameters1(100, 800, 1, bits(3, 53)), wire.OutOfBounds},
		"no key bits":         {parameters1(100, 800, 1, bits(4, 0)), wire.OutOfBounds},
		"no bits of y_h":      {parameters1(100, 800, 1, bits(5, 0)), wire.OutOfBounds},
		"masks of a word":     {parameters1(100, 800, 1, [8]byte{3, 14, 11, 32, 40, 30, 4, 4}), wire.OutOfBounds},
		"masks of many bits":  {parameters1(100, 800, 1, bits(6, 33)), wire.OutOfBounds},
		"no bodies":           {parameters1(100, 800, 1, bits(7, 0)), wire.OutOfBounds},
		"more than masks":     {parameters1(100, 800, 1, bits(7, 21)), wire.OutOfBounds},
		"words of an entry":   {append(parameters1(100, 800, 1, goodBits), 3, 6), ""},
		"words and a bound":   {append(parameters1(100, 800, 1, goodBits), 2, 7, 100), ""},
		"one word":            {append(parameters1(100, 800, 1, goodBits), 1, 0), wire.OutOfBounds},
		"many words":          {append(parameters1(100, 800, 1, goodBits), 9, 5), wire.OutOfBounds},
		"words that overlap":  {append(parameters1(100, 800, 1, goodBits), 2, 4), wire.OutOfBounds},
		"words far apart":     {append(parameters1(100, 800, 1, goodBits), 2, 28), wire.OutOfBounds},
		"a short selector":    {append(parameters1(100, 800, 1, bits(3, 12)), 3, 6), wire.OutOfBounds},
		"a byte less":         {parameters1(100, 800, 1, goodBits)[:31], wire.WrongLength},
		"a bound too low":     {append(parameters1(100, 800, 1, goodBits), 200), wire.OutOfBounds},
	} {
		public := make([]byte, 32+20*2048/8)
		_, err := openInspire1(one.parameters, public)
		if code := codeOf(err); code != one.code {
			t.Errorf("%s: `%s` (%v), expected `%s`", name, code, err, one.code)
		}
		if one.code == "" {
			if _, err := openInspire1(one.parameters, public[1:]); codeOf(err) != wire.WrongLength {
				t.Errorf("%s: a short public part: %v", name, err)
			}
		}
	}
}

func TestUnitsHoldTheMostRecords(t *testing.T) {
	for _, one := range []struct {
		bits                   uint64
		bytes                  int
		expected, expectedBits uint64
	}{
		{1, 4096, 32768, 1},
		{8, 4096, 4096, 8},
		{9, 4096, 3640, 9},
		{12, 4096, 2728, 12},
		{240, 4096, 136, 240},
		{4095 * 8, 4096, 1, 4095 * 8},
		{1025 * 8, 4096, 3, 1025 * 8},
		{1025*8 - 3, 4096, 3, 1025 * 8},
	} {
		u, err := newUnits(Shape{Records: 100, RecordBits: one.bits}, one.bytes)
		if err != nil || u.records != one.expected || u.storedBits != one.expectedBits {
			t.Errorf("%d bits: %d records of %d bits, %v", one.bits, u.records, u.storedBits, err)
		}
	}
	if _, err := newUnits(Shape{Records: 1, RecordBits: 33}, 4); err == nil {
		t.Error("a record longer than its unit is accepted")
	}
}

func TestEveryRecordIsSelected(t *testing.T) {
	data := make([]byte, 30)
	for i := range data {
		data[i] = byte(37*i + 5)
	}
	for _, bits := range []uint64{1, 5, 8, 13, 24} {
		count := 8 * uint64(len(data)) / bits
		for slot := uint64(0); slot < count; slot++ {
			found := selectBits(data, count, bits, bits, slot)
			for k := uint64(0); k < bits; k++ {
				expected := data[(slot*bits+k)/8] >> ((slot*bits + k) % 8) & 1
				if found[k/8]>>(k%8)&1 != expected {
					t.Fatalf("%d bits: bit %d of record %d", bits, k, slot)
				}
			}
			if rest := bits % 8; rest > 0 && found[len(found)-1]>>rest != 0 {
				t.Fatalf("%d bits: bits beyond record %d", bits, slot)
			}
		}
	}
}

func TestExponentsOfPoints(t *testing.T) {
	for _, one := range []struct{ element, points, expected uint64 }{
		{0, 8, 0}, {1, 8, 512}, {7, 8, 3584}, {0, 1, 0}, {2, 3, 2}, {1, 6, 2048}, {2, 6, 1}, {5, 6, 2050}, {4095, 4096, 4095},
	} {
		if found := exponent(one.element, one.points); found != one.expected {
			t.Errorf("%+v: %d", one, found)
		}
	}
}

func TestSecretsAreCleared(t *testing.T) {
	var v lookupVectors
	vectors.Read(t, "inspire.json", &v)
	parameters, public, _, answer := v.bytes(t)
	opened, err := openInspire(parameters, public)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := Query(opened, wire.Version{}, 42, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := secret.(*inspireSecret)
	// The answer is to another query, and is refused.
	if _, err := secret.Extract(answer); codeOf(err) != wire.NotDecodable {
		t.Errorf("%v", err)
	}
	for i := range one.key {
		for _, x := range one.key[i] {
			if x != 0 {
				t.Fatal("the key is still there")
			}
		}
	}
	if one.unit != 0 || one.slot != 0 {
		t.Error("the place is still there")
	}
}

func TestAnswersToOtherQueriesDoNotDecode(t *testing.T) {
	var v lookupVectors
	vectors.Read(t, "simple.json", &v)
	parameters, public, _, answer := v.bytes(t)
	opened, err := openSimple(parameters, public)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := 0; i < 50; i++ {
		_, secret, err := Query(opened, wire.Version{}, 42, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := secret.Extract(answer); codeOf(err) == wire.NotDecodable {
			refused++
		}
	}
	if refused < 49 {
		t.Errorf("%d of 50 are refused", refused)
	}
	if _, _, err := Query(opened, wire.Version{}, 60, nil); codeOf(err) != wire.OutOfRange {
		t.Errorf("%v", err)
	}
}

func FuzzPublicPart(f *testing.F) {
	for i, name := range []string{"simple.json", "inspire.json"} {
		var v lookupVectors
		vectors.Read(f, name, &v)
		parameters, public, _, answer := v.bytes(f)
		f.Add(uint8(i), parameters, public, answer)
	}
	f.Add(uint8(2), parameters1(100, 800, 1, goodBits), make([]byte, 32+20*2048/8), make([]byte, 6*2048/8))
	f.Fuzz(func(t *testing.T, which uint8, parameters, public, answer []byte) {
		one := families[int(which)%len(families)]
		opened, err := one.open(parameters, public)
		if err != nil {
			return
		}
		// Messages that are long take long; their lengths were checked.
		if opened.QueryBytes() > 1<<20 || opened.AnswerBytes() > 1<<20 {
			return
		}
		source, err := sample.ForQuery(opened.Number(), wire.Version{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		payload, secret := opened.query(opened.Shape().Records-1, source)
		if len(payload) != opened.QueryBytes() {
			t.Fatalf("a query of %d bytes, expected %d", len(payload), opened.QueryBytes())
		}
		if record, err := secret.Extract(answer); err == nil && len(record) != opened.Shape().RecordBytes() {
			t.Fatalf("a record of %d bytes, expected %d", len(record), opened.Shape().RecordBytes())
		}
	})
}
