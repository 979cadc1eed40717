package gcs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// maxReplacements is the maximum number of attempts to commit a file while other processes commit other files at its
// path.
const maxReplacements = 5

// stagedObject is the File.Staged of a Store: the staged object of a file.
type stagedObject struct {
	// ID is the last segment of the staged object's name. It is also in the object's metadata, which the committed
	// object keeps.
	ID         string `json:"id"`
	Generation int64  `json:"generation"`
	Bytes      int64  `json:"bytes"`
	CRC32C     string `json:"crc32c"`
}

// decodeStaged decodes file.Staged. It returns the zero value if file.Staged is nil, and sink.ErrDamaged if it is not
// valid.
func decodeStaged(file sink.File) (token stagedObject, err error) {
	if file.Staged == nil {
		return token, nil
	}
	if err := json.Unmarshal(file.Staged, &token); err != nil {
		return token, fmt.Errorf("read the record of the staged file of %s: %w: %w", file.Path, sink.ErrDamaged, err)
	}
	if token.ID == "" || token.Generation == 0 {
		return token, fmt.Errorf("read the record of the staged file of %s: %w", file.Path, sink.ErrDamaged)
	}
	return token, nil
}

// stagedFolder returns the prefix of the names of the objects in a folder below _staging/.
func (s *Store) stagedFolder(folder string) string {
	return s.prefix + sink.StagingPrefix + folder + "/"
}

// stagedName returns the name of a staged object.
func (s *Store) stagedName(owner, id string) string { return s.stagedFolder(sink.Escape(owner)) + id }

// Draft starts a file in the scratch folder. Stage uploads it as an object below _staging/.
func (s *Store) Draft(ctx context.Context, owner, path string) (sink.Draft, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	return remote.NewDraft(s.opts.Scratch, path, func(ctx context.Context, file io.ReaderAt, size int64) ([]byte, error) {
		token, err := s.stage(ctx, owner, file, size)
		if err != nil {
			return nil, s.failed("upload", path, err)
		}
		return json.Marshal(token)
	})
}

// stage uploads a file as a staged object. If it fails, it removes the object, which may have been written
// nevertheless.
func (s *Store) stage(ctx context.Context, owner string, file io.ReaderAt, size int64) (stagedObject, error) {
	select {
	case s.uploading <- struct{}{}:
		defer func() { <-s.uploading }()
	case <-ctx.Done():
		return stagedObject{}, context.Cause(ctx)
	}
	id := rand.Text()
	name := s.stagedName(owner, id)
	found, err := s.insert(ctx, newObject{
		Name: name, ContentType: "application/octet-stream", Metadata: map[string]string{idName: id},
	}, file, size, 0, false)
	if err != nil {
		ctx, cancel := lateContext(ctx)
		defer cancel()
		if removeErr := s.remove(ctx, name, anyGeneration); removeErr != nil && ctx.Err() == nil {
			err = errors.Join(err, removeErr)
		}
		return stagedObject{}, err
	}
	s.own.Store(id, struct{}{})
	return stagedObject{ID: id, Generation: found.Generation, Bytes: size, CRC32C: found.CRC32C}, nil
}

// lateContext returns a context for cleaning up. It is limited by remote.CleanUpPatience, and not affected when ctx is
// done.
func lateContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), remote.CleanUpPatience)
}

// Commit makes the service copy the staged object to its path, and then removes the staged object. If there is already
// an object at the path, its id shows whether it is this file. Another process may have committed the file, or this
// process may have done so and lost the response.
func (s *Store) Commit(ctx context.Context, owner string, file sink.File) (err error) {
	defer func() {
		if errors.Is(err, sink.ErrStagedLost) {
			s.own.Clear() // Other staged files may be lost too.
		}
	}()
	if err := remote.Ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return err
	}
	s.own.Delete(token.ID)
	if token.ID == "" {
		err = s.requireCommitted(ctx, file, token)
	} else {
		err = s.commit(ctx, s.stagedName(owner, token.ID), file, token)
	}
	if err != nil {
		return s.failed("publish", file.Path, err)
	}
	return nil
}

func (s *Store) commit(ctx context.Context, staged string, file sink.File, token stagedObject) error {
	if token.Bytes != file.Bytes {
		return sink.ErrStagedLost
	}
	var replaced int64 // the generation of the object at the path
	for range maxReplacements {
		err := s.rewrite(ctx, staged, token.Generation, s.prefix+file.Path, replaced)
		switch {
		case err == nil:
			return s.remove(ctx, staged, token.Generation)
		case noObject(err):
			return s.requireCommitted(ctx, file, token)
		case !refused(err):
			return err
		}
		there, err := s.stat(ctx, s.prefix+file.Path, anyGeneration)
		switch {
		case noObject(err):
			replaced = 0
		case err != nil:
			return err
		case isFile(there, file, token):
			return s.remove(ctx, staged, token.Generation)
		default:
			replaced = there.Generation // Another process of the owner has committed a different file at this path.
		}
	}
	return errors.New("other processes keep replacing the file")
}

// isFile reports whether the object at a file's path is the file. An object without an id may be a copy that another
// tool made, so only its size is compared.
func isFile(there resource, file sink.File, token stagedObject) bool {
	id := there.Metadata[idName]
	return there.Size == file.Bytes && (id == token.ID || id == "" || token.ID == "")
}

// requireCommitted returns ErrStagedLost unless the file is committed.
func (s *Store) requireCommitted(ctx context.Context, file sink.File, token stagedObject) error {
	there, err := s.stat(ctx, s.prefix+file.Path, anyGeneration)
	if noObject(err) || err == nil && !isFile(there, file, token) {
		return sink.ErrStagedLost
	}
	return err
}

// rewrite makes the service copy a generation of an object to another name, if the condition on the object there holds;
// see conditions.
func (s *Store) rewrite(ctx context.Context, from string, generation int64, to string, condition int64) error {
	query := conditions(condition)
	query.Set("sourceGeneration", strconv.FormatInt(generation, 10))
	for {
		var progress struct {
			Done  bool   `json:"done"`
			Token string `json:"rewriteToken"`
		}
		err := s.request(ctx, call{
			operation: rewriteObject, method: http.MethodPost, query: query,
			path: s.objectPath(from) + "/rewriteTo/b/" + url.PathEscape(s.bucket) + "/o/" + url.PathEscape(to),
		}, decode(&progress))
		switch {
		case err != nil:
			return err
		case progress.Done:
			return nil
		case progress.Token == "":
			return errors.New("the service has copied part of the file and does not say how to continue")
		}
		query.Set("rewriteToken", progress.Token) // Several requests are needed if the service has to copy a large file to other disks.
	}
}

// Holds compares the size and the checksum of the staged object. If they differ or the object is missing, it looks for
// the committed object.
func (s *Store) Holds(ctx context.Context, owner string, file sink.File) (bool, error) {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return false, err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return false, err
	}
	if token.ID != "" && token.Bytes == file.Bytes {
		staged, err := s.stat(ctx, s.stagedName(owner, token.ID), token.Generation)
		switch {
		case err == nil && staged.Size == token.Bytes && staged.CRC32C == token.CRC32C:
			return true, nil
		case err != nil && !noObject(err):
			return false, s.failed("look for the staged file of", file.Path, err)
		}
	}
	switch err := s.requireCommitted(ctx, file, token); {
	case errors.Is(err, sink.ErrStagedLost):
		return false, nil
	case err != nil:
		return false, s.failed("look for", file.Path, err)
	}
	return true, nil
}

// Intact does the same as Holds for files that this Store did not stage, because the service has verified their
// checksums. It assumes without a request that the files that this Store has staged are intact, until Commit finds that
// a file was lost.
func (s *Store) Intact(ctx context.Context, owner string, file sink.File) (bool, error) {
	if token, err := decodeStaged(file); err == nil && token.Bytes == file.Bytes {
		if _, own := s.own.Load(token.ID); own {
			return true, remote.Ready(ctx, file.Path)
		}
	}
	return s.Holds(ctx, owner, file)
}

// Abort removes a staged object. A committed object is left alone.
func (s *Store) Abort(ctx context.Context, owner string, file sink.File) error {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := decodeStaged(file)
	if err != nil || token.ID == "" {
		return err
	}
	s.own.Delete(token.ID)
	if err := s.remove(ctx, s.stagedName(owner, token.ID), anyGeneration); err != nil {
		return s.failed("drop the staged file of", file.Path, err)
	}
	return nil
}

// OpenStaged opens a staged or committed file.
func (s *Store) OpenStaged(ctx context.Context, owner string, file sink.File) (sink.Object, error) {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return nil, err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return nil, err
	}
	if token.ID != "" {
		object, err := s.openObject(ctx, sink.StagingPrefix+sink.Escape(owner)+"/"+token.ID)
		if !errors.Is(err, sink.ErrNotFound) {
			return object, err
		}
	}
	if err := s.requireCommitted(ctx, file, token); err != nil {
		return nil, s.failed("open the staged file of", file.Path, err)
	}
	return s.openObject(ctx, file.Path)
}
