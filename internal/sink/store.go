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
	// ErrNotFound reports that there is no object at a path.
	ErrNotFound = errors.New("object not found")
	// ErrConflict reports that the condition of a write does not hold: the object exists, or has another version.
	ErrConflict = errors.New("another process wrote this object first")
	// ErrStagedLost reports that a staged file is gone or changed. It has to be staged again.
	ErrStagedLost = errors.New("the staged file is gone or damaged")
	// ErrLocked reports that another process holds a lock.
	ErrLocked = errors.New("another process holds the lock")
	// ErrDamaged reports that a document, or File.Staged, cannot be decoded: something other than this program wrote it.
	ErrDamaged = errors.New("the document is damaged")
)

// Store is a destination. Paths are relative to its root, use slashes and cannot leave it.
//
// Files take two steps: staging a Draft makes it durable but keeps it invisible, and committing the staged file makes
// it visible as a whole. A staged file belongs to an owner, such as a run, and can be dropped with everything else that
// the owner has staged. Documents are small and written in one step, under a condition where two writers could meet.
//
// All methods may be called concurrently.
type Store interface {
	Reader

	// Draft starts a file that becomes visible at path once it is committed. The path must name the owner; see Owner.
	Draft(ctx context.Context, owner, path string) (Draft, error)
	// Holds reports whether a file is staged or already committed. It compares only what is cheap to compare: the size.
	Holds(ctx context.Context, owner string, file File) (bool, error)
	// Intact reports whether a file is staged or already committed with the bytes that were staged. A store that
	// verifies checksums on upload does the same as Holds; others read the file, once per Store. A Store may answer from
	// memory for what it has staged itself, if Commit notices the loss.
	Intact(ctx context.Context, owner string, file File) (bool, error)
	// Commit makes a staged file visible. It is idempotent: committing a committed file of the same size does nothing.
	// ErrStagedLost if the store has dropped the file or its bytes have changed. Committed files are durable when the
	// next Write returns.
	Commit(ctx context.Context, owner string, file File) error
	// Abort drops a staged file; a missing one is not an error. When Abort returns nil, the file is known to be gone.
	Abort(ctx context.Context, owner string, file File) error
	// Sweep drops everything the owner has staged and not committed, abandoned drafts included, except the files to keep,
	// as far as ListsStaged, and what this Store has staged in any case. A file that dropping another one at its path
	// would remove stays, and so does the other one.
	Sweep(ctx context.Context, owner string, keep ...File) error

	// Write replaces a document in one step if the condition holds, else fails with ErrConflict. The document is durable
	// when Write returns. If the response was lost and the document has since been replaced, Write may return
	// ErrConflict although it succeeded.
	Write(ctx context.Context, path string, data []byte, when Condition) error
	// Remove removes a visible object, and on disk the folders it leaves empty; a missing one is not an error. The
	// removal of a document, and every change before it, is durable when Remove returns. The removal of a file, or of a
	// document in a subfolder of its owner's folder, is durable when the next document was written or removed.
	Remove(ctx context.Context, path string) error

	// Lock takes the lock of a name, against other processes and other users of this Store, until unlock is called or
	// the process ends. While others hold it, Lock waits up to patience or until ctx is done, and then fails with a
	// *LockedError that names the holder; it logs waits of more than ten seconds. Stores with conditional writes need no
	// locks, and may return one that excludes no other process.
	Lock(ctx context.Context, name string, mode LockMode, patience time.Duration) (unlock func() error, err error)
}

// Reader is the part of a Store that changes nothing that readers or other processes see.
type Reader interface {
	// String names the destination for messages, without credentials.
	String() string
	// Info returns what this store does otherwise than others. It sends no request.
	Info() Info

	// CheckReading verifies, within seconds, that the destination exists and can be read: a missing folder or bucket is
	// not an empty destination.
	CheckReading(ctx context.Context) error
	// Check verifies that the destination can be written. It leaves nothing behind, not even a folder, and removes what
	// killed processes have left, except staged files.
	Check(ctx context.Context) error
	// CheckCommit verifies, as far as possible, that Commit can make files visible at these paths. It leaves nothing
	// behind. The error says what blocks it and what to do.
	CheckCommit(ctx context.Context, owner string, paths []string) error

	// Read returns a document and its version for a later Write. ErrNotFound.
	Read(ctx context.Context, path string) (data []byte, version string, err error)
	// Open opens a visible object for reading. ErrNotFound.
	Open(ctx context.Context, path string) (Object, error)
	// List yields the visible objects whose path starts with prefix, ordered by path.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]

	// ListsStaged reports whether Sweep and Staged find every staged file. Where they do not, staged files must be
	// aborted one by one, or be found by their paths; see PathLister. It tries that out once.
	ListsStaged(ctx context.Context) (bool, error)
	// Staged returns the owners, escaped as in paths, of staged files and drafts, and the time of each one's newest.
	Staged(ctx context.Context) (map[string]time.Time, error)
}

// Condition describes the document that a Write expects to replace. The zero Condition replaces anything.
type Condition struct {
	// Absent requires that there is no object at the path.
	Absent bool
	// Version, unless empty, requires that the object has this version, as Read returned it.
	Version string
}

// Draft is a file that is being written. It is invisible. It must be ended by Stage or Abort; further calls of either
// have no effect.
type Draft interface {
	io.Writer
	// Finish ends writing and returns the size.
	Finish() (size int64, err error)
	// ReadAt reads what was written; only after Finish.
	io.ReaderAt
	// Stage makes the finished file durable and returns File.Staged. ErrStagedLost if another process has swept the
	// owner's files.
	Stage(ctx context.Context) (staged []byte, err error)
	// Abort drops the draft.
	Abort() error
}

// File is a file that is staged or committed.
type File struct {
	Path string `json:"path"` // relative to the destination
	// Rows counts the rows; stores ignore it.
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`  // the size
	SHA256 string `json:"sha256"` // in hexadecimal
	// Staged is the state that the store needs to commit the file; callers keep it until then.
	Staged json.RawMessage `json:"staged,omitempty"`
}

// Info describes a store, for callers that must not ask which store they have.
type Info struct {
	// URL is the destination as DuckDB and other readers take it, without a slash at its end: an absolute path with
	// slashes, or a URL. HadoopURL is the same for Spark and other readers that use Hadoop.
	URL, HadoopURL string
	// Session is the statements that a DuckDB session needs before it reads the destination; empty for none.
	Session string
	// Folder is the destination's folder; empty if it is not on a file system, so that using it takes requests.
	Folder string
	// Locks reports whether Lock excludes other processes. If not, only conditional writes keep two publishers apart, and
	// they may have to be tried out.
	Locks bool
	// Permissions names what the user must be allowed to do, for advice; empty if errors say it.
	Permissions string
}

// The interfaces below are abilities of some stores. Callers find them by a type assertion, and do without them
// otherwise.

// StagedReader can read back a staged file. A store that stages by multipart upload cannot.
type StagedReader interface {
	// OpenStaged opens a staged or committed file. ErrStagedLost if it is gone.
	OpenStaged(ctx context.Context, owner string, file File) (Object, error)
}

// ConditionAdapter can write under conditions in other ways, for servers that do not treat them as S3 does.
type ConditionAdapter interface {
	// Conditions returns the way of conditional writes, which the answer to a write may have changed.
	Conditions() Conditions
	// AdaptConditions sets the way of the writes to come.
	AdaptConditions(way Conditions)
}

// Conditions is a way of conditional writes.
type Conditions int32

const (
	// StandardConditions are those of S3.
	StandardConditions Conditions = iota
	// UnquotedConditions have versions without quotes, as Ceph compares them.
	UnquotedConditions
	// EmulatedConditions are compared by the store before it writes, for servers that do not. That narrows the window in
	// which two writers overwrite each other and does not close it.
	EmulatedConditions
)

// AbortProber can try out whether aborting a staged file removes a committed one at its path.
type AbortProber interface {
	AbortRemoves(ctx context.Context) (bool, error)
}

// PathLister finds staged files by their exact paths, for servers whose lists are not complete; see Store.ListsStaged.
type PathLister interface {
	// StagedAt returns when the newest staged file at any of the paths was staged; zero if there is none.
	StagedAt(ctx context.Context, paths []string) (time.Time, error)
	// SweepAt drops the staged files at the paths as Sweep does.
	SweepAt(ctx context.Context, paths []string, keep ...File) error
}

// Encrypter can say how an object is encrypted at rest.
type Encrypter interface {
	// Encryption returns the kind of encryption of a visible object, empty if the server does not say.
	Encryption(ctx context.Context, path string) (string, error)
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
