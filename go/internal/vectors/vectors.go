// Package vectors reads docs/vectors of the repository, for tests.
package vectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Read decodes a file of docs/vectors, or skips the test in a copy of the module without them.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "../../../docs/vectors", name)
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is missing: this test needs a clone of the repository", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
