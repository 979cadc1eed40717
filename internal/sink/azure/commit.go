package azure

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// maxCommits is the maximum number of attempts to commit a file while other processes commit other files at its path.
const maxCommits = 5

// Commit commits the list of the blocks of a staged file. Its result depends only on the blob that is at the path
// afterwards, because another process may already have committed the file, or this process may have done so and lost
// the response.
func (s *Store) Commit(ctx context.Context, _ string, file sink.File) (err error) {
	defer func() {
		if errors.Is(err, sink.ErrStagedLost) {
			s.lost.Store(true)
		}
	}()
	if err := remote.Ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return err
	}
	if token.ID != "" && token.Bytes == file.Bytes {
		err = s.commit(ctx, file.Path, &token)
	} else {
		var there bool
		if there, err = s.isCommitted(ctx, file, &token); err == nil && !there {
			err = sink.ErrStagedLost
		}
	}
	if err != nil {
		return s.failed("publish", file.Path, err)
	}
	s.own.Delete(token.ID)
	return nil
}

// commit commits the blocks of a token, unless they have already been committed. It returns sink.ErrStagedLost if the
// blocks are gone, or if other processes keep committing other files at the path.
func (s *Store) commit(ctx context.Context, path string, token *stagedBlocks) error {
	held, err := s.holds(ctx, path, token)
	if err != nil {
		return err
	}
	var ids []string
	if token.Bytes > 0 {
		for _, b := range token.blocks() {
			ids = append(ids, b.id())
		}
	}
	condition := absent()
	for range maxCommits {
		if held {
			_, err := s.blob(path).CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{
				Metadata: map[string]*string{idName: &token.ID}, AccessConditions: condition,
			})
			if err != nil && !conditionFailed(err) && !bloberror.HasCode(err, bloberror.InvalidBlockList) && !noBlob(err) {
				return err
			}
		}
		there, err := s.head(ctx, path)
		switch {
		case noBlob(err):
			return sink.ErrStagedLost
		case err != nil:
			return err
		case there.id == token.ID && there.size == token.Bytes:
			return nil
		case there.id == token.ID:
			return s.discard(ctx, path, there.etag)
		case !held:
			return sink.ErrStagedLost
		}
		condition = matches(there.etag)
		if held, err = s.holds(ctx, path, token); err != nil {
			return err
		}
	}
	return sink.ErrStagedLost
}

// discard removes a blob whose blocks another process dropped while they were being committed, and returns
// sink.ErrStagedLost.
func (s *Store) discard(ctx context.Context, path string, version azcore.ETag) error {
	_, err := s.blob(path).Delete(ctx, &blob.DeleteOptions{AccessConditions: matches(version)})
	if err != nil && !noBlob(err) && !conditionFailed(err) {
		return err
	}
	return sink.ErrStagedLost
}

// properties are the properties of a committed blob.
type properties struct {
	id   string // the random id of its upload or document; empty if another program wrote it
	size int64
	etag azcore.ETag
}

// head reads the properties of the blob at a path. A folder does not count as a blob.
func (s *Store) head(ctx context.Context, path string) (properties, error) {
	out, err := s.blob(path).GetProperties(ctx, nil)
	if err != nil {
		return properties{}, err
	}
	if isFolder(out.Metadata) {
		return properties{}, errFolder
	}
	p := properties{id: metadata(out.Metadata, idName)}
	if out.ContentLength != nil {
		p.size = *out.ContentLength
	}
	if out.ETag != nil {
		p.etag = *out.ETag
	}
	return p, nil
}

// isCommitted reports whether the blob at the file's path is the file. The blob must have the same size and, if both it
// and the token have an id, the same id.
func (s *Store) isCommitted(ctx context.Context, file sink.File, token *stagedBlocks) (bool, error) {
	there, err := s.head(ctx, file.Path)
	if noBlob(err) {
		return false, nil
	}
	return err == nil && there.size == file.Bytes && (there.id == token.ID || there.id == "" || token.ID == ""), err
}

// Holds compares the service's list of blocks with the staged blocks. If blocks are missing, it looks for the committed
// blob.
func (s *Store) Holds(ctx context.Context, _ string, file sink.File) (bool, error) {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return false, err
	}
	token, err := decodeStaged(file)
	if err != nil {
		return false, err
	}
	if token.ID != "" {
		if token.Bytes != file.Bytes {
			return false, nil
		}
		if held, err := s.holds(ctx, file.Path, &token); held || err != nil {
			return held, err
		}
	}
	there, err := s.isCommitted(ctx, file, &token)
	if err != nil {
		return false, s.failed("stat", file.Path, err)
	}
	return there, nil
}

// Intact does the same as Holds for files that this Store did not stage, because the service has verified the checksum
// of every block. It assumes without a request that the files that this Store has staged are intact, until Commit finds
// that a file was lost.
func (s *Store) Intact(ctx context.Context, owner string, file sink.File) (bool, error) {
	if token, err := decodeStaged(file); err == nil && token.Bytes == file.Bytes && !s.lost.Load() {
		if _, own := s.own.Load(token.ID); own {
			return true, remote.Ready(ctx, file.Path)
		}
	}
	return s.Holds(ctx, owner, file)
}

// Abort drops the blocks of a staged file. A committed file is left alone.
func (s *Store) Abort(ctx context.Context, _ string, file sink.File) error {
	if err := remote.Ready(ctx, file.Path); err != nil {
		return err
	}
	token, err := decodeStaged(file)
	if err != nil || token.ID == "" {
		return err
	}
	return s.drop(ctx, file.Path, token.ID)
}
