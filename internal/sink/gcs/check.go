package gcs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Check verifies that the credentials are valid, that the bucket can be listed, and that objects can be staged and
// removed under the prefix. It also removes the objects that a killed process left behind in Check.
func (s *Store) Check(ctx context.Context) error {
	err := s.checkBucket(ctx)
	if err == nil {
		_, err = s.removeStaged(ctx, s.stagedFolder(checkFolder), make(map[string]bool), true)
	}
	if err == nil {
		err = s.checkStaging(ctx)
	}
	if err != nil {
		return fmt.Errorf("destination %s: %w", s, s.describe(err))
	}
	return nil
}

// CheckReading verifies, within seconds, that the credentials are valid and that the bucket exists. It succeeds even if
// the credentials do not allow listing the bucket, because they may still allow reading.
func (s *Store) CheckReading(ctx context.Context) error {
	err := s.checkBucket(ctx)
	if answer, ok := errors.AsType[*serviceError](err); ok && answer.status == http.StatusForbidden && answer.reason == "forbidden" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("destination %s: %w", s, s.describe(err))
	}
	return nil
}

// checkBucket checks that the objects under the prefix can be listed.
func (s *Store) checkBucket(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range s.objects(ctx, s.prefix, true) {
		if statusOf(err) == http.StatusNotFound && !noBucket(err) {
			err = &requestError{operation: listObjects, attempts: 1, cause: &serviceError{status: http.StatusNotFound, message: bucketMissing}}
		}
		return err
	}
	return nil
}

// bucketMissing is the service's message for a missing bucket. It replaces the messages of emulators, which are
// shorter.
const bucketMissing = "The specified bucket does not exist."

// checkStaging checks that an object can be staged and removed.
func (s *Store) checkStaging(ctx context.Context) error {
	id := rand.Text()
	name := s.stagedFolder(checkFolder) + id
	_, err := s.insert(ctx, newObject{
		Name: name, ContentType: "application/octet-stream", Metadata: map[string]string{idName: id},
	}, strings.NewReader(""), 0, 0, true)
	ctx, cancel := lateContext(ctx)
	defer cancel()
	if removeErr := s.remove(ctx, name, anyGeneration); err == nil {
		err = removeErr
	}
	return err
}
