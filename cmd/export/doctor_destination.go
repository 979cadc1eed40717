package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// The checks of the destination, in their order.
const (
	checkDestination = "destination"
	checkList        = "list"
	checkStage       = "stage and drop"
	checkCommit      = "commit"
	checkEncryption  = "encryption"
	checkConditional = "conditional write"
	checkLock        = "lock"
	checkDelete      = "delete"
	checkSnapshot    = "snapshot"
	checkRoom        = "room"
	checkScratch     = "scratch"
)

const (
	// doctorAttempts is how often a request to S3 is tried, see doctorRetries.
	doctorAttempts = 3
	// sweepPatience is how long what was tried is cleared away.
	sweepPatience = 15 * time.Second
	// littleRoom is what a disk should have free in any case.
	littleRoom = 1e9
)

// examineDestination checks all that a run needs of the destination.
func (a *app) examineDestination(ctx context.Context, u *checkup, o *doctorOptions, from sources) {
	overheard := &overheard{}
	o.s3.Attempts, o.s3.Log = doctorAttempts, slog.New(overheard)
	store, err := a.openStore(ctx, &o.destination, from)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		u.fail(checkDestination, err, "")
		u.skip("the destination cannot be written", checkList, checkStage, checkCommit, checkConditional, checkDelete, checkSnapshot)
	} else {
		if o.place.folder != "" {
			u.ok(checkDestination, "files can be made in %s", store)
		} else {
			u.ok(checkDestination, "%s is there, and uploads can be started and aborted", store)
		}
		t := &tryout{checkup: u, store: store, run: trialRun(a.now()), onDisk: o.place.folder != "", overheard: overheard}
		t.examine(ctx, o.s3.SSE)
		if ctx.Err() == nil {
			clearTrials(ctx, store, a.now())
		}
	}
	var last int64
	if store != nil && ctx.Err() == nil {
		last = examineSnapshot(ctx, u, store, o.serviceName(from), o.partitionBy)
	}
	if folder := o.place.folder; folder != "" {
		examineRoom(u, checkRoom, folder, max(last, littleRoom))
	}
	need := int64(littleRoom)
	if o.place.folder == "" {
		need = max(last, need) // files grow there before their upload
	}
	examineRoom(u, checkScratch, cmp.Or(o.scratch, os.TempDir()), need)
}

// permissions are what a run needs to be allowed on S3.
const permissions = "allow s3:ListBucket, s3:ListBucketMultipartUploads, s3:ListMultipartUploadParts, s3:GetObject, " +
	"s3:PutObject, s3:AbortMultipartUpload and s3:DeleteObject"

// tryout does at a destination what a run does, with files that nobody sees for
// longer than that.
type tryout struct {
	*checkup

	store     sink.Store
	run       string
	onDisk    bool
	overheard *overheard
}

// examine tries every step, and clears away what they made however they end.
func (t *tryout) examine(ctx context.Context, sse string) {
	file, document := trialPaths(t.run)
	defer func() {
		// What is not there is no error, and the delete check has told of the rest.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepPatience)
		defer cancel()
		_ = t.store.Sweep(ctx, t.run)
		_ = t.store.Remove(ctx, file)
		_ = t.store.Remove(ctx, document)
		t.unmake(ctx)
	}()
	t.list(ctx)
	staged := t.stage(ctx, file)
	switch {
	case !staged:
		t.skip("nothing can be staged", checkCommit)
	default:
		t.commit(ctx, file)
	}
	if sse != "" && staged {
		t.encryption(ctx, file, sse)
	}
	t.conditional(ctx, document)
	if t.onDisk {
		t.lock(ctx)
	}
	t.remove(ctx, file, document)
}

// failed notes a step that failed, and on S3 what may have been missing.
func (t *tryout) failed(name string, err error) {
	if t.onDisk {
		t.fail(name, err, "")
		return
	}
	t.fail(name, err, permissions)
}

func (t *tryout) list(ctx context.Context) {
	for _, err := range t.store.List(ctx, "_") {
		if err != nil {
			t.failed(checkList, err)
			return
		}
	}
	if _, err := t.store.Staged(ctx); err != nil {
		t.failed(checkList, err)
		return
	}
	listed, err := t.store.ListsStaged(ctx)
	switch {
	case err != nil:
		t.failed(checkList, err)
	case !listed:
		t.warn(checkList, "the store lists multipart uploads by exact key only, as MinIO does, "+
			"so uploads of a process that was killed cannot be found and removed",
			"have the store expire stale uploads, after a longer time than a held run may wait")
	default:
		t.ok(checkList, "what is there, and what is staged, can be listed")
	}
}

// draft stages a small file.
func (t *tryout) draft(ctx context.Context, path string, content []byte) (sink.File, error) {
	file := sink.File{Path: path}
	draft, err := t.store.Draft(ctx, t.run, path)
	if err != nil {
		return file, err
	}
	if _, err = draft.Write(content); err == nil {
		file.Bytes, err = draft.Finish()
	}
	if err == nil {
		file.Staged, err = draft.Stage(ctx)
	}
	return file, errors.Join(err, draft.Abort())
}

// trialContent is what is written.
func trialContent() []byte { return []byte(`{"written_by":"growth-export doctor"}` + "\n") }

func (t *tryout) stage(ctx context.Context, path string) bool {
	file, err := t.draft(ctx, path, trialContent())
	if err == nil {
		var holds bool
		if holds, err = t.store.Holds(ctx, t.run, file); err == nil && !holds {
			err = errors.New("a file that was staged is gone at once")
		}
	}
	if err == nil {
		err = t.store.Abort(ctx, t.run, file)
	}
	if err == nil {
		var holds bool
		if holds, err = t.store.Holds(ctx, t.run, file); err == nil && holds {
			err = errors.New("a file that was dropped is still there")
		}
	}
	if err != nil {
		t.failed(checkStage, err)
		return false
	}
	if t.onDisk {
		t.ok(checkStage, "a file was staged and dropped")
	} else {
		t.ok(checkStage, "a file was staged as a multipart upload, which was aborted")
	}
	return true
}

func (t *tryout) commit(ctx context.Context, path string) {
	var paths []string
	for _, table := range schemas.Tables() {
		for _, kind := range []sink.Kind{sink.Full, sink.AsOf, sink.Delta} {
			paths = append(paths, sink.DatePath(kind, table.Name, "any")+t.run)
		}
	}
	err := t.store.CheckCommit(ctx, t.run, paths)
	var file sink.File
	if err == nil {
		file, err = t.draft(ctx, path, trialContent())
	}
	if err == nil {
		err = t.store.Commit(ctx, t.run, file)
	}
	var back []byte
	if err == nil {
		back, _, err = t.store.Read(ctx, path)
	}
	if err == nil && !bytes.Equal(back, trialContent()) {
		err = errors.New("a file is read back with another content")
	}
	switch {
	case err != nil:
		t.failed(checkCommit, err)
	case t.onDisk:
		t.ok(checkCommit, "a staged file was renamed into place and read back")
	default:
		t.ok(checkCommit, "a multipart upload was completed and read back")
	}
}

// encryption reads back how the store has encrypted what was committed. One that
// says nothing may have taken no notice.
func (t *tryout) encryption(ctx context.Context, path, sse string) {
	store, tells := t.store.(interface {
		Encryption(ctx context.Context, path string) (string, error)
	})
	if !tells {
		return
	}
	kind, err := store.Encryption(ctx, path)
	switch {
	case err != nil:
		t.failed(checkEncryption, err)
	case kind == sse:
		t.ok(checkEncryption, "the store says that it encrypts with %s", kind)
	case kind == "":
		t.warn(checkEncryption, "uploads that ask for "+sse+" are taken, but the store does not say that it encrypts them", "ask who runs it")
	default:
		t.fail(checkEncryption, fmt.Errorf("the store encrypts with %s, not with %s", kind, sse), "set --s3-sse to what the bucket is made for")
	}
}

// conditional checks that the second of two writers is refused.
func (t *tryout) conditional(ctx context.Context, path string) {
	ignored, err := tryConditions(ctx, t.store, path)
	switch {
	case errors.Is(err, sink.ErrVersionRefused):
		t.fail(checkConditional, errors.New("the store refuses to replace a document under the version that it has just returned"),
			"no snapshot can be replaced here; see whether a proxy before the store rewrites ETags (W/...)")
	case err != nil:
		t.failed(checkConditional, err)
	case ignored:
		t.warn(checkConditional, "the store overwrites though it is told not to", onePublisher)
	case t.overheard.heard.Load():
		t.warn(checkConditional, "the store does not support conditional writes", onePublisher)
	default:
		t.ok(checkConditional, "of two writers the second is refused")
	}
}

// lock tries whether two processes would keep each other out.
func (t *tryout) lock(ctx context.Context) {
	unlock, err := t.store.Lock(ctx, t.run, sink.Exclusive, 0)
	if err != nil {
		t.failed(checkLock, err)
		return
	}
	second, again := t.store.Lock(ctx, t.run, sink.Exclusive, 0)
	if again == nil {
		again = second()
		t.warn(checkLock, "the file system has no locks", onePublisher)
	} else if errors.Is(again, sink.ErrLocked) {
		again = nil
		t.ok(checkLock, "of two processes the second is kept out")
	}
	if err := errors.Join(again, unlock()); err != nil {
		t.failed(checkLock, err)
	}
}

// remove removes what the other checks made visible.
func (t *tryout) remove(ctx context.Context, paths ...string) {
	for _, path := range paths {
		err := t.store.Remove(ctx, path)
		if err == nil {
			if _, _, err = t.store.Read(ctx, path); err == nil {
				err = errors.New("a file that was removed is still there")
			} else if errors.Is(err, sink.ErrNotFound) {
				err = nil
			}
		}
		if err != nil {
			t.failed(checkDelete, fmt.Errorf("%w (it may lie in %s)", err, trialFolder))
			return
		}
	}
	t.ok(checkDelete, "what was tried is gone")
}

// unmake removes a folder that was not there before: whoever gives up a lock in
// an empty one that this process has made does so.
func (t *tryout) unmake(ctx context.Context) {
	if unlock, err := t.store.Lock(ctx, t.run, sink.Exclusive, 0); err == nil {
		_ = unlock() // it is empty, or not ours
	}
}

// overheard is a handler of log lines that notes only whether there was one:
// what a store says of itself is a warning.
type overheard struct{ heard atomic.Bool }

var _ slog.Handler = (*overheard)(nil)

// Enabled takes every line.
func (*overheard) Enabled(context.Context, slog.Level) bool { return true }

// Handle notes the line.
func (h *overheard) Handle(context.Context, slog.Record) error {
	h.heard.Store(true)
	return nil
}

// WithAttrs returns the handler itself.
func (h *overheard) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup returns the handler itself.
func (h *overheard) WithGroup(string) slog.Handler { return h }

// examineSnapshot checks that the destination accepts runs of this service and
// partitioning, and returns the size of the last snapshot. The service is empty
// if none is chosen.
func examineSnapshot(ctx context.Context, u *checkup, store sink.Store, service, partitionBy string) (bytes int64) {
	err := sink.CheckDestination(ctx, store, service, partitionBy, service == "")
	if ctx.Err() != nil {
		return 0
	}
	if _, refused := errors.AsType[*sink.RefusedError](err); refused {
		u.fail(checkSnapshot, usagef("%w", err), "")
		return 0
	}
	var manifest *sink.Manifest
	if err == nil {
		manifest, err = publishedRun(ctx, store, "", "")
	}
	switch {
	case errors.Is(err, errNothingPublished):
		u.ok(checkSnapshot, "none is there yet")
	case err != nil:
		u.fail(checkSnapshot, err, "growth-export verify tells more")
	default:
		files := 0
		for _, table := range manifest.Tables {
			files += len(table.Files)
			for i := range table.Files {
				bytes += table.Files[i].Bytes
			}
		}
		u.ok(checkSnapshot, "the latest is of %s: %s tables, %s files, %s, partitioned by %s", manifest.SnapshotDate,
			wording.Count(len(manifest.Tables)), wording.Count(files), wording.Size(bytes), cmp.Or(manifest.Parameters.PartitionBy, sink.NotPartitioned))
	}
	return bytes
}

// examineRoom tells how much is free where a folder is, or will be.
func examineRoom(u *checkup, name, folder string, need int64) {
	at, err := filepath.Abs(folder)
	for err == nil && filepath.Dir(at) != at {
		if _, missing := os.Stat(at); missing == nil {
			break
		}
		at = filepath.Dir(at)
	}
	var free int64
	if err == nil {
		free, err = freeBytes(at)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		u.skip("this system does not tell how much is free", name)
	case err != nil:
		u.warn(name, fmt.Sprintf("nothing tells how much is free in %s: %v", quoted(folder), err), "look yourself")
	case free < need:
		u.warn(name, fmt.Sprintf("%s is free in %s", wording.Size(free), folder), "a run may need "+wording.Size(need)+" or more")
	default:
		u.ok(name, "%s is free in %s", wording.Size(free), folder)
	}
}
