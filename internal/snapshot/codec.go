package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"example.org/growthexport/internal/sink"
)

// EncodeDocument returns a document as it is stored: indented, members in the order of declaration, maps sorted by key, a
// newline at the end. Equal documents have equal bytes.
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

// decodeDocument decodes a document: ErrDamaged, or a *FormatError if a later
// release has written it.
func DecodeDocument(path string, data []byte, document any) error {
	if err := CheckDocumentFormat(path, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, document); err != nil {
		return fmt.Errorf("read %s: %w: %w", path, sink.ErrDamaged, err)
	}
	return nil
}

// readDocument reads a document and its version: ErrNotFound, ErrDamaged.
func ReadDocument[T any](ctx context.Context, store sink.Store, path string) (*T, string, error) {
	data, version, err := store.Read(ctx, path)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	document := new(T)
	if err := DecodeDocument(path, data, document); err != nil {
		return nil, version, err
	}
	return document, version, nil
}

func (c Catalog) WriteDocument(ctx context.Context, path string, document any, when sink.Condition) error {
	data, err := EncodeDocument(document)
	if err != nil {
		return err
	}
	if err := c.Write(ctx, path, data, when); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
