package azure

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// checkFolder is the folder in which checks write blobs and blocks. Each check removes what it wrote.
const checkFolder = "_check/"

// Check verifies that the credentials are valid, that the container can be listed, and that blobs can be written and
// removed under the prefix. It also removes the blobs that a killed process left behind in Check.
func (s *Store) Check(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = s.checkWriting(s.shortRetries(ctx))
	}
	if err != nil {
		return fmt.Errorf("destination %s: %w", s, err)
	}
	return nil
}

func (s *Store) checkWriting(ctx context.Context) error {
	left, err := s.list(ctx, checkFolder, false)
	if err != nil {
		return err
	}
	paths := []string{checkFolder + rand.Text()}
	for _, entry := range left {
		paths = append(paths, entry.Path)
	}
	return s.replaceAndRemove(ctx, paths)
}

// replaceAndRemove commits an empty list of blocks at the first path, which removes the uncommitted blocks there. It
// then removes the blobs at all paths, unless the service has rejected the commit.
func (s *Store) replaceAndRemove(ctx context.Context, paths []string) error {
	_, written := s.blob(paths[0]).CommitBlockList(ctx, nil, nil)
	if written != nil {
		written = s.failed("write", paths[0], written)
		if answered(written) {
			return written
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remote.CleanUpPatience)
	defer cancel()
	return errors.Join(written, sink.RemoveAll(ctx, s, paths))
}

// CheckReading verifies, within seconds, that the credentials are valid and that the container exists. It succeeds even
// if the credentials do not allow listing the container, because they may still allow reading.
func (s *Store) CheckReading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: &s.prefix, MaxResults: new(int32(1)),
	}).NextPage(s.shortRetries(ctx))
	if err != nil && !denied(err) {
		return fmt.Errorf("destination %s: list blobs: %w", s, s.describe(err))
	}
	return nil
}

// ListsStaged uploads a block and reports whether a list then contains its blob. It needs this test because the
// documentation describes only accounts with a flat namespace, and other accounts may behave differently. The block has
// the form of a dropped block, so that a killed process leaves nothing staged.
func (s *Store) ListsStaged(ctx context.Context) (bool, error) {
	return s.listing.Ask(func() (listed bool, err error) {
		path := checkFolder + rand.Text()
		defer func() { err = errors.Join(err, s.replaceAndRemove(ctx, []string{path})) }()
		body := streaming.NopCloser(strings.NewReader("-"))
		if _, err := s.blob(path).StageBlock(ctx, block{upload: rand.Text(), size: 2}.id(), body, nil); err != nil {
			return false, s.failed("upload", path, err)
		}
		entries, err := s.list(ctx, path, true)
		return slices.ContainsFunc(entries, func(e sink.Entry) bool { return e.Path == path }), err
	})
}
