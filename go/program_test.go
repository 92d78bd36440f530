package papir

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"papir.example/go/internal/checkpoint"
	"papir.example/go/internal/wire"
)

// These tests build and serve databases with papir's program, at the path in PAPIR_PROGRAM.

var schemes = []string{"simple", "inspire", "inspire1"}

func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PAPIR_PROGRAM")
	if path == "" {
		t.Skip("PAPIR_PROGRAM is not set: this test needs the path of the program papir")
	}
	return path
}

// papir runs a command of the program, and returns its output.
func papir(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.Command(program(t), arguments...)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	if err := command.Run(); err != nil {
		t.Fatalf("papir %v: %v\n%s%s", arguments, err, &out, &errors)
	}
	return out.String()
}

// serve serves snapshots until the test ends, and returns the address and the process.
func serve(t *testing.T, arguments ...string) (string, *os.Process) {
	t.Helper()
	arguments = append([]string{"serve", "--listen", "127.0.0.1:0"}, arguments...)
	command := exec.Command(program(t), arguments...)
	command.Env = append(os.Environ(), "PAPIR_LOG=off")
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, listening := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !listening {
		t.Fatalf("papir %v: %q %v\n%s", arguments, line, err, &errors)
	}
	return address, command.Process
}

// value is the value of a word: of many lengths, none at all among them.
func value(i int) string { return strings.Repeat("x", i*i%301) }

// words writes a source of count words, and returns its path.
func wordsFile(t *testing.T, count int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("word,meaning\n")
	for i := 0; i < count; i++ {
		fmt.Fprintf(&text, "word-%d,%s\n", i, value(i))
	}
	return write(t, "words.csv", text.String())
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// build builds a keyed database named words.
func build(t *testing.T, source, scheme string, more ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "words.papir")
	papir(t, append([]string{"build", source, "--key", "word", "--value", "meaning", "--scheme", scheme,
		"--name", "words", "--out", out}, more...)...)
	return out
}

func expectWords(t *testing.T, c *Client, count int) {
	t.Helper()
	keys := [][]byte{[]byte("absent"), nil}
	for i := 0; i < count; i += 37 {
		keys = append(keys, []byte(fmt.Sprintf("word-%d", i)))
	}
	values, err := c.GetMany(context.Background(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, found := range values {
		if i < 2 {
			if found.Found || found.Bytes != nil {
				t.Errorf("an absent key has the value %q", found.Bytes)
			}
			continue
		}
		if expected := value(37 * (i - 2)); !found.Found || string(found.Bytes) != expected {
			t.Errorf("%s: %v %q, expected %q", keys[i], found.Found, found.Bytes, expected)
		}
	}
}

func TestKeysAreLookedUp(t *testing.T) {
	program(t)
	source := wordsFile(t, 400)
	for _, scheme := range schemes {
		for name, more := range map[string][]string{
			"plain":      nil,
			"verifiable": {"--verifiable", "--failure", "2^-100"},
		} {
			t.Run(scheme+"/"+name, func(t *testing.T) {
				address, _ := serve(t, build(t, source, scheme, more...))
				c := connect(t, address, quick())
				expectWords(t, c, 400)
				found, ok, err := c.Get(context.Background(), []byte("word-12"))
				if err != nil || !ok || string(found) != value(12) {
					t.Errorf("%q, %v, %v", found, ok, err)
				}
				_, err = c.GetIndex(context.Background(), 0)
				expectCode(t, err, "keyed")

				info, err := c.Info()
				if err != nil || info.Scheme != scheme || !info.Keyed || (info.Root != "") != (name == "verifiable") {
					t.Errorf("%+v, %v", info, err)
				}
				if info.Root == "" {
					return
				}
				options := quick()
				options.Root = info.Root
				expectWords(t, connect(t, address, options), 400)
				options.Root = strings.Repeat("0", 64)
				_, err = Connect(context.Background(), address, options)
				expectCode(t, err, "wrong_root")
			})
		}
	}
}

// Values that are longer than a bucket have several chunks.
func TestLongValuesHaveSeveralChunks(t *testing.T) {
	program(t)
	var text strings.Builder
	text.WriteString("word,meaning\n")
	for i := 0; i < 300; i++ {
		length := 10
		if i%50 == 0 {
			length = 9000
		}
		fmt.Fprintf(&text, "word-%d,%s\n", i, strings.Repeat(string(rune('a'+i%26)), length))
	}
	source := write(t, "words.csv", text.String())
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			address, _ := serve(t, build(t, source, scheme, "--bucket-bytes", "512"))
			c := connect(t, address, quick())
			for _, i := range []int{0, 1, 250, 299} {
				found, ok, err := c.Get(context.Background(), []byte(fmt.Sprintf("word-%d", i)))
				if err != nil || !ok || len(found) < 10 || strings.Trim(string(found), string(rune('a'+i%26))) != "" {
					t.Errorf("word-%d: %q, %v, %v", i, found, ok, err)
				}
			}
		})
	}
}

func TestRecordsAreLookedUpByNumber(t *testing.T) {
	program(t)
	const count = 5000
	for _, bytes := range []int{1, 9, 256, 5000} {
		raw := make([]byte, 0, count*bytes)
		records := count / (1 + bytes/100)
		for i := 0; i < records; i++ {
			for k := 0; k < bytes; k++ {
				raw = append(raw, byte(i*31+k*7+i>>8))
			}
		}
		source := write(t, "raw.bin", string(raw))
		for _, scheme := range schemes {
			t.Run(fmt.Sprintf("%s/%d", scheme, bytes), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "raw.papir")
				papir(t, "build", source, "--format", "raw", "--record-bytes", fmt.Sprint(bytes), "--scheme", scheme, "--out", out)
				address, _ := serve(t, out)
				c := connect(t, address, quick())
				indices := []uint64{0, 1, uint64(records / 3), uint64(records - 1)}
				found, err := c.GetIndices(context.Background(), indices)
				if err != nil {
					t.Fatal(err)
				}
				for i, index := range indices {
					if expected := raw[int(index)*bytes:][:bytes]; !slices.Equal(found[i], expected) {
						t.Errorf("record %d is %x, expected %x", index, found[i][:min(20, len(found[i]))], expected[:min(20, bytes)])
					}
				}
				_, err = c.GetIndex(context.Background(), uint64(records))
				expectCode(t, err, "index_out_of_range")
				_, _, err = c.Get(context.Background(), []byte("key"))
				expectCode(t, err, "not_keyed")
			})
		}
	}
}

// Columns of several points have RGSW encryptions, and more than 2048 columns several blocks of
// masks.
func TestColumnsOfSeveralPoints(t *testing.T) {
	program(t)
	if testing.Short() {
		t.Skip("it builds databases of 40 MB")
	}
	const count = 10000
	raw := make([]byte, 0, count*4096)
	for i := 0; i < count; i++ {
		line := make([]byte, 64)
		for k := range line {
			line[k] = byte(i*31 + i>>8 + k*5)
		}
		raw = append(raw, bytes.Repeat(line, 64)...)
	}
	source := write(t, "raw.bin", string(raw))
	for _, label := range []string{"t = 3, 3334 columns", "t = 12, 834 columns"} {
		out := filepath.Join(t.TempDir(), "raw.papir")
		papir(t, "build", source, "--format", "raw", "--record-bytes", "4096", "--scheme", "inspire", "--params", label, "--out", out)
		address, _ := serve(t, out)
		c := connect(t, address, quick())
		for _, index := range []uint64{0, 1, 5, 4711, count - 1} {
			found, err := c.GetIndex(context.Background(), index)
			if err != nil || !slices.Equal(found, raw[4096*index:][:4096]) {
				t.Errorf("%s: record %d differs, %v", label, index, err)
			}
		}
	}
}

func owner(t *testing.T) (file, public string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "owner.key")
	public = strings.TrimSpace(papir(t, "checkpoint", "keygen", file, "--name", "example.org/owner"))
	return file, public
}

func TestSignedDatabasesArePinned(t *testing.T) {
	program(t)
	key, public := owner(t)
	_, stranger := owner(t)
	source := wordsFile(t, 80)
	words := build(t, source, "inspire", "--sign", key)
	old := words + ".old.papir"
	copyFile(t, words, old)
	pin := filepath.Join(t.TempDir(), "pin")
	options := quick()
	options.OwnerKey, options.PinFile, options.Name = public, pin, "words"

	address, _ := serve(t, words)
	c := connect(t, address, options)
	expectWords(t, c, 80)
	info, err := c.Info()
	if err != nil || !info.Signed || info.Sequence != 0 || info.OwnerKey != public || time.Since(info.Time) > time.Hour {
		t.Errorf("%+v, %v", info, err)
	}
	wrong := quick()
	wrong.OwnerKey = stranger
	_, err = Connect(context.Background(), address, wrong)
	expectCode(t, err, "checkpoint_untrusted")
	later := quick()
	later.Sequence = 1
	_, err = Connect(context.Background(), address, later)
	expectCode(t, err, "checkpoint_sequence")

	// A second version, and the first one again.
	changes := write(t, "changes.csv", "word,meaning\nword-3,changed\n")
	papir(t, "update", words, "--from", changes, "--sign", key)
	address, _ = serve(t, words)
	pinned := quick()
	pinned.PinFile = pin
	c = connect(t, address+"/v1/databases/words", pinned)
	if found, _, err := c.Get(context.Background(), []byte("word-3")); err != nil || string(found) != "changed" {
		t.Errorf("%q, %v", found, err)
	}
	stored, err := os.ReadFile(pin)
	if err != nil || !strings.HasPrefix(string(stored), fmt.Sprintf("papir-owner-pin-1\n%s\n%s\n1\n", public, public)) {
		t.Errorf("%s, %v", stored, err)
	}
	address, _ = serve(t, old, "--name", "words")
	_, err = Connect(context.Background(), address+"/v1/databases/words", pinned)
	expectCode(t, err, "checkpoint_rollback")

	plain := build(t, source, "inspire")
	address, _ = serve(t, plain)
	_, err = Connect(context.Background(), address+"/v1/databases/words", pinned)
	expectCode(t, err, "no_checkpoint")
}

func TestSignedDatabasesAreFollowedAfterAnUpdate(t *testing.T) {
	program(t)
	key, public := owner(t)
	words := build(t, wordsFile(t, 80), "simple", "--sign", key, "--verifiable")
	address, process := serve(t, words, "--keep-old", "0s")
	options := quick()
	options.OwnerKey, options.MaxAge, options.CatchUp = public, time.Hour, 30*time.Second
	c := connect(t, address, options)
	before := c.Version()
	expectWords(t, c, 80)

	changes := write(t, "changes.csv", "word,meaning\nword-3,changed\n")
	papir(t, "update", words, "--from", changes, "--sign", key)
	if err := process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, "the new version is read", func() bool {
		found, _, err := c.Get(context.Background(), []byte("word-3"))
		if err != nil {
			t.Fatal(err)
		}
		return string(found) == "changed"
	})
	if c.Version() == before {
		t.Error("the version is the same")
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("within a minute: %s", what)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDeltasAreAskedToo(t *testing.T) {
	program(t)
	for _, signed := range []bool{false, true} {
		for _, scheme := range []string{"simple", "inspire"} {
			t.Run(fmt.Sprintf("%s/%v", scheme, signed), func(t *testing.T) {
				var sign []string
				options := quick()
				options.Freshness = time.Nanosecond
				if signed {
					key, public := owner(t)
					sign = []string{"--sign", key}
					options.OwnerKey = public
				}
				words := build(t, wordsFile(t, 80), scheme, sign...)
				changes := write(t, "changes.csv", "word,meaning,gone\nword-3,changed,\nword-4,,1\nnew,added,\n")
				papir(t, append([]string{"update", words, "--delta", "--delete-column", "gone", "--from", changes}, sign...)...)
				address, _ := serve(t, words)
				c := connect(t, address, options)
				for word, expected := range map[string]string{"word-3": "changed", "word-5": value(5), "new": "added"} {
					found, ok, err := c.Get(context.Background(), []byte(word))
					if err != nil || !ok || string(found) != expected {
						t.Errorf("%s: %q, %v, %v", word, found, ok, err)
					}
				}
				for _, word := range []string{"word-4", "absent"} {
					if found, ok, err := c.Get(context.Background(), []byte(word)); err != nil || ok {
						t.Errorf("%s: %q, %v, %v", word, found, ok, err)
					}
				}
				if info, err := c.Info(); err != nil || info.Delta != c.Version() || info.Version == info.Delta {
					t.Errorf("%+v, %v", info, err)
				}
			})
		}
	}
}

// liar is a proxy before a service, which changes what it forwards.
type liar struct {
	server   *httptest.Server
	requests []string
	// body changes the body of a response to a path.
	body func(path string, body []byte) []byte
}

func newLiar(t *testing.T, address string) *liar {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if l.body != nil {
			body = l.body(r.Request.URL.Path, body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		return nil
	}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.requests = append(l.requests, fmt.Sprintf("%s %s %d", r.Method, r.URL.Path, r.ContentLength))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(l.server.Close)
	return l
}

// onQuery changes the envelope of an answer, and seals it again.
func onQuery(change func(payload []byte)) func(string, []byte) []byte {
	return func(path string, body []byte) []byte {
		if !strings.HasSuffix(path, "/query") {
			return body
		}
		opened, err := wire.Open("an answer", body)
		if err != nil {
			return body
		}
		payload := bytes.Clone(opened.Payload)
		change(payload)
		return wire.Seal(opened.Kind, opened.Scheme, opened.Version, payload)
	}
}

func TestTamperedAnswersAreRefused(t *testing.T) {
	program(t)
	source := wordsFile(t, 60)
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			address, _ := serve(t, build(t, source, scheme, "--verifiable"))
			l := newLiar(t, address)
			c := connect(t, l.server.URL, quick())
			for name, one := range map[string]struct {
				body  func(string, []byte) []byte
				codes []string
			}{
				"a damaged envelope": {func(path string, body []byte) []byte {
					if strings.HasSuffix(path, "/query") {
						body[len(body)/2] ^= 1
					}
					return body
				}, []string{"checksum"}},
				"other words": {onQuery(func(payload []byte) {
					for i := range payload {
						payload[i] ^= byte(i*i) | 0x55
					}
				}), []string{"not_decodable", "malformed"}},
				// Zeros are an encryption of zeros under every key of a ring.
				"an answer of zeros": {onQuery(func(payload []byte) { clear(payload) }), []string{"not_decodable", "not_verified"}},
				"one more byte": {func(path string, body []byte) []byte {
					if strings.HasSuffix(path, "/query") {
						body = append(body, 0)
					}
					return body
				}, []string{"too_long"}},
				"one byte less": {func(path string, body []byte) []byte {
					if strings.HasSuffix(path, "/query") {
						body = body[:len(body)-1]
					}
					return body
				}, []string{"wrong_length"}},
			} {
				l.body, l.requests = one.body, nil
				_, _, err := c.Get(context.Background(), []byte("word-3"))
				if !slices.Contains(one.codes, CodeOf(err)) {
					t.Errorf("%s: %v, expected %v", name, err, one.codes)
				}
				if len(l.requests) != 1 {
					t.Errorf("%s: %v", name, l.requests)
				}
			}
			l.body = nil
			expectWords(t, c, 60)
		})
	}
}

// A service that adds to the encrypted words changes records without harm to their decoding. The
// proof finds it.
func TestChangedRecordsOfAVerifiableDatabaseAreRefused(t *testing.T) {
	program(t)
	source := wordsFile(t, 60)
	for _, verifiable := range []bool{true, false} {
		var more []string
		if verifiable {
			more = []string{"--verifiable"}
		}
		address, _ := serve(t, build(t, source, "simple", more...))
		l := newLiar(t, address)
		c := connect(t, l.server.URL, quick())
		var bits uint
		for w := uint(9); w <= 32; w++ {
			if c.held.Load().base.Scheme.AnswerBytes() == wire.PackedLen(rowsOf(c), w) {
				bits = w
			}
		}
		l.body = onQuery(func(payload []byte) {
			values, err := wire.Unpack("an answer", payload, rowsOf(c), bits)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range values {
				values[i] = (values[i] + 1<<(bits-8)) & (1<<bits - 1)
			}
			copy(payload, wire.Pack(nil, values, bits))
		})
		_, found, err := c.Get(context.Background(), []byte("word-3"))
		if verifiable {
			expectCode(t, err, "not_verified")
		} else if err == nil && found {
			t.Error("a bucket of other bytes has the key")
		}
	}
}

// rowsOf returns the rows of a `simple` database with one unit in a record.
func rowsOf(c *Client) int {
	db := c.held.Load().base
	public := db.Scheme.Shape()
	for rows := public.RecordBytes(); ; rows += public.RecordBytes() {
		for bits := uint(9); bits <= 32; bits++ {
			columns := (int(public.Records) + rows/public.RecordBytes() - 1) / (rows / public.RecordBytes())
			if wire.PackedLen(rows, bits) == db.Scheme.AnswerBytes() && 4*columns == db.Scheme.QueryBytes() {
				return rows
			}
		}
	}
}

func TestLyingServicesOfSignedDatabasesAreRefused(t *testing.T) {
	program(t)
	key, public := owner(t)
	address, _ := serve(t, build(t, wordsFile(t, 60), "inspire1", "--sign", key, "--verifiable"))
	l := newLiar(t, address)
	options := quick()
	options.OwnerKey = public
	for name, one := range map[string]struct {
		body func(string, []byte) []byte
		code string
	}{
		"nothing": {nil, ""},
		"another bundle": {func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/public") {
				body[200] ^= 1
				body = checksummed(body)
			}
			return body
		}, checkpoint.PublicPart},
		"a lying length": {func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/words") {
				body = bytes.Replace(body, []byte(`"bundle":`), []byte(`"bundle":1, "bundle_":`), 1)
			}
			return body
		}, "too_long"},
		"no checkpoint": {func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/words") {
				body = bytes.Replace(body, []byte(`"checkpoint":`), []byte(`"checkpoint_":`), 1)
			}
			return body
		}, "no_checkpoint"},
		"a changed proof": {func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/proof") {
				body = bytes.Replace(body, []byte("\nindex 0\n"), []byte("\nindex 1\n"), 1)
			}
			return body
		}, wire.Malformed},
		"a proof of another log": {func(path string, body []byte) []byte {
			if strings.HasSuffix(path, "/proof") {
				body = bytes.Replace(body, []byte("/words\n1\n"), []byte("/words\n2\n"), 1)
			}
			return body
		}, checkpoint.BadSignature},
	} {
		l.body = one.body
		c, err := Connect(context.Background(), l.server.URL, options)
		if CodeOf(err) != one.code {
			t.Errorf("%s: %v, expected %s", name, err, one.code)
		}
		if err == nil {
			expectWords(t, c, 60)
			c.Close()
		}
	}
}

func TestRequestsAreTheSameForEveryKey(t *testing.T) {
	program(t)
	address, _ := serve(t, build(t, wordsFile(t, 200), "inspire"))
	l := newLiar(t, address)
	c := connect(t, l.server.URL, quick())
	var first []string
	for _, key := range []string{"word-1", "word-150", "absent", "", strings.Repeat("long", 1000)} {
		l.requests = nil
		if _, _, err := c.Get(context.Background(), []byte(key)); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = l.requests
		}
		if len(first) != 1 || !slices.Equal(l.requests, first) {
			t.Errorf("%q: %v, expected %v", key, l.requests, first)
		}
	}
}

func TestSchemesOfOthersAreRefused(t *testing.T) {
	program(t)
	source := wordsFile(t, 50)
	address, _ := serve(t, build(t, source, "download"))
	_, err := Connect(context.Background(), address, quick())
	expectCode(t, err, "wrong_scheme")
	address, _ = serve(t, build(t, source, "inspire"))
	options := quick()
	options.Schemes = []string{"simple"}
	_, err = Connect(context.Background(), address, options)
	expectCode(t, err, "wrong_scheme")
	options = quick()
	options.Name = "other"
	_, err = Connect(context.Background(), address, options)
	expectCode(t, err, "unknown_database")
}

func TestTheExampleLooksUp(t *testing.T) {
	program(t)
	address, _ := serve(t, build(t, wordsFile(t, 50), "inspire"))
	example := filepath.Join(t.TempDir(), "get")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", example, "./examples/get").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(example, address, "word-3", "absent").CombinedOutput()
	if err == nil || string(out) != "word-3\t"+value(3)+"\nabsent: the database does not have it\n" {
		t.Errorf("%q, %v", out, err)
	}
}
