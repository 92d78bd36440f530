//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package papir

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lockFile makes a file that must not exist, and removes it at the end. After a crash the file
// stays, and is ignored when it is a minute old.
func lockFile(path string) (unlock func(), err error) {
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err == nil {
			return func() { _ = file.Close(); _ = os.Remove(path) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(path)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
