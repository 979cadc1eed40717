package sink

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors that a Store's methods wrap.
var (
	// ErrNotFound says that there is no object at a path.
	ErrNotFound = errors.New("no such object")
	// ErrConflict says that a conditional write found another object, or
	// another version of it, than the writer expected.
	ErrConflict = errors.New("somebody else wrote this object")
	// ErrStagedLost says that a staged file is no longer there: its bucket has
	// to be done again.
	ErrStagedLost = errors.New("the staged file is gone or damaged")
	// ErrLocked says that another process works on the same thing.
	ErrLocked = errors.New("another process holds the lock")
	// ErrDamaged says that a document, or what a store has noted of a staged file,
	// cannot be read: something other than this program has changed it.
	ErrDamaged = errors.New("the document is damaged")
)

// Store is a destination. Paths are relative to its root, with slashes, and
// never climb out of it.
//
// Files of tables go through two verbs: a Draft is staged, which makes it
// durable and leaves it invisible, and a staged file is committed, which makes
// it visible whole. Documents (plans, journals, manifests, pointers) are small
// and written in one step, under a condition where two writers could meet.
//
// Every method may be called from several goroutines.
type Store interface {
	// String names the destination for messages, without credentials.
	String() string

	// Check proves that the destination can be written and leaves nothing
	// behind, no folder either.
	Check(ctx context.Context) error

	// Draft starts a file that will be visible at path once it is committed. The
	// path carries the run, as those of DataPath and LedgerPath do: a store that
	// keeps no list of what a run has staged finds it by that.
	Draft(ctx context.Context, run, path string) (Draft, error)
	// Holds tells whether a staged file is still there and whole, staged or
	// committed already. It compares what is cheap to compare: the size.
	Holds(ctx context.Context, run string, file File) (bool, error)
	// Intact reports whether a staged file is still there, staged or committed
	// already, with the bytes that were staged. A store that checks the parts of
	// an upload against its own checksums does as Holds; one that does not reads
	// the file again, unless this Store has staged or read it before.
	Intact(ctx context.Context, run string, file File) (bool, error)
	// CheckCommit checks, as far as possible, that Commit can make files
	// visible at these paths, and leaves nothing behind. The error says what
	// blocks it and what to do.
	CheckCommit(ctx context.Context, run string, paths []string) error
	// Commit makes a staged file visible. It is idempotent: a file committed
	// before, with the same size, is done. It fails with ErrStagedLost where
	// the store has dropped it, or its bytes are not what was staged. What was
	// committed is durable at the latest when the next Write returns.
	Commit(ctx context.Context, run string, file File) error
	// Abort drops a staged file that will not be committed; it is not an error
	// if there is none. When Abort returns nil the file has been seen to be gone.
	Abort(ctx context.Context, run string, file File) error
	// Sweep drops everything that the run has staged and not committed,
	// abandoned drafts included, as far as ListsStaged.
	Sweep(ctx context.Context, run string) error
	// ListsStaged reports whether Sweep and Staged find every staged file. On a
	// store where they do not, staged files must be aborted one by one.
	ListsStaged(ctx context.Context) (bool, error)
	// Staged tells which runs have anything staged, or half written, and when
	// the newest of it was. Runs are named as they stand in paths (Escape).
	Staged(ctx context.Context) (map[string]time.Time, error)

	// Read returns a document and its version for a later Write. ErrNotFound.
	Read(ctx context.Context, path string) (data []byte, version string, err error)
	// Write replaces a document in one step, durable when it returns, under
	// the condition; ErrConflict where that does not hold. Where an answer was
	// lost and somebody has replaced the document since, it may tell of a
	// conflict though it had been written.
	Write(ctx context.Context, path string, data []byte, when Condition) error
	// Open opens a visible object for reading. ErrNotFound.
	Open(ctx context.Context, path string) (Object, error)
	// List yields the visible objects whose path starts with prefix, in the
	// order of their paths. Nothing staged is among them.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]
	// Remove removes a visible object, and on disk the folders that it leaves
	// empty; a missing document is not an error. A document is gone durably when
	// Remove returns, and so is what was removed before; a file or a journal is
	// so at the latest when the next document was written or removed.
	Remove(ctx context.Context, path string) error

	// Lock takes the lock of a name in a mode, against other processes and other
	// users of this one, until unlock is called or this process ends. If others
	// hold it, Lock waits up to patience, or until ctx is done, and then fails
	// with a *LockedError that says who holds it; with no patience it fails at
	// once. A wait of more than ten seconds is logged. Stores with conditional
	// writes need no lock, and may return one that excludes no other process.
	Lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (unlock func() error, err error)
}

// Condition says what a conditional write expects to replace.
type Condition struct {
	// Absent: there must be no object at the path.
	Absent bool
	// Version: the object must still have this version, as Read returned it.
	// Empty, with Absent false: whatever is there is replaced.
	Version string
}

// Draft is a file that is being written. Nobody sees it. It must be ended by
// Stage or Abort; both may be called again to no effect.
type Draft interface {
	io.Writer
	// Finish makes what was written readable through ReaderAt and returns its
	// size; nothing can be written after it.
	Finish() (size int64, err error)
	// ReadAt reads what was written; only after Finish.
	io.ReaderAt
	// Stage makes the finished file durable and returns what Commit needs to
	// know besides path and size, to be kept in a journal: JSON, nil if nothing.
	// ErrStagedLost where somebody swept the run meanwhile.
	Stage(ctx context.Context) (staged []byte, err error)
	// Abort drops the draft.
	Abort() error
}

// StagedReader is a Store that can read back a file that is staged. A store
// that stages by multipart upload cannot.
type StagedReader interface {
	// OpenStaged opens a staged file. ErrStagedLost if it is gone.
	OpenStaged(ctx context.Context, run string, file File) (Object, error)
}

// File is a file that is staged or committed.
type File struct {
	Path string `json:"path"`
	// Rows is for callers; stores ignore it.
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Staged is what the store needs to commit the file; it is kept only until then.
	Staged json.RawMessage `json:"staged,omitempty"`
}

// Object is a visible object open for reading.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Entry is a visible object in a listing.
type Entry struct {
	Path     string
	Bytes    int64
	Modified time.Time
}
