package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.org/growthexport/internal/sink"
)

// FormatVersion is the version of the documents and of the data files' layout.
const FormatVersion = 1

// FormatError reports that a later release has written a document in an unknown format. Nothing at such a destination
// may be changed, because what is not understood could be lost.
type FormatError struct {
	Path    string
	Version int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("this growth-export is too old for the destination: %s has format version %d, and it reads versions up to %d; "+
		"use a later release", e.Path, e.Version, FormatVersion)
}

// CheckDocumentFormat returns a *FormatError if the document has a later format. Documents without a version pass.
func CheckDocumentFormat(path string, data []byte) error {
	const member = "format_version"
	if !bytes.Contains(data, []byte(`"`+member+`"`)) {
		return nil
	}
	var header struct {
		FormatVersion json.Number `json:"format_version"`
	}
	err := json.Unmarshal(data, &header) // its reader reports an undecodable document
	if version, _ := header.FormatVersion.Int64(); err == nil && version > FormatVersion {
		return &FormatError{Path: path, Version: int(version)}
	}
	return nil
}

// EncodeDocument returns a document as it is stored: indented, members in declaration order, map keys sorted, with a
// final newline. Equal documents have equal bytes.
func EncodeDocument(document any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return nil, fmt.Errorf("encode a document: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeDocument decodes a document. It returns ErrDamaged, or a *FormatError if a later release has written it.
func DecodeDocument(path string, data []byte, document any) error {
	if err := CheckDocumentFormat(path, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, document); err != nil {
		return fmt.Errorf("read %s: %w: %w", path, sink.ErrDamaged, err)
	}
	return nil
}

// ReadDocument reads a document and its version. It may return ErrNotFound or ErrDamaged.
func ReadDocument[T any](ctx context.Context, store sink.Store, path string) (*T, string, error) {
	data, version, err := store.Read(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		err = fmt.Errorf("read %s: %w", path, err) // other errors name the path
	}
	if err != nil {
		return nil, "", err
	}
	document := new(T)
	if err := DecodeDocument(path, data, document); err != nil {
		return nil, version, err
	}
	return document, version, nil
}

// Unreadable reports whether an error says that a document is missing or damaged.
func Unreadable(err error) bool {
	return errors.Is(err, sink.ErrNotFound) || errors.Is(err, sink.ErrDamaged)
}

// readIfThere reads a document and its version, or returns nil if it is missing.
func readIfThere[T any](ctx context.Context, store sink.Store, path string) (*T, string, error) {
	document, version, err := ReadDocument[T](ctx, store, path)
	if errors.Is(err, sink.ErrNotFound) {
		return nil, "", nil
	}
	return document, version, err
}

// ReadIfSound reads a document, or returns nil if it is missing or damaged.
func ReadIfSound[T any](ctx context.Context, store sink.Store, path string) (*T, error) {
	document, _, err := ReadDocument[T](ctx, store, path)
	if Unreadable(err) {
		return nil, nil
	}
	return document, err
}

// firstReadable returns the first readable document of that name among the runs, or nil.
func firstReadable[T any](ctx context.Context, store sink.Store, runs []string, name string) (*T, error) {
	for _, run := range runs {
		document, err := ReadIfSound[T](ctx, store, DocumentPath(run, name))
		if document != nil || err != nil {
			return document, err
		}
	}
	return nil, nil
}

// orEmpty replaces nil by an empty list, which JSON writes as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
