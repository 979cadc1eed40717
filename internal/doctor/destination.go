package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// minFreeBytes is the number of bytes that should always be free on a disk.
const minFreeBytes = 1e9

// Destination describes the destination to check, and the settings of future runs.
type Destination struct {
	// Store is nil if the store cannot be opened. Err is the reason why the destination cannot be used, or nil.
	Store   sink.Store
	Err     error
	Scratch string
	// SSE is the kind of encryption that uploads request. If it is empty, the bucket's own encryption applies.
	SSE string
	// Service and PartitionBy are settings of future runs. Service is empty if no service is configured.
	Service, PartitionBy string
	// Privacy is the profile of future runs. Fingerprint identifies the privacy key of future runs, even if the profile
	// does not need a key. It is empty if there is no key. KeyErr is the reason why the key is not valid or why a key that
	// the profile needs is missing, or nil.
	Privacy     schemas.Profile
	Fingerprint string
	KeyErr      error
	// KeyFile is the path of the key file if other users can read that file, otherwise "".
	KeyFile string
	Now     func() time.Time
}

// CheckDestination checks everything that a run needs from the destination, and returns the findings. The findings are
// incomplete if ctx ends before the checks do.
func CheckDestination(ctx context.Context, d Destination) []Finding {
	c := &destinationCheck{Destination: d, run: newRun(d.Now())}
	if d.Store != nil {
		c.info = d.Store.Info()
	}
	size := c.checkStore(ctx)
	if c.Privacy.NeedsKey() || c.KeyErr != nil {
		c.checkKey(ctx)
	}
	if c.KeyFile != "" {
		c.warn(PrivacyKey, "every user can read the privacy key file "+c.KeyFile+", and so could match pseudonyms to students",
			"run chmod 600 "+c.KeyFile)
	}
	if c.Err == nil {
		c.checkPurges(ctx)
		c.checkUndone(ctx)
		c.checkSuppression(ctx)
	}
	need := int64(minFreeBytes)
	if c.info.Folder != "" {
		c.checkFreeSpace(FreeSpace, c.info.Folder, max(size, need))
	} else {
		need = max(size, need) // files are built in the scratch folder before their upload
	}
	c.checkFreeSpace(Scratch, d.Scratch, need)
	return c.findings
}

// destinationCheck performs the operations of a run at a destination, under the id of a probe run.
type destinationCheck struct {
	findings
	Destination

	info sink.Info
	run  string
}

// checkStore tries every kind of write. It returns the size of the latest snapshot in bytes, or 0 if it is unknown.
func (c *destinationCheck) checkStore(ctx context.Context) int64 {
	if c.info.PlainEndpoint != "" {
		c.warn(Network, "the endpoint "+c.info.PlainEndpoint+" is not encrypted: student data can be read on the network", "use https")
	}
	if c.Err != nil {
		c.fail(DestinationAccess, c.Err, "")
		c.skip("the destination is not writable", List, Stage, Commit, Conditions, Delete, Snapshot)
		return 0
	}
	c.ok(DestinationAccess, "files can be staged in %s", c.Store)
	c.checkWrites(ctx)
	if ctx.Err() != nil {
		return 0
	}
	removeStale(ctx, c.Store, c.Now())
	return c.checkSnapshot(ctx)
}

// checkWrites tries every kind of write that a run needs. It removes the probe files even if a check fails.
func (c *destinationCheck) checkWrites(ctx context.Context) {
	file, document := probePaths(c.run)
	defer func() {
		// The delete check has already reported any errors.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		_ = c.Store.Sweep(ctx, c.run)
		for _, path := range append(raceDocuments(document), file, document) {
			_ = c.Store.Remove(ctx, path)
		}
		c.removeRoot(ctx)
	}()
	c.checkList(ctx)
	if c.checkStage(ctx, file) {
		c.checkCommit(ctx, file)
		if c.SSE != "" {
			c.checkEncryption(ctx, file)
		}
	} else {
		c.skip("nothing can be staged", Commit)
	}
	races := raceDocuments(document)
	c.checkConditions(ctx, document, races)
	if c.info.Locks {
		c.checkLock(ctx)
	}
	c.checkDelete(ctx, append(races, file, document)...)
}

// failed adds a failed check. Its advice names the permissions that may be missing.
func (c *destinationCheck) failed(check string, err error) {
	advice := ""
	if c.info.Permissions != "" {
		advice = "allow " + c.info.Permissions
	}
	c.fail(check, err, advice)
}

func (c *destinationCheck) checkList(ctx context.Context) {
	for _, err := range c.Store.List(ctx, "_") {
		if err != nil {
			c.failed(List, err)
			return
		}
	}
	_, err := c.Store.Staged(ctx)
	var complete bool
	if err == nil {
		complete, err = c.Store.ListsStaged(ctx)
	}
	switch {
	case err != nil:
		c.failed(List, err)
	case !complete:
		c.warn(List, "the store lists multipart uploads by exact key only, as MinIO does, "+
			"so uploads of a process that was killed are found only by the paths in its plan",
			"configure the store to expire stale uploads, but not before a held run would be published")
	default:
		c.ok(List, "published and staged files can be listed")
	}
}

// stage stages a small file and returns it.
func (c *destinationCheck) stage(ctx context.Context, path string) (sink.File, error) {
	file := sink.File{Path: path}
	draft, err := c.Store.Draft(ctx, c.run, path)
	if err != nil {
		return file, err
	}
	if _, err = draft.Write(probeContent()); err == nil {
		file.Bytes, err = draft.Finish()
	}
	if err == nil {
		file.Staged, err = draft.Stage(ctx)
	}
	return file, errors.Join(err, draft.Abort())
}

func (c *destinationCheck) checkStage(ctx context.Context, path string) bool {
	file, err := c.stage(ctx, path)
	var held bool
	if err == nil {
		if held, err = c.Store.Holds(ctx, c.run, file); err == nil && !held {
			err = errors.New("a staged file disappeared immediately")
		}
	}
	if err == nil {
		err = c.Store.Abort(ctx, c.run, file)
	}
	if err == nil {
		if held, err = c.Store.Holds(ctx, c.run, file); err == nil && held {
			err = errors.New("an aborted file still exists")
		}
	}
	if err != nil {
		c.failed(Stage, err)
		return false
	}
	c.ok(Stage, "a file was staged and dropped")
	return true
}

func (c *destinationCheck) checkCommit(ctx context.Context, path string) {
	var paths []string
	for _, kind := range []snapshot.Kind{snapshot.Full, snapshot.AsOf, snapshot.Delta} {
		paths = append(paths, snapshot.PointerPath(kind, "any"))
		for _, table := range schemas.Tables() {
			paths = append(paths, snapshot.DatePath(kind, table.Name, "any")+c.run)
		}
	}
	err := c.Store.CheckCommit(ctx, c.run, paths)
	var file sink.File
	if err == nil {
		file, err = c.stage(ctx, path)
	}
	if err == nil {
		err = c.Store.Commit(ctx, c.run, file)
	}
	var content []byte
	if err == nil {
		content, _, err = c.Store.Read(ctx, path)
	}
	if err == nil && !bytes.Equal(content, probeContent()) {
		err = errors.New("the content that was read back differs from the content that was written")
	}
	if err != nil {
		c.failed(Commit, err)
		return
	}
	c.ok(Commit, "a staged file was committed and read back")
}

// checkEncryption checks how the store has encrypted the committed file. A store that does not report any encryption
// may have ignored the request for it.
func (c *destinationCheck) checkEncryption(ctx context.Context, path string) {
	store, ok := c.Store.(sink.Encrypter)
	if !ok {
		return
	}
	kind, err := store.Encryption(ctx, path)
	switch {
	case err != nil:
		c.failed(Encryption, err)
	case kind == c.SSE:
		c.ok(Encryption, "the store reports encryption with %s", kind)
	case kind == "":
		c.warn(Encryption, "uploads that request "+c.SSE+" are accepted, but the store does not report any encryption", "ask its operator")
	default:
		c.fail(Encryption, fmt.Errorf("the store encrypts with %s, not with %s", kind, c.SSE), "set "+wording.Setting("s3-sse").String()+" as the bucket requires")
	}
}

// checkConditions checks that all but one of several writers are rejected, both when they write one after the other and
// when they write at the same time.
func (c *destinationCheck) checkConditions(ctx context.Context, path string, races []string) {
	ignored, err := tryConditions(ctx, c.Store, path)
	way := sink.StandardConditions
	if adapter, ok := c.Store.(sink.ConditionAdapter); ok {
		way = adapter.Conditions()
	}
	overwritten, advice := false, PublisherAdvice(c.info)
	if err == nil && !ignored && !c.info.Locks && way != sink.EmulatedConditions {
		overwritten, err = raceWriters(ctx, c.Store, races)
	}
	switch {
	case errors.Is(err, sink.ErrVersionRefused):
		c.fail(Conditions, errors.New("the store refuses to replace the version that it has just returned"),
			"nothing can be published here; check whether a proxy in front of the store rewrites ETags (W/...)")
	case err != nil:
		c.failed(Conditions, err)
	case ignored:
		c.warn(Conditions, "the store ignores the conditions and overwrites, so it is not safe for Delta Lake logs", advice)
	case way == sink.EmulatedConditions:
		c.warn(Conditions, "the store does not support conditional writes, so it is not safe for Delta Lake logs", advice)
	case overwritten:
		c.warn(Conditions, fmt.Sprintf("the store lets writers overwrite each other: of %d that wrote at once, several succeeded, "+
			"so it is not safe for Delta Lake logs", racers), advice)
	case way == sink.UnquotedConditions:
		c.ok(Conditions, "the second of two writers is refused if ETags are sent without quotes, as Ceph expects them; "+
			"Delta Lake logs can be written")
	default:
		c.ok(Conditions, "the second of two writers is refused; Delta Lake logs can be written")
	}
}

// checkLock checks that a destination that is locked cannot be locked a second time.
func (c *destinationCheck) checkLock(ctx context.Context) {
	unlock, err := c.Store.Lock(ctx, c.run, sink.Exclusive, 0)
	if err != nil {
		c.failed(Lock, err)
		return
	}
	unlockSecond, err := c.Store.Lock(ctx, c.run, sink.Exclusive, 0)
	if err == nil {
		err = unlockSecond()
		c.warn(Lock, "the file system has no locks", OnePublisher)
	} else if errors.Is(err, sink.ErrLocked) {
		err = nil
		c.ok(Lock, "the second of two processes is kept out")
	}
	if err := errors.Join(err, unlock()); err != nil {
		c.failed(Lock, err)
	}
}

// checkDelete removes the files that the other checks have written. It also checks whether the store removes a
// committed file when another upload of that file is aborted.
func (c *destinationCheck) checkDelete(ctx context.Context, paths ...string) {
	for _, path := range paths {
		err := c.Store.Remove(ctx, path)
		if err == nil {
			if _, _, err = c.Store.Read(ctx, path); err == nil {
				err = errors.New("a removed file still exists")
			} else if errors.Is(err, sink.ErrNotFound) {
				err = nil
			}
		}
		if err != nil {
			c.failed(Delete, fmt.Errorf("%w (the file may remain in %s)", err, folder))
			return
		}
	}
	removes := false
	if probe, ok := c.Store.(sink.AbortProber); ok {
		var err error
		if removes, err = probe.AbortRemoves(ctx); err != nil {
			c.failed(Delete, err)
			return
		}
	}
	if removes {
		c.warn(Delete, "the store removes a committed file when another upload of it is aborted, so such uploads are left open",
			"configure the store to expire stale uploads, and "+OnePublisher)
		return
	}
	c.ok(Delete, "the probe files were removed")
}

// removeRoot removes the destination's folder if this process created it and it is empty. Releasing a lock has this
// side effect.
func (c *destinationCheck) removeRoot(ctx context.Context) {
	if unlock, err := c.Store.Lock(ctx, c.run, sink.Exclusive, 0); err == nil {
		_ = unlock() // the folder may stay
	}
}

// checkSnapshot checks that the destination accepts runs of this service and partitioning. It returns the size of the
// latest snapshot in bytes, or 0 if it is unknown.
func (c *destinationCheck) checkSnapshot(ctx context.Context) (size int64) {
	err := snapshot.At(c.Store).CheckDestination(ctx, c.Service, c.PartitionBy, c.Service == "")
	if ctx.Err() != nil {
		return 0
	}
	if _, refused := errors.AsType[*snapshot.RefusedError](err); refused {
		c.fail(Snapshot, err, "")
		return 0
	}
	var manifest *snapshot.Manifest
	if err == nil {
		if manifest, err = snapshot.At(c.Store).LatestRun(ctx); err != nil {
			err = fmt.Errorf("read the latest snapshot: %w", err)
		}
	}
	switch {
	case err != nil:
		c.fail(Snapshot, err, "run growth-export verify for details")
	case manifest == nil:
		c.ok(Snapshot, "none yet")
	default:
		files := 0
		for _, table := range manifest.Tables {
			files += len(table.Files)
			for i := range table.Files {
				size += table.Files[i].Bytes
			}
		}
		partitioned := ""
		if by := manifest.Parameters.PartitionBy; by != "" && by != snapshot.NotPartitioned {
			partitioned = ", partitioned by " + by
		}
		c.ok(Snapshot, "the latest is of %s: %s tables, %s files, %s%s", manifest.SnapshotDate,
			wording.Count(len(manifest.Tables)), wording.Count(files), wording.Size(size), partitioned)
	}
	return size
}

// checkFreeSpace checks the free space on the disk of a folder, which need not exist yet.
func (c *destinationCheck) checkFreeSpace(check, folder string, need int64) {
	existing, err := filepath.Abs(folder)
	for err == nil && filepath.Dir(existing) != existing {
		if _, missing := os.Stat(existing); missing == nil {
			break
		}
		existing = filepath.Dir(existing)
	}
	var free int64
	if err == nil {
		free, err = freeBytes(existing)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		c.skip("free space cannot be read on this system", check)
	case err != nil:
		c.warn(check, fmt.Sprintf("the free space in %q cannot be read: %v", folder, err), "check it yourself")
	case free < need:
		c.warn(check, fmt.Sprintf("%s is free in %s", wording.Size(free), folder), "a run may need "+wording.Size(need)+" or more")
	default:
		c.ok(check, "%s is free in %s", wording.Size(free), folder)
	}
}
