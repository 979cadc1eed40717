package sink

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors that are wrapped in the errors of a Store's methods.
var (
	// ErrNotFound reports that there is no object at a path.
	ErrNotFound = errors.New("object not found")
	// ErrConflict reports that the condition of a write does not hold: the object exists, is missing or has another
	// version.
	ErrConflict = errors.New("another process wrote this object first")
	// ErrStagedLost reports that a staged file is gone or has changed, so it has to be staged again.
	ErrStagedLost = errors.New("the staged file is gone or damaged")
	// ErrLocked reports that another process holds a lock.
	ErrLocked = errors.New("another process holds the lock")
	// ErrUnavailable reports that a store is overloaded, is failing or cannot be reached.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrDamaged reports that a document, a file or File.Staged is not as this program wrote it.
	ErrDamaged = errors.New("the document is damaged")
)

// Store is a destination. Paths are relative to its root, are separated by slashes and cannot lead out of the root.
//
// Files take two steps: staging a Draft makes it durable but keeps it invisible, and committing the staged file makes
// it visible as a whole. A staged file belongs to an owner, such as a run, and can be dropped with all other staged
// files of the owner. Documents are small and are written in one step. The write is conditional if two writers could
// collide.
//
// All methods may be called concurrently.
type Store interface {
	Reader

	// Draft starts a file that becomes visible at path once it is committed. The path must contain the owner where the
	// function Owner looks for it.
	Draft(ctx context.Context, owner, path string) (Draft, error)
	// Holds reports whether a file is staged or already committed. It compares only what is cheap to compare, such as the
	// size.
	Holds(ctx context.Context, owner string, file File) (bool, error)
	// Intact reports whether a file is staged or already committed with the bytes that were staged. In a store that
	// verifies checksums on upload, Intact does the same as Holds. Other stores read the file, once per Store. For a file
	// that it has staged itself, a Store may return true from memory, provided that Commit notices the loss of the file.
	Intact(ctx context.Context, owner string, file File) (bool, error)
	// Commit makes a staged file visible. It is idempotent: committing a committed file of the same size does nothing. It
	// returns ErrStagedLost if the store has dropped the file or its bytes have changed. Committed files are durable when
	// the next Write returns.
	Commit(ctx context.Context, owner string, file File) error
	// Abort drops a staged file. A missing file is not an error. When Abort returns nil, the file is known to be gone,
	// unless dropping it would also remove another file at its path. In that case, Abort drops neither.
	Abort(ctx context.Context, owner string, file File) error
	// Sweep drops all uncommitted staged files and abandoned drafts of the owner, except the files to keep. If
	// ListsStaged is false, it may find only the files that this Store has staged. If dropping a file would also remove
	// another file at its path, Sweep drops neither.
	Sweep(ctx context.Context, owner string, keep ...File) error

	// Write replaces a document in one step if the condition holds. Otherwise it returns ErrConflict. The document is
	// durable when Write returns. If the response was lost and the document has since been replaced, Write may return
	// ErrConflict although it succeeded.
	Write(ctx context.Context, path string, data []byte, when Condition) error
	// Remove removes a visible object and, on disk, the folders that become empty. A missing object is not an error. The
	// removal of a document, and every change before it, is durable when Remove returns. The removal of a file, or of a
	// document in a subfolder of its owner's folder, is durable once the next document has been written or removed.
	Remove(ctx context.Context, path string) error

	// Lock acquires the named lock until unlock is called or the process ends. The lock applies to other processes and to
	// other users of this Store. While another holder has a conflicting lock, Lock waits for up to patience or until ctx
	// is done. It then fails with a *LockedError that contains the holders, unless ctx was done before the first attempt.
	// Lock logs waits of more than ten seconds. Stores with conditional writes do not need locks, and may return a lock
	// that does not exclude other processes.
	Lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (unlock func() error, err error)
}

// Reader is the part of a Store that does not change anything that readers or other processes see.
type Reader interface {
	// String returns the destination for messages, without credentials.
	String() string
	// Info describes how this store differs from others. It does not send requests.
	Info() Info

	// CheckReading verifies, within seconds, that the destination exists and can be read. A missing folder or bucket is
	// an error: it does not count as an empty destination.
	CheckReading(ctx context.Context) error
	// Check verifies that the destination can be written. It leaves nothing behind, not even a folder. It also removes
	// the leftovers of killed processes, except staged files.
	Check(ctx context.Context) error
	// CheckCommit verifies, as far as possible, that Commit can make files visible at these paths. It leaves nothing
	// behind. The error says what prevents this and what to do.
	CheckCommit(ctx context.Context, owner string, paths []string) error

	// Read returns a document and its version for a later Write. It returns ErrNotFound if there is no document at the
	// path.
	Read(ctx context.Context, path string) (data []byte, version string, err error)
	// Open opens a visible object for reading. It returns ErrNotFound if there is no visible object at the path.
	Open(ctx context.Context, path string) (Object, error)
	// List yields the visible objects whose path starts with prefix, ordered by path.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]

	// ListsStaged reports whether Sweep and Staged find every staged file. If they do not, staged files must be aborted
	// one by one or found by their paths; see PathLister. The first call tests the server.
	ListsStaged(ctx context.Context) (bool, error)
	// Staged returns the owners of staged files and drafts, escaped as in paths, each with the time of the owner's newest
	// file.
	Staged(ctx context.Context) (map[string]time.Time, error)
}

// Condition describes the document that a Write expects to replace. With the zero Condition, Write replaces any
// document or creates a new one.
type Condition struct {
	// Absent requires that there is no object at the path.
	Absent bool
	// Version, if not empty, requires that the object has this version, which Read has returned.
	Version string
}

// Draft is an invisible file that is being written. The caller must call Stage or Abort. Once Stage has succeeded,
// further calls to these methods have no effect. After Abort, Stage fails.
type Draft interface {
	io.Writer
	// Finish ends writing and returns the size of the file in bytes.
	Finish() (size int64, err error)
	// ReadAt reads bytes that were written. It may only be called after Finish and before Stage or Abort.
	io.ReaderAt
	// Stage makes the finished file durable and returns File.Staged. It may return ErrStagedLost if another process has
	// swept the owner's files.
	Stage(ctx context.Context) (staged []byte, err error)
	// Abort drops the draft.
	Abort() error
}

// File is a file that is staged or committed.
type File struct {
	Path string `json:"path"` // relative to the destination
	// Rows is the number of rows. Stores ignore it.
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`  // the size
	SHA256 string `json:"sha256"` // in hexadecimal
	// Staged is the state that the store needs to commit the file. Callers keep it until then.
	Staged json.RawMessage `json:"staged,omitempty"`
}

// Info describes a store to callers, which must not depend on the type of the store.
type Info struct {
	// URL is the destination in the form that DuckDB and other readers expect, without a trailing slash: an absolute
	// path with slashes, or a URL. HadoopURL is the form that Spark and other readers based on Hadoop expect.
	URL, HadoopURL string
	// Session contains the statements that a DuckDB session must run before it reads the destination, or "" if none are
	// needed.
	Session string
	// Folder is the destination's folder. It is empty if the destination is not on a file system. Then every access
	// requires requests to a server.
	Folder string
	// Locks reports whether Lock excludes other processes. If not, only conditional writes keep two publishers from
	// overwriting each other, and it may be necessary to test whether such writes work.
	Locks bool
	// Conditions is the advice to users whose server ignores the conditions of writes. It is empty if the only remedy
	// is to let one process publish at a time.
	Conditions string
	// PlainEndpoint is the URL of the server if it is on another machine and data is sent to it unencrypted. Otherwise it
	// is empty.
	PlainEndpoint string
	// Permissions lists the permissions that the user needs, for use in advice. It is empty if the store's own errors list
	// them.
	Permissions string
}

// The interfaces below describe optional abilities of stores. Callers find them by a type assertion.

// StagedReader can read back a staged file. A store that stages files as parts or blocks of an upload cannot.
type StagedReader interface {
	// OpenStaged opens a staged or committed file. It returns ErrStagedLost if the file is gone.
	OpenStaged(ctx context.Context, owner string, file File) (Object, error)
}

// ConditionAdapter can make conditional writes in different ways, for servers that do not handle conditions as S3 does.
type ConditionAdapter interface {
	// Conditions returns the way in which conditional writes are currently made. The response to a write may change this.
	Conditions() Conditions
	// AdaptConditions sets how conditional writes are made from now on.
	AdaptConditions(way Conditions)
}

// Conditions says how conditional writes are made.
type Conditions int32

const (
	// StandardConditions are the conditions of S3.
	StandardConditions Conditions = iota
	// UnquotedConditions contain versions without quotes, which Ceph expects.
	UnquotedConditions
	// EmulatedConditions are checked by the Store itself before it writes, for servers that do not check them. That
	// shortens the time in which two writers can overwrite each other, but does not eliminate it.
	EmulatedConditions
)

// AbortProber can test whether aborting a staged file would also remove a committed file at its path.
type AbortProber interface {
	AbortRemoves(ctx context.Context) (bool, error)
}

// PathLister finds staged files by their exact paths, for servers whose lists are not complete; see Store.ListsStaged.
type PathLister interface {
	// StagedAt returns the time at which the newest file at any of the paths was staged, or the zero time if no file is
	// staged.
	StagedAt(ctx context.Context, paths []string) (time.Time, error)
	// SweepAt drops the staged files at the paths, except the files to keep, like Sweep.
	SweepAt(ctx context.Context, paths []string, keep ...File) error
}

// Encrypter reports how an object is encrypted at rest.
type Encrypter interface {
	// Encryption returns the kind of encryption of a visible object, or "" if the server does not report it.
	Encryption(ctx context.Context, path string) (string, error)
}

// Object is a visible object, or a staged file, that is open for reading.
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
