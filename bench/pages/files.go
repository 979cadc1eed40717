package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// File returns the path of a page below the folder that Write filled.
func File(folder string, s *School, page int, compressed bool) string {
	name := fmt.Sprintf("%04d.json", page)
	if compressed {
		return filepath.Join(folder, "gzip", s.Bid, name+".gz")
	}
	return filepath.Join(folder, "plain", s.Bid, name)
}

// Write writes all pages of the world below a folder, plain or compressed, unless an earlier call has done so.
func (w *World) Write(folder string, compressed bool) error {
	complete := filepath.Join(folder, fmt.Sprintf("complete-%t", compressed))
	if _, err := os.Stat(complete); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var body []byte
	var packed bytes.Buffer
	packer, err := gzip.NewWriterLevel(&packed, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	for i := range w.schools {
		s := &w.schools[i]
		if err := os.MkdirAll(filepath.Dir(File(folder, s, 0, compressed)), 0o750); err != nil {
			return err
		}
		for page := range s.Pages() {
			body = w.AppendPage(body[:0], s, page)
			content := body
			if compressed {
				packed.Reset()
				packer.Reset(&packed)
				if _, err := packer.Write(body); err != nil {
					return err
				}
				if err := packer.Close(); err != nil {
					return err
				}
				content = packed.Bytes()
			}
			if err := os.WriteFile(File(folder, s, page, compressed), content, 0o600); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(complete, nil, 0o600)
}
