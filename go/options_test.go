package papir

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"papir.example/go/internal/checkpoint"
	"papir.example/go/internal/wire"
)

// checksummed replaces the last 8 bytes by the checksum of those before.
func checksummed(data []byte) []byte {
	return wire.AppendChecksum(append([]byte(nil), data[:len(data)-8]...))
}

func TestAddresses(t *testing.T) {
	for text, expected := range map[string]address{
		"http://h":                          {base: "http://h", host: "h", port: "80"},
		"http://h:1/":                       {base: "http://h:1", host: "h", port: "1"},
		"https://h/pir/":                    {base: "https://h/pir", host: "h", port: "443", https: true},
		"http://h:1/v1/databases":           {base: "http://h:1", host: "h", port: "1"},
		"http://h/v1/databases/words/x":     {base: "http://h", host: "h", port: "80", database: "words"},
		"http://h//v1/databases/a%20%c3%bC": {base: "http://h", host: "h", port: "80", database: "a ü"},
		"https://[::1]:7":                   {base: "https://[::1]:7", host: "::1", port: "7", https: true},
	} {
		if found, err := parseAddress(text); err != nil || found != expected {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
	for _, text := range []string{
		"", "h", "ftp://h", "http://", "http://:1", "http://h:0", "http://h:70000", "http://h:+1", "http://h:x", "http://h?x",
		"http://h#x", "http://h h", "http://h\\@x", "http://u:p@h", "http://[::1", "http://[h]", "http://[::1]x",
		"http://h/v1/databases/%4", "http://h/v1/databases/%ff", "http://h\n",
	} {
		if _, err := parseAddress(text); CodeOf(err) != "bad_url" {
			t.Errorf("%q: %v", text, err)
		}
	}
	a, _ := parseAddress("http://h:1")
	if found := a.url("a b/ü", "/query"); found != "http://h:1/v1/databases/a%20b%2F%C3%BC/query" {
		t.Error(found)
	}
}

func TestProxies(t *testing.T) {
	for _, one := range []struct {
		url         string
		setting     string
		environment map[string]string
		expected    string
	}{
		{"http://h", "", nil, ""},
		{"http://h", "", map[string]string{"ALL_PROXY": "p:1"}, "http://p:1"},
		{"http://h", "", map[string]string{"ALL_PROXY": "http://p:1", "http_proxy": "http://q:2"}, "http://q:2"},
		{"http://h", "", map[string]string{"HTTPS_PROXY": "http://p:1"}, ""},
		{"https://h", "", map[string]string{"HTTPS_PROXY": "http://p:1", "all_proxy": "http://q:2"}, "http://p:1"},
		{"http://h", "", map[string]string{"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, ""},
		{"http://h", "", map[string]string{"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, "http://p:1"},
		{"http://127.0.0.1:1", "", map[string]string{"ALL_PROXY": "http://p:1"}, ""},
		{"http://localhost", "", map[string]string{"ALL_PROXY": "nonsense://p"}, ""},
		{"http://127.0.0.1:1", "http://p:1", nil, "http://p:1"},
		{"http://h", "none", map[string]string{"ALL_PROXY": "http://p:1"}, ""},
		{"http://h", "environment", map[string]string{"ALL_PROXY": "socks5h://p:1"}, "socks5://p:1"},
		{"http://a.example.org", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "example.org"}, ""},
		{"http://a.example.org", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "x, *.example.org"}, ""},
		{"http://badexample.org", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "example.org"}, "http://p:1"},
		{"http://10.1.2.3", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, ""},
		{"http://11.1.2.3", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1"},
		{"http://h:8080", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "h:8080"}, ""},
		{"http://h:8081", "", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "h:8080"}, "http://p:1"},
		{"http://h", "", map[string]string{"ALL_PROXY": "http://p:1", "no_proxy": "*"}, ""},
		{"http://h", "", map[string]string{"ALL_PROXY": "ftp://p"}, "!"},
		{"http://h", "", map[string]string{"ALL_PROXY": "http://user:secret@p:99999"}, "!"},
		{"http://h", "http://", nil, "!"},
		{"http://h", "http://p/path", nil, "!"},
	} {
		a, err := parseAddress(one.url)
		if err != nil {
			t.Fatal(err)
		}
		found, err := chooseProxy(one.setting, &a, func(name string) string { return one.environment[name] })
		text := ""
		if found != nil {
			text = found.String()
		}
		if err != nil {
			text = "!"
			if CodeOf(err) != "bad_proxy" || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		}
		if text != one.expected {
			t.Errorf("%+v: %s", one, text)
		}
	}
}

func TestBadOptionsSendNothing(t *testing.T) {
	f := newFake(t, 20, 4)
	for name, one := range map[string]struct {
		options Options
		code    string
	}{
		"an owner's key":     {Options{OwnerKey: "key"}, "malformed"},
		"a witness's key":    {Options{Witnesses: []string{"o+38ebff65+AU1LGAYvhQJZjeBFyntp8Gf1n5Oxbjr4czqYitwjQfXI"}}, "malformed"},
		"a root":             {Options{Root: "00"}, "bad_options"},
		"a scheme":           {Options{Schemes: []string{"plain"}}, "bad_options"},
		"a token":            {Options{Token: "two words"}, "bad_token"},
		"a pin without name": {Options{PinFile: "pin"}, "bad_options"},
		"a proxy":            {Options{Proxy: "ftp://p"}, "bad_proxy"},
	} {
		_, err := Connect(context.Background(), f.server.URL, one.options)
		if CodeOf(err) != one.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if taken := f.taken(); len(taken) > 0 {
		t.Errorf("%v", taken)
	}
}

func TestTokensAreNotSentInTheClear(t *testing.T) {
	for _, one := range []struct {
		url     string
		options Options
		allowed bool
	}{
		{"http://h", Options{Token: "t"}, false},
		{"http://h", Options{Token: "t", InsecureHTTP: true}, true},
		{"https://h", Options{Token: "t"}, true},
		{"http://127.0.0.1", Options{Token: "t"}, true},
		{"http://127.0.0.1", Options{Token: "t", Proxy: "http://p"}, false},
		{"http://127.0.0.1", Options{Token: "t", Proxy: "none"}, true},
	} {
		a, err := parseAddress(one.url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = one.options.check(&a)
		if allowed := err == nil; allowed != one.allowed || (!allowed && CodeOf(err) != "token_in_clear") {
			t.Errorf("%+v: %v", one, err)
		}
	}
}

func TestTokensAreSent(t *testing.T) {
	f := newFake(t, 20, 4)
	options := quick()
	options.Token = " secret\n"
	connect(t, f.server.URL, options)
	if f.authorization != "Bearer secret" {
		t.Errorf("%q", f.authorization)
	}
}

func testPin(t *testing.T, sequence uint64) *checkpoint.Pin {
	t.Helper()
	key, err := checkpoint.ReadKey("o+38ebff65+AU1LGAYvhQJZjeBFyntp8Gf1n5Oxbjr4czqYitwjQfXI")
	if err != nil {
		t.Fatal(err)
	}
	return &checkpoint.Pin{Newest: key, First: key, Sequence: sequence}
}

func TestPinsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pin")
	never := func(*checkpoint.Pin) (*checkpoint.Pin, error) {
		t.Error("the proof is checked again")
		return nil, nil
	}
	f := &pinFile{path: path}
	if pin, err := f.read(); pin != nil || err != nil {
		t.Fatalf("%v, %v", pin, err)
	}
	if _, err := f.keep(nil, testPin(t, 1), never); err != nil {
		t.Fatal(err)
	}
	if _, err := f.keep(testPin(t, 1), testPin(t, 2), never); err != nil {
		t.Fatal(err)
	}
	pin, err := (&pinFile{path: path}).read()
	if err != nil || pin.Sequence != 2 {
		t.Fatalf("%v, %v", pin, err)
	}

	// Another process has stored a newer pin: the proof must pass under it.
	asked := false
	_, err = f.keep(testPin(t, 1), testPin(t, 3), func(stored *checkpoint.Pin) (*checkpoint.Pin, error) {
		asked = stored.Sequence == 2
		return testPin(t, 3), nil
	})
	if err != nil || !asked {
		t.Errorf("%v", err)
	}
	_, err = f.keep(testPin(t, 1), testPin(t, 1), func(*checkpoint.Pin) (*checkpoint.Pin, error) {
		return nil, wire.Refuse(checkpoint.Rollback, "older")
	})
	if err == nil {
		t.Error("a pin that was overtaken is stored")
	}

	// A pin that was removed stays removed.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.keep(testPin(t, 3), testPin(t, 4), never); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a removed pin is back")
	}
	// Of the partial files none is left.
	if left, _ := filepath.Glob(path + "*.partial"); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

func TestADamagedPinIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pin")
	for _, text := range []string{"", "papir-owner-pin-1\n", strings.Repeat("x", maxPinFile+1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := newFake(t, 20, 4)
		_, err := Connect(context.Background(), f.server.URL, Options{Name: "bytes", PinFile: path})
		expectCode(t, err, "state_file")
	}
}

func TestPausesDouble(t *testing.T) {
	for number, expected := range map[int]time.Duration{1: 50, 2: 100, 3: 200, 20: 4000, 1000: 4000} {
		if found := pause(number); found != expected*time.Millisecond {
			t.Errorf("pause %d is %v", number, found)
		}
	}
}
