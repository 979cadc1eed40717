package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Hash returns the SHA-256 of a document in hexadecimal.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// HashFile returns the SHA-256 of the first size bytes of a file in hexadecimal.
func HashFile(ctx context.Context, file io.ReaderAt, size int64) (string, error) {
	hash := sha256.New()
	buffer := make([]byte, 256<<10)
	section := io.NewSectionReader(file, 0, size)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := section.Read(buffer)
		hash.Write(buffer[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err != nil {
			return "", fmt.Errorf("read it back: %w", err)
		}
	}
}

// CheckHash returns ErrDamaged if the SHA-256 of a file is not want, the hash in a manifest.
func CheckHash(ctx context.Context, file Object, want string) error {
	hash, err := HashFile(ctx, file, file.Size())
	if err == nil && hash != want {
		err = fmt.Errorf("%w: its SHA-256 is not the one in the manifest", ErrDamaged)
	}
	return err
}
