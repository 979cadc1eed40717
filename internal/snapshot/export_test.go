package snapshot

import (
	"example.org/growthexport/internal/parquetfile"
	"example.org/growthexport/internal/sink"
)

const PublishLock = publishLock

// Unexported names that external tests use.
var (
	BeginPublishing = Catalog.beginPublishing
	ApplyChange     = Catalog.applyChange
	CommitAll       = Catalog.commitAll
	StageLedger     = Catalog.stageLedger
	Inspect         = inspect
)

// Files returns the files that the change commits.
func (c *Change) Files() []sink.File { return c.files() }

// Manifest returns the manifest of the run and its staged files.
func (g *StagedRun) Manifest() (*Manifest, map[string]sink.File) { return g.manifest() }

// SetDraft wraps the draft of the file.
func (f *TableFile) SetDraft(wrap func(sink.Draft) sink.Draft) { f.draft = wrap(f.draft) }

// Draft returns the draft of the file.
func (f *TableFile) Draft() sink.Draft { return f.draft }

// Writer returns the Parquet writer of the file.
func (f *TableFile) Writer() *parquetfile.Writer { return f.writer }
