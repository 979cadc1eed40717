package gcs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

const (
	// noVersion is the version of a document whose generation is unknown, as is the case behind some proxies.
	noVersion = "none"
	// noGeneration is a generation that no object has, because generations are microseconds since 1970.
	noGeneration = 1
)

// Read returns a document and its version, which is the generation.
func (s *Store) Read(ctx context.Context, path string) (data []byte, version string, err error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, "", err
	}
	err = s.request(ctx, s.download(s.prefix+path, anyGeneration), func(got answer) error {
		var err error
		data, err = io.ReadAll(got.body)
		_ = got.body.Close() // The data has been read.
		if err == nil {
			err = checkSum(got.header, data)
		}
		if err != nil {
			return &bodyError{status: got.status, cause: err}
		}
		version = cmp.Or(got.header.Get("X-Goog-Generation"), noVersion)
		return nil
	})
	switch {
	case noObject(err):
		return nil, "", sink.ErrNotFound
	case err != nil:
		return nil, "", s.failed("read", path, err)
	}
	return data, version, nil
}

// checkSum compares downloaded data with the checksum in the header of the response, if it has a checksum.
func checkSum(header http.Header, data []byte) error {
	for _, value := range header.Values("X-Goog-Hash") {
		for hash := range strings.SplitSeq(value, ",") {
			sum, ok := strings.CutPrefix(strings.TrimSpace(hash), "crc32c=")
			if ok && sum != encodeCRC(crc32.Checksum(data, castagnoli)) {
				return errors.New("its checksum differs from the object's")
			}
		}
	}
	return nil
}

// download returns the request for the bytes of an object.
func (s *Store) download(name string, generation int64) call {
	query := url.Values{"alt": {"media"}}
	if generation != anyGeneration {
		query.Set("generation", strconv.FormatInt(generation, 10))
	}
	return call{
		operation: getObject, method: http.MethodGet, path: s.objectPath(name), query: query,
		header: http.Header{"Accept-Encoding": {"identity"}},
	}
}

// Write writes a document in one request. If the condition does not hold, it checks whether an earlier attempt of the
// same Write, whose response was lost, has written the object.
func (s *Store) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := remote.Ready(ctx, path); err != nil {
		return err
	}
	_, err := s.insert(ctx, newObject{
		Name: s.prefix + path, ContentType: remote.ContentType(path), Metadata: map[string]string{idName: rand.Text()},
		CacheControl: "no-cache", // Otherwise the service caches objects that are publicly readable.
	}, bytes.NewReader(data), int64(len(data)), generationOf(when), false)
	if err != nil && !errors.Is(err, sink.ErrConflict) {
		return s.failed("write", path, err)
	}
	return err
}

// generationOf returns the generation that a condition requires.
func generationOf(when sink.Condition) int64 {
	switch {
	case when.Absent:
		return 0
	case when.Version == "":
		return anyGeneration
	}
	generation, err := strconv.ParseInt(when.Version, 10, 64)
	if err != nil || generation <= 0 { // To the service, 0 would mean that the object must not exist.
		return noGeneration
	}
	return generation
}

// Remove removes an object. A missing object is not an error.
func (s *Store) Remove(ctx context.Context, path string) error {
	if err := remote.Ready(ctx, path); err != nil {
		return err
	}
	if err := s.remove(ctx, s.prefix+path, anyGeneration); err != nil {
		return s.failed("remove", path, err)
	}
	return nil
}

// remove removes a generation of an object, or with anyGeneration the latest. A missing object is not an error.
func (s *Store) remove(ctx context.Context, name string, generation int64) error {
	query := url.Values{}
	if generation != anyGeneration {
		query.Set("generation", strconv.FormatInt(generation, 10))
	}
	err := s.request(ctx, call{operation: deleteObject, method: http.MethodDelete, path: s.objectPath(name), query: query}, discard)
	if noObject(err) {
		return nil
	}
	return err
}

// Open opens an object. Reads fail once the object has been replaced.
func (s *Store) Open(ctx context.Context, path string) (sink.Object, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	return s.openObject(ctx, path)
}

func (s *Store) openObject(ctx context.Context, path string) (sink.Object, error) {
	found, err := s.stat(ctx, s.prefix+path, anyGeneration)
	switch {
	case noObject(err):
		return nil, sink.ErrNotFound
	case err != nil:
		return nil, s.failed("open", path, err)
	}
	open := func(from, to int64) (body io.ReadCloser, err error) {
		c := s.download(s.prefix+path, found.Generation)
		c.header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
		err = s.request(ctx, c, func(got answer) error {
			if got.status != http.StatusPartialContent && to-from < found.Size {
				_ = discard(got)
				return fmt.Errorf("the service answered %d to a request for a range", got.status)
			}
			body = got.body
			return nil
		})
		if noObject(err) { // the object was removed after Open
			err = sink.ErrNotFound
		}
		if err != nil {
			return nil, s.failed("read", path, err)
		}
		return body, nil
	}
	return remote.NewObject(found.Size, nil, open, func(attempt int, cause error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case attempt >= s.limits.attempts:
			return s.failed("read", path, fmt.Errorf("%w (%d attempts)", cause, attempt))
		}
		return s.pause(ctx, attempt, cause, s.limits.maxBackoff)
	}), nil
}
