package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// VerifyReport is the result of Verify or VerifyHistory. It counts the files that were read and lists every problem
// that was found.
type VerifyReport struct {
	RunID        string        `json:"run_id"`
	Kind         snapshot.Kind `json:"kind"`
	SnapshotDate string        `json:"snapshot_date"`
	// HistoryID is set only if the history was verified. SnapshotDate is then the date of the last folded snapshot.
	HistoryID string `json:"history_id,omitempty"`
	// Files, Rows and Bytes count the tables, as in the summary of a run. The ledger is verified too, but not counted.
	Files    int       `json:"files"`
	Rows     int64     `json:"rows"`
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"`
	// MissingProofs are the paths of proofs that no longer exist, although the manifest lists their purges. They are not
	// among the Problems, because a lost proof cannot be restored.
	MissingProofs []string `json:"missing_proofs,omitempty"`
}

// Problem describes what is wrong with a damaged, altered or missing file of a destination.
type Problem struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// String returns the path of the file and the problem.
func (p Problem) String() string { return p.Path + ": " + p.Problem }

// OK reports whether no problem was found.
func (r *VerifyReport) OK() bool { return len(r.Problems) == 0 }

// Missing is the text of the problem of a file that does not exist.
const Missing = "is missing"

type verification struct {
	catalog snapshot.Catalog
	// pointers maps the path of each document that led to the run to the document's hash, or to "" if the document could
	// not be read.
	pointers map[string]string
	// manifest is the hash of the manifest, or "" if it was not read.
	manifest string
	mu       sync.Mutex // guards report
	report   *VerifyReport
}

func (v *verification) problem(path, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Problems = append(v.report.Problems, Problem{Path: path, Problem: fmt.Sprintf(format, args...)})
}

// pinned reads a document whose bytes are determined by its values. It reports a problem if the bytes are not what the
// values determine. If the document is missing or damaged, pinned reports a problem and returns nil.
func pinned[T any](ctx context.Context, v *verification, path string) (*T, error) {
	data, err := v.read(ctx, path)
	if err != nil {
		return nil, err
	}
	if v.pointers == nil {
		v.pointers = make(map[string]string)
	}
	v.pointers[path] = ""
	if data == nil {
		return nil, nil
	}
	v.pointers[path] = sink.Hash(data)
	document := new(T)
	if err := snapshot.CheckDocumentFormat(path, data); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, document); err != nil {
		v.problem(path, "%v: %v", sink.ErrDamaged, err)
		return nil, nil
	}
	written, err := snapshot.EncodeDocument(document)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(data, written) {
		v.problem(path, "its bytes have changed since it was written")
	}
	return document, nil
}

// read reads a document. If it cannot be read, read reports a problem and returns nil.
func (v *verification) read(ctx context.Context, path string) ([]byte, error) {
	data, _, err := v.catalog.Read(ctx, path)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, sink.ErrNotFound):
		v.problem(path, Missing)
		return nil, nil
	case err != nil:
		v.problem(path, "%v", err)
		return nil, nil
	}
	return data, nil
}
