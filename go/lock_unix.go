//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package papir

import (
	"os"
	"syscall"
)

// lockFile locks a file, which it makes, against other processes.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		// A signal may interrupt it.
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
