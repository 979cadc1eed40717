package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
)

// FormatVersion is the version of the documents and of the data files' layout.
const FormatVersion = 1

// FormatError reports that a later release has written a document in a format that this release does not support.
// Nothing at such a destination may be changed, because data in the new format could be lost.
type FormatError struct {
	Path    string
	Version int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("this growth-export is too old for the destination: %s has format version %d, and it reads versions up to %d; "+
		"use a later release", e.Path, e.Version, FormatVersion)
}

// CheckDocumentFormat returns a *FormatError if the document has a later format. Documents without a version pass, and
// so do documents that cannot be decoded.
func CheckDocumentFormat(path string, data []byte) error {
	const member = "format_version"
	if !bytes.Contains(data, []byte(`"`+member+`"`)) {
		return nil
	}
	var header struct {
		FormatVersion json.Number `json:"format_version"`
	}
	err := json.Unmarshal(data, &header) // if it fails, the document's reader reports it
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

// DecodeDocument decodes a document. It returns ErrDamaged if the document cannot be decoded, or a *FormatError if a
// later release has written it.
func DecodeDocument(path string, data []byte, document any) error {
	if err := CheckDocumentFormat(path, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, document); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // whose own text contains a Go type
			err = fmt.Errorf("%s has the wrong type: %s", cmp.Or(e.Field, "the document"), e.Value)
		}
		return fmt.Errorf("read %s: %w: %w", path, sink.ErrDamaged, err)
	}
	return nil
}

// WriteDocument encodes a document and writes it. It returns ErrConflict if the condition does not hold.
func WriteDocument(ctx context.Context, store sink.Store, path string, document any, when sink.Condition) error {
	data, err := EncodeDocument(document)
	if err != nil {
		return err
	}
	err = store.Write(ctx, path, data, when)
	if errors.Is(err, sink.ErrConflict) {
		return fmt.Errorf("write %s: %w", path, err) // other errors contain the path
	}
	return err
}

// ReadDocument reads a document and its version. It may return ErrNotFound or ErrDamaged. If the error is one of the
// accepted ones, it returns a nil document, an empty version and no error.
func ReadDocument[T any](ctx context.Context, store sink.Reader, path string, accepted ...error) (*T, string, error) {
	data, version, err := store.Read(ctx, path)
	if errors.Is(err, sink.ErrNotFound) {
		err = fmt.Errorf("read %s: %w", path, err) // other errors contain the path
	}
	document := new(T)
	if err == nil {
		err = DecodeDocument(path, data, document)
	}
	if slices.ContainsFunc(accepted, func(a error) bool { return errors.Is(err, a) }) {
		return nil, "", nil
	}
	if err != nil {
		return nil, version, err
	}
	return document, version, nil
}

// Unreadable reports whether an error says that a document is missing or damaged.
func Unreadable(err error) bool {
	return errors.Is(err, sink.ErrNotFound) || errors.Is(err, sink.ErrDamaged)
}

// ReadIfSound reads a document, or returns nil if it is missing or damaged.
func ReadIfSound[T any](ctx context.Context, store sink.Reader, path string) (*T, error) {
	document, _, err := ReadDocument[T](ctx, store, path, sink.ErrNotFound, sink.ErrDamaged)
	return document, err
}

// firstReadable returns the first readable document with the given name in the folders of the runs, or nil if there is
// none.
func firstReadable[T any](ctx context.Context, store sink.Reader, runs []string, name string) (*T, error) {
	for _, run := range runs {
		document, err := ReadIfSound[T](ctx, store, DocumentPath(run, name))
		if document != nil || err != nil {
			return document, err
		}
	}
	return nil, nil
}

// orEmpty replaces nil with an empty list, which is encoded in JSON as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
