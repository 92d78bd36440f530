package papir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// quick are options for services that answer at once.
func quick() Options { return Options{Patience: 30 * time.Second, CatchUp: -1} }

func connect(t *testing.T, url string, options Options) *Client {
	t.Helper()
	c, err := Connect(context.Background(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func expectCode(t *testing.T, err error, code string) {
	t.Helper()
	if CodeOf(err) != code {
		t.Errorf("%v: the code is `%s`, expected `%s`", err, CodeOf(err), code)
	}
}

func TestRecordsAreRead(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	for _, index := range []uint64{0, 1, 7, 8, 31, 49} {
		record, err := c.GetIndex(context.Background(), index)
		if err != nil || len(record) != 1 || record[0] != byte(7*index) {
			t.Errorf("record %d is %x, %v", index, record, err)
		}
	}
	info, err := c.Info()
	if err != nil || info.Name != "bytes" || info.Scheme != "simple" || info.Records != 50 || info.RecordBytes != 1 ||
		info.Keyed || info.Signed || info.Version != c.Version() {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestManyRecordsTakeAsFewRequestsAsTheServiceAllows(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	f.taken()
	indices := []uint64{3, 3, 49, 0, 20, 21, 22, 23, 24}
	records, err := c.GetIndices(context.Background(), indices)
	if err != nil {
		t.Fatal(err)
	}
	for i, index := range indices {
		if records[i][0] != byte(7*index) {
			t.Errorf("record %d is %x", index, records[i])
		}
	}
	if taken := f.taken(); len(taken) != 3 {
		t.Errorf("%d requests: %v", len(taken), taken)
	}
}

func TestRequestsDoNotDependOnTheRecord(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	f.taken()
	var first []string
	for _, index := range []uint64{0, 49, 50, 1 << 63} {
		_, err := c.GetIndex(context.Background(), index)
		if index >= 50 {
			expectCode(t, err, "index_out_of_range")
		} else if err != nil {
			t.Error(err)
		}
		taken := f.taken()
		if first == nil {
			first = taken
		}
		if !slices.Equal(taken, first) {
			t.Errorf("record %d: %v, expected %v", index, taken, first)
		}
	}
}

func TestALookupOfAnotherKindSendsNothing(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	f.taken()
	_, _, err := c.Get(context.Background(), []byte("key"))
	expectCode(t, err, "not_keyed")
	if taken := f.taken(); len(taken) > 0 {
		t.Errorf("%v", taken)
	}
}

func TestAChangedVersionIsFollowed(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	before := c.Version()
	f.change(5)
	f.taken()
	record, err := c.GetIndex(context.Background(), 9)
	if err != nil || record[0] != 63+5 {
		t.Errorf("%x, %v", record, err)
	}
	if c.Version() == before {
		t.Error("the version is the same")
	}
	expected := []string{
		"POST /v1/databases/bytes/query 60",
		"GET /v1/databases/bytes?version=0500000000000000 0",
		"GET /v1/databases/bytes/public?version=0500000000000000 0",
		"POST /v1/databases/bytes/query 60",
	}
	if taken := f.taken(); !slices.Equal(taken, expected) {
		t.Errorf("%v", taken)
	}
}

func TestAServiceThatAlwaysChangesIsGivenUp(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"code":"wrong_version","version":"0100000000000000"}`)
		return true
	}
	_, err := c.GetIndex(context.Background(), 9)
	expectCode(t, err, "wrong_version")
}

func TestAnswersThatDoNotDecodeAreNotAskedAgain(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	for name, one := range map[string]struct {
		change func([]byte) []byte
		code   string
	}{
		"a word in the reserved range": {func(p []byte) []byte {
			return setWord(p, 3, getWord(p, 3)^1)
		}, "not_decodable"},
		"a short answer": {func(p []byte) []byte { return p[:len(p)-1] }, "wrong_length"},
		"a long answer":  {func(p []byte) []byte { return append(p, 0) }, "too_long"},
	} {
		f.mu.Lock()
		f.answer = one.change
		f.mu.Unlock()
		f.taken()
		_, err := c.GetIndex(context.Background(), 9)
		if CodeOf(err) != one.code {
			t.Errorf("%s: %v, expected %s", name, err, one.code)
		}
		if taken := f.taken(); len(taken) != 1 {
			t.Errorf("%s: %v", name, taken)
		}
	}
}

// getWord and setWord are one word of 9 bits of a payload.
func getWord(payload []byte, row uint) uint16 {
	bit := 9 * row
	pair := uint16(payload[bit/8]) | uint16(payload[bit/8+1])<<8
	return pair >> (bit % 8) & 0x1ff
}

func setWord(payload []byte, row uint, word uint16) []byte {
	out := bytes.Clone(payload)
	bit := 9 * row
	shift := bit % 8
	pair := uint32(out[bit/8]) | uint32(out[bit/8+1])<<8
	if int(bit/8+2) < len(out) {
		pair |= uint32(out[bit/8+2]) << 16
	}
	pair = pair&^(0x1ff<<shift) | uint32(word)<<shift
	out[bit/8], out[bit/8+1] = byte(pair), byte(pair>>8)
	return out
}

func TestAWholeBatchFailsWithOneAnswer(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	calls := 0
	f.mu.Lock()
	f.answer = func(p []byte) []byte {
		if calls++; calls == 2 {
			return setWord(p, 0, getWord(p, 0)^1)
		}
		return p
	}
	f.mu.Unlock()
	f.taken()
	_, err := c.GetIndices(context.Background(), []uint64{1, 2, 3, 4, 5, 6})
	expectCode(t, err, "not_decodable")
	if taken := f.taken(); len(taken) != 2 {
		t.Errorf("%v: expected both requests, whatever the first answer is", taken)
	}
}

func TestServicesThatLieAreRefused(t *testing.T) {
	for name, one := range map[string]struct {
		lie  func(*fake)
		code string
	}{
		"a scheme without privacy": {func(f *fake) {
			f.describe = func(d map[string]any) { d["scheme"] = "plain" }
		}, "wrong_scheme"},
		"a scheme that is not described": {func(f *fake) {
			f.bundle = func(b []byte) []byte { return resealed(b, func(e []byte) { e[6] = 0 }) }
		}, "wrong_scheme"},
		"a version that is none": {func(f *fake) {
			f.describe = func(d map[string]any) { d["version"] = "../../x" }
		}, "malformed"},
		"another version in the bundle": {func(f *fake) {
			f.bundle = func(b []byte) []byte { return resealed(b, func(e []byte) { e[8] = 2 }) }
		}, "wrong_version"},
		"a bundle longer than described": {func(f *fake) {
			f.bundle = func(b []byte) []byte { return append(b, 0) }
		}, "too_long"},
		"a damaged bundle": {func(f *fake) {
			f.bundle = func(b []byte) []byte { b[100]++; return b }
		}, "checksum"},
		"a bundle that is too long": {func(f *fake) {
			f.describe = func(d map[string]any) { d["sizes"] = map[string]any{"bundle": int64(1) << 40} }
		}, "too_large"},
		"a bundle of a negative length": {func(f *fake) {
			f.describe = func(d map[string]any) { d["sizes"] = map[string]any{"bundle": -1} }
		}, "too_large"},
		"a number that is text": {func(f *fake) {
			f.describe = func(d map[string]any) { d["max_batch"] = "many" }
		}, "unexpected"},
		"an endless description": {func(f *fake) {
			f.describe = func(d map[string]any) { d["filler"] = strings.Repeat("x", maxJSON) }
		}, "too_long"},
		"a redirection": {func(f *fake) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
				return true
			}
		}, "redirect"},
		"a page": {func(f *fake) {
			f.before = func(w http.ResponseWriter, _ *http.Request) bool {
				fmt.Fprint(w, "<html>")
				return true
			}
		}, "unexpected"},
		"no version": {func(f *fake) {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/public") {
					_, _ = w.Write([]byte("PIRB"))
					return true
				}
				return false
			}
		}, "unexpected"},
		"no access": {func(f *fake) {
			f.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"code":"unauthorized","detail":"missing or invalid token"}`)
				return true
			}
		}, "unauthorized"},
		"a negative batch": {func(f *fake) {
			f.describe = func(d map[string]any) { d["max_batch"] = -5 }
		}, ""},
	} {
		f := newFake(t, 20, 4)
		one.lie(f)
		c, err := Connect(context.Background(), f.server.URL, quick())
		if CodeOf(err) != one.code || (err == nil) != (one.code == "") {
			t.Errorf("%s: %v, expected %s", name, err, one.code)
		}
		if err == nil {
			if _, err := c.GetIndices(context.Background(), []uint64{1, 2}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			c.Close()
		}
	}
}

// resealed changes the envelope in a bundle, and computes both checksums again.
func resealed(bundle []byte, change func([]byte)) []byte {
	length := len(bundle) - 16 - 8 - 8
	envelope := bundle[16 : 16+length]
	change(envelope)
	sealed := checksummed(envelope)
	out := append(bytes.Clone(bundle[:16]), sealed...)
	return checksummed(append(append(out, make([]byte, 8)...), make([]byte, 8)...))
}

func TestABusyServiceIsAskedAgainWithTheSameBytes(t *testing.T) {
	f := newFake(t, 20, 4)
	c := connect(t, f.server.URL, quick())
	refusals := 0
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || refusals == 3 {
			return false
		}
		status := []int{429, 503, 502}[refusals]
		refusals++
		w.WriteHeader(status)
		fmt.Fprint(w, `{"code":"busy","retryable":false}`)
		return true
	}
	f.taken()
	if _, err := c.GetIndex(context.Background(), 3); err != nil {
		t.Error(err)
	}
	if taken := f.taken(); len(taken) != 4 || taken[0] != taken[3] {
		t.Errorf("%v", taken)
	}
}

func TestARefusalThatStaysIsTheError(t *testing.T) {
	f := newFake(t, 20, 4)
	options := quick()
	options.Patience = -1
	c := connect(t, f.server.URL, options)
	for status, code := range map[int]string{429: "busy", 500: "internal", 400: "malformed"} {
		f.mu.Lock()
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"code":"%s","detail":"why","retryable":true}`, code)
			return true
		}
		f.mu.Unlock()
		f.taken()
		_, err := c.GetIndex(context.Background(), 3)
		expectCode(t, err, code)
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != status || !strings.Contains(err.Error(), "why") {
			t.Errorf("%v", err)
		}
		if taken := f.taken(); len(taken) != 1 {
			t.Errorf("%d: %v", status, taken)
		}
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	f := newFake(t, 20, 4)
	c := connect(t, f.server.URL, quick())
	held := make(chan struct{})
	f.before = func(http.ResponseWriter, *http.Request) bool {
		<-held
		return true
	}
	defer close(held)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := c.GetIndex(ctx, 3)
	expectCode(t, err, "canceled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestCallsEndAfterTheirTimeout(t *testing.T) {
	f := newFake(t, 20, 4)
	held := make(chan struct{})
	f.before = func(http.ResponseWriter, *http.Request) bool {
		<-held
		return true
	}
	defer close(held)
	options := quick()
	options.Timeout = 50 * time.Millisecond
	_, err := Connect(context.Background(), f.server.URL, options)
	expectCode(t, err, "timed_out")
}

func TestAnUnsignedDatabaseIsRefusedWhereASignatureIsRequired(t *testing.T) {
	f := newFake(t, 20, 4)
	for name, options := range map[string]Options{
		"an owner":      {OwnerKey: "o+38ebff65+AU1LGAYvhQJZjeBFyntp8Gf1n5Oxbjr4czqYitwjQfXI"},
		"an age":        {MaxAge: time.Hour},
		"a sequence":    {Sequence: 1},
		"cosignatures":  {Cosignatures: 1},
		"a pin's file?": {},
	} {
		_, err := Connect(context.Background(), f.server.URL, options)
		if expected := map[bool]string{true: "", false: "no_checkpoint"}[name == "a pin's file?"]; CodeOf(err) != expected {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Connect(context.Background(), f.server.URL, Options{Root: strings.Repeat("00", 32)})
	expectCode(t, err, "wrong_root")
}

func TestSeveralGoroutinesShareAClient(t *testing.T) {
	f := newFake(t, 50, 8)
	c := connect(t, f.server.URL, quick())
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := uint64(0); i < 4; i++ {
				if g == 0 && i == 2 {
					f.change(9)
				}
				record, err := c.GetIndex(context.Background(), 5*i)
				if err != nil || (record[0] != byte(35*i) && record[0] != byte(35*i)+9) {
					t.Errorf("%x, %v", record, err)
				}
			}
		}()
	}
	group.Wait()
}

func TestAClosedClientRefuses(t *testing.T) {
	f := newFake(t, 20, 4)
	c := connect(t, f.server.URL, quick())
	c.Close()
	_, err := c.GetIndex(context.Background(), 1)
	expectCode(t, err, "closed")
	if _, err := c.Info(); CodeOf(err) != "closed" || c.Version() != "" {
		t.Error("a closed client has a version")
	}
}

// Queries for one record differ, and so do those whose fresh bytes repeat.
func TestQueriesAreFresh(t *testing.T) {
	f := newFake(t, 50, 8)
	options := quick()
	options.random = zeros{}
	c := connect(t, f.server.URL, options)
	held := c.held.Load()
	body := func(index uint64, random zeros) []byte {
		_, body, err := prepare(held, []wanted{{index: index}}, random)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	if bytes.Equal(body(1, zeros{}), body(2, zeros{})) || bytes.Equal(body(1, zeros{}), body(1, zeros{1})) {
		t.Error("two queries are equal")
	}
	if !bytes.Equal(body(1, zeros{}), body(1, zeros{})) {
		t.Error("the generator is not the given one")
	}
	_, one, err := prepare(held, []wanted{{index: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, two, _ := prepare(held, []wanted{{index: 1}}, nil); bytes.Equal(one, two) {
		t.Error("two queries for one record are equal")
	}
}

// zeros is a generator that repeats one byte.
type zeros [1]byte

func (z zeros) Read(out []byte) (int, error) {
	for i := range out {
		out[i] = z[0]
	}
	return len(out), nil
}
