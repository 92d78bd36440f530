package papir

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"papir.example/go/internal/wire"
)

// fake is a service of one `simple` database of bytes, by number, that a test may let lie.
type fake struct {
	mu      sync.Mutex
	version wire.Version
	records []byte
	// columns of the matrix; the rows are the records of one.
	rows int
	seed wire.Seed

	// Changes of descriptions, bundles and answers before they are sent; nil for none.
	describe func(map[string]any)
	bundle   func([]byte) []byte
	answer   func([]byte) []byte
	// before answers a request in place of the service, if it returns true.
	before func(http.ResponseWriter, *http.Request) bool

	// requests are method, path and length of the body of each request.
	requests []string
	// authorization is that header of the last request.
	authorization string
	server        *httptest.Server
}

const words = 1024

// newFake starts a service of count records, each the low byte of 7·number.
func newFake(t *testing.T, count, rows int) *fake {
	t.Helper()
	f := &fake{rows: rows, version: wire.Version{1}}
	for i := 0; i < count; i++ {
		f.records = append(f.records, byte(7*i))
	}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fake) columns() int { return (len(f.records) + f.rows - 1) / f.rows }

// at returns the centred byte of the matrix.
func (f *fake) at(row, column int) uint32 {
	index := column*f.rows + row
	var b byte
	if index < len(f.records) {
		b = f.records[index]
	}
	return uint32(int32(b) - 128)
}

func (f *fake) sealed() []byte {
	parameters := binary.LittleEndian.AppendUint64(nil, uint64(len(f.records)))
	parameters = binary.LittleEndian.AppendUint64(parameters, 8)
	parameters = binary.LittleEndian.AppendUint64(parameters, uint64(f.rows))
	public := binary.LittleEndian.AppendUint64(nil, uint64(len(parameters)))
	public = append(public, parameters...)
	public = append(public, f.seed[:]...)

	a := make([]uint32, words)
	f.seed.Expand("simple/lwe-matrix", 0, 0).Words(a)
	for row := 0; row < f.rows; row++ {
		for k := 0; k < words; k++ {
			var sum uint32
			for column := 0; column < f.columns(); column++ {
				// Row c of A at word k: coefficient c of a·X^k.
				x := a[(column-k+words)%words]
				if column < k {
					x = -x
				}
				sum += f.at(row, column) * x
			}
			public = binary.LittleEndian.AppendUint32(public, sum)
		}
	}
	envelope := wire.Seal(wire.Public, 1, f.version, public)

	bundle := append([]byte("PIRB"), 1, 0, 0, 0)
	bundle = binary.LittleEndian.AppendUint64(bundle, uint64(len(envelope)))
	bundle = append(bundle, envelope...)
	bundle = binary.LittleEndian.AppendUint64(bundle, 0)
	return wire.AppendChecksum(bundle)
}

// reply answers one query, with whole words: the client computes the bits from its parameters.
func (f *fake) reply(sealed []byte, bits uint) ([]byte, error) {
	opened, err := wire.Open("a query", sealed)
	if err != nil {
		return nil, err
	}
	values := make([]uint64, f.rows)
	for row := range values {
		var sum uint32
		for column := 0; column < f.columns(); column++ {
			sum += f.at(row, column) * binary.LittleEndian.Uint32(opened.Payload[4*column:])
		}
		values[row] = (uint64(sum)>>(31-bits) + 1) >> 1 & (1<<bits - 1)
	}
	payload := wire.Pack(nil, values, bits)
	if f.answer != nil {
		payload = f.answer(payload)
	}
	return wire.Seal(wire.Answer, 1, f.version, payload), nil
}

// answerBits are those of a few columns of a few rows.
const answerBits = 9

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	f.requests = append(f.requests, fmt.Sprintf("%s %s %d", r.Method, r.URL.RequestURI(), len(body)))
	f.authorization = r.Header.Get("Authorization")
	if f.before != nil && f.before(w, r) {
		return
	}

	version := f.version.String()
	w.Header().Set("papir-version", version)
	switch strings.TrimPrefix(r.URL.Path, "/v1/databases") {
	case "":
		fmt.Fprint(w, `{"databases":[{"name":"bytes"}]}`)
	case "/bytes":
		description := map[string]any{
			"scheme": "simple", "version": version, "max_batch": 4,
			"sizes": map[string]any{"bundle": len(f.sealed())},
		}
		if f.describe != nil {
			f.describe(description)
		}
		_ = json.NewEncoder(w).Encode(description)
	case "/bytes/public":
		bundle := f.sealed()
		if f.bundle != nil {
			bundle = f.bundle(bundle)
		}
		_, _ = w.Write(bundle)
	case "/bytes/query":
		if r.Header.Get("papir-version") != version {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"code":"wrong_version","detail":"it changed","version":"%s"}`, version)
			return
		}
		each := 4*f.columns() + wire.EnvelopeBytes
		var out []byte
		for ; len(body) >= each; body = body[each:] {
			answer, err := f.reply(body[:each], answerBits)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			out = append(out, answer...)
		}
		_, _ = w.Write(out)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// change replaces the records by others under another version.
func (f *fake) change(version byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = wire.Version{version}
	for i := range f.records {
		f.records[i] += version
	}
}

func (f *fake) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.requests
	f.requests = nil
	return taken
}
