package papir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"papir.example/go/internal/checkpoint"
)

// maxPinFile is the longest file of a pin that is read.
const maxPinFile = 4096

// pinFile keeps the pin of one database.
type pinFile struct {
	path string
	// used is whether this connection has read or written a pin.
	used bool
}

// read returns the stored pin, or nil if there is none. A damaged file is an error: a database that
// was pinned must not become unpinned.
func (f *pinFile) read() (*checkpoint.Pin, error) {
	if f.path == "" {
		return nil, nil
	}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.unusable(err)
	}
	if info.Size() > maxPinFile {
		return nil, newError("state_file", "", "%s: %d bytes: expected the text of a pin", f.path, info.Size())
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, f.unusable(err)
	}
	pin, err := checkpoint.ReadPin(string(text))
	if err != nil {
		return nil, newError("state_file", "", "%s: %v. Remove it only if you know the owner's key", f.path, err)
	}
	f.used = true
	return pin, nil
}

func (f *pinFile) unusable(err error) error {
	return &Error{Code: "state_file", Message: f.path + ": " + err.Error(), cause: err}
}

// keep stores a pin that was accepted while the pin before was known. If another process has
// changed the file meanwhile, accept checks the proof again under its pin. A pin that was removed
// after this connection had used it stays removed.
func (f *pinFile) keep(before, pin *checkpoint.Pin, accept func(*checkpoint.Pin) (*checkpoint.Pin, error)) (*checkpoint.Pin, error) {
	if f.path == "" {
		return pin, nil
	}
	unlock, err := lockFile(f.path + ".lock")
	if err != nil {
		return nil, f.unusable(err)
	}
	defer unlock()

	wasUsed := f.used
	stored, err := f.read()
	if err != nil {
		return nil, err
	}
	switch {
	case stored == nil && wasUsed:
		return pin, nil
	case stored != nil && (before == nil || *stored != *before):
		if pin, err = accept(stored); err != nil {
			return nil, err
		}
	}
	if stored != nil && *stored == *pin {
		return pin, nil
	}
	if err := f.write(pin); err != nil {
		return nil, f.unusable(err)
	}
	f.used = true
	return pin, nil
}

// write replaces the file as a whole: a crash leaves the old one or the new one.
func (f *pinFile) write(pin *checkpoint.Pin) error {
	partial, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*.partial")
	if err != nil {
		return err
	}
	_, err = partial.WriteString(pin.String())
	if err == nil {
		err = partial.Sync()
	}
	err = errors.Join(err, partial.Close())
	if err == nil {
		err = os.Rename(partial.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial.Name()))
	}
	if folder, err := os.Open(filepath.Dir(f.path)); err == nil {
		// Some systems do not sync folders.
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}
