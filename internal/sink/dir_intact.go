package sink

import (
	"context"
	"errors"
)

// Intact reads a staged file again and compares its SHA-256. A process reads
// each file at most once: a file that it has hashed while staging it, or has
// read since, is trusted.
func (d *Dir) Intact(ctx context.Context, run string, file File) (bool, error) {
	root, name, from, err := d.locate(ctx, run, file)
	if name == "" {
		return false, err
	}
	return d.unchanged(ctx, root, name, from, file)
}

// unchanged reports whether the file at name has the hash of a staged file,
// whose staged name is from.
func (d *Dir) unchanged(ctx context.Context, root FileSystem, name, from string, file File) (bool, error) {
	d.mu.Lock()
	_, read := d.intact[from]
	d.mu.Unlock()
	if read || file.SHA256 == "" {
		return true, nil
	}
	f, err := openToRead(root, name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, d.failed("open", name, err)
	}
	hash, err := HashFile(ctx, f, file.Bytes)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, d.failed("read", name, err)
	}
	if hash != file.SHA256 {
		return false, nil
	}
	d.trust(from)
	return true, nil
}

// trust records that a staged file need not be read again.
func (d *Dir) trust(from string) {
	if from == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.intact[from] = struct{}{}
}
