package gcs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/sink"
)

const (
	// chunkSize is the maximum number of bytes of a file in one request, so that little has to be sent again after a
	// failure. It is a multiple of 256 KiB, as the service requires.
	chunkSize = 8 << 20
	// maxSessions is the maximum number of sessions in which an upload is attempted, because the service may drop a
	// session.
	maxSessions = 3
	// idName is the name under which an object's metadata contains the object's random id.
	idName = "growth-export-id"

	uploadPrefix = "/upload"
)

// resource is the service's description of an object.
type resource struct {
	Name       string            `json:"name"`
	Generation int64             `json:"generation,string"`
	Size       int64             `json:"size,string"`
	CRC32C     string            `json:"crc32c"`
	Updated    time.Time         `json:"updated"`
	Metadata   map[string]string `json:"metadata"`
}

// newObject is the description of an object to upload.
type newObject struct {
	Name         string            `json:"name"`
	ContentType  string            `json:"contentType"`
	CacheControl string            `json:"cacheControl,omitempty"`
	CRC32C       string            `json:"crc32c"`
	Metadata     map[string]string `json:"metadata"`
}

// castagnoli is the table of the variant of CRC-32 that the service uses.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeCRC encodes a checksum as the service does.
func encodeCRC(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// insert uploads an object if the condition holds. The condition is anyGeneration, or the generation of the object to
// replace, or 0 if there must not be an object. The service verifies the checksum. If the condition does not hold,
// insert returns sink.ErrConflict, unless an earlier attempt of this insert, whose response was lost, has written the
// object.
func (s *Store) insert(
	ctx context.Context, object newObject, content io.ReaderAt, size, condition int64, short bool,
) (found resource, err error) {
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(content, 0, size)); err != nil {
		return resource{}, fmt.Errorf("read the scratch file: %w", err)
	}
	object.CRC32C = encodeCRC(sum.Sum32())
	if size <= chunkSize {
		found, err = s.insertAtOnce(ctx, object, content, size, condition, short)
	} else {
		found, err = s.insertInChunks(ctx, object, content, size, condition)
	}
	switch {
	case refused(err):
		found, err = s.stat(ctx, object.Name, anyGeneration)
		if noObject(err) || err == nil && found.Metadata[idName] != object.Metadata[idName] {
			return resource{}, sink.ErrConflict
		}
	case err == nil && (found.Size != size || found.CRC32C != object.CRC32C):
		err = fmt.Errorf("the service has stored %d bytes with the checksum %s, but %d bytes with %s were sent",
			found.Size, found.CRC32C, size, object.CRC32C)
	}
	return found, err
}

// anyGeneration means that a write has no condition, or that a read is of the latest generation of an object.
const anyGeneration = -1

// conditions returns the query parameters of a conditional write.
func conditions(condition int64) url.Values {
	query := url.Values{}
	if condition != anyGeneration {
		query.Set("ifGenerationMatch", strconv.FormatInt(condition, 10))
	}
	return query
}

// insertAtOnce uploads an object with one request.
func (s *Store) insertAtOnce(
	ctx context.Context, object newObject, content io.ReaderAt, size, condition int64, short bool,
) (found resource, err error) {
	description, err := json.Marshal(object)
	if err != nil {
		return resource{}, err
	}
	boundary := rand.Text()
	head := fmt.Appendf(nil, "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n--%s\r\nContent-Type: %s\r\n\r\n",
		boundary, description, boundary, object.ContentType)
	tail := fmt.Appendf(nil, "\r\n--%s--\r\n", boundary)
	query := conditions(condition)
	query.Set("uploadType", "multipart")
	err = s.request(ctx, call{
		operation: insertObject, method: http.MethodPost, path: uploadPrefix + s.bucketPath(), query: query, short: short,
		header: http.Header{"Content-Type": {"multipart/related; boundary=" + boundary}},
		body: func() io.Reader {
			return io.MultiReader(bytes.NewReader(head), io.NewSectionReader(content, 0, size), bytes.NewReader(tail))
		},
		size: int64(len(head)) + size + int64(len(tail)),
	}, decode(&found))
	return found, err
}

// errSessionLost reports that the service no longer has the session of an upload.
var errSessionLost = errors.New("the service has dropped an upload in progress")

// insertInChunks uploads an object with several requests, which belong to a session on the service.
func (s *Store) insertInChunks(
	ctx context.Context, object newObject, content io.ReaderAt, size, condition int64,
) (found resource, err error) {
	for range maxSessions {
		var session call
		if session, err = s.startSession(ctx, object, size, condition); err != nil {
			return resource{}, err
		}
		if found, err = s.sendChunks(ctx, session, content, size); err == nil {
			return found, nil
		}
		if !errors.Is(err, errSessionLost) {
			s.dropSession(ctx, session)
			return resource{}, err
		}
	}
	return resource{}, err
}

// startSession starts an upload and returns the call with which the chunks are sent.
func (s *Store) startSession(ctx context.Context, object newObject, size, condition int64) (session call, err error) {
	description, err := json.Marshal(object)
	if err != nil {
		return call{}, err
	}
	query := conditions(condition)
	query.Set("uploadType", "resumable")
	err = s.request(ctx, call{
		operation: insertObject, method: http.MethodPost, path: uploadPrefix + s.bucketPath(), query: query,
		header: http.Header{
			"Content-Type":            {"application/json; charset=UTF-8"},
			"X-Upload-Content-Length": {strconv.FormatInt(size, 10)}, "X-Upload-Content-Type": {object.ContentType},
		},
		body: func() io.Reader { return bytes.NewReader(description) }, size: int64(len(description)),
	}, func(got answer) error {
		_ = discard(got)
		// Only the path and the query are used, because the host may be wrong behind a proxy that does not know its own name.
		location, err := url.Parse(got.header.Get("Location"))
		if err != nil || location.Path == "" {
			return &bodyError{status: got.status, cause: errors.New("the address of the upload is missing")}
		}
		session = call{operation: insertObject, method: http.MethodPut, path: location.EscapedPath(), query: location.Query(), session: true}
		return nil
	})
	return session, err
}

// sendChunks sends the content to a session. After a failure, it asks the service how much it has received. It returns
// errSessionLost if a new session has to be started.
func (s *Store) sendChunks(ctx context.Context, session call, content io.ReaderAt, size int64) (resource, error) {
	var offset int64
	asking := false
	for attempt := 1; ; attempt++ {
		progress, err := s.sendChunk(ctx, session, content, offset, size, asking)
		switch {
		case err == nil && progress.done:
			return progress.object, nil
		case err == nil && progress.received > offset:
			attempt, offset, asking = 0, progress.received, false
			continue
		case err == nil && asking:
			offset, asking = progress.received, false
			continue
		case err == nil:
			offset, err = progress.received, errors.New("the service did not keep the data that was sent")
		case ctx.Err() != nil:
			return resource{}, context.Cause(ctx)
		case statusOf(err) == http.StatusNotFound, statusOf(err) == http.StatusGone:
			return resource{}, fmt.Errorf("%w: %w", errSessionLost, err)
		case !retryable(err):
			return resource{}, &requestError{operation: insertObject, attempts: attempt, cause: err}
		default:
			asking = true
		}
		if attempt >= s.limits.attempts {
			return resource{}, &requestError{operation: insertObject, attempts: attempt, cause: err}
		}
		if err := s.pause(ctx, attempt, err, s.limits.maxBackoff); err != nil {
			return resource{}, err
		}
	}
}

// chunkProgress is the progress of a session.
type chunkProgress struct {
	done     bool
	object   resource // set if done
	received int64    // the number of bytes, if not done
}

// sendChunk sends the chunk at an offset and returns the progress of the session. If asking is set, it sends no data.
func (s *Store) sendChunk(
	ctx context.Context, session call, content io.ReaderAt, offset, size int64, asking bool,
) (progress chunkProgress, err error) {
	c := session
	contentRange := fmt.Sprintf("bytes */%d", size)
	if !asking {
		end := min(offset+chunkSize, size)
		contentRange = fmt.Sprintf("bytes %d-%d/%d", offset, end-1, size)
		c.size = end - offset
		c.body = func() io.Reader { return io.NewSectionReader(content, offset, c.size) }
	}
	c.header = http.Header{"Content-Range": {contentRange}}
	err = s.attempt(ctx, c, func(got answer) error {
		if got.status != http.StatusPermanentRedirect {
			progress.done = true
			return decode(&progress.object)(got)
		}
		// The service reports the bytes that it has received, such as "bytes=0-99". If it has received none, there is no
		// header.
		_, last, some := strings.Cut(got.header.Get("Range"), "-")
		if n, err := strconv.ParseInt(last, 10, 64); some && err == nil && n < size {
			progress.received = n + 1
		}
		return discard(got)
	})
	return progress, err
}

// dropSession drops a session and the data that was sent to it. Otherwise the session expires after a week.
func (s *Store) dropSession(ctx context.Context, session call) {
	ctx, cancel := lateContext(ctx)
	defer cancel()
	session.method = http.MethodDelete
	_ = s.attempt(ctx, session, discard) // If this fails, the session expires later.
}

// bucketPath returns the escaped path of the bucket's objects in the API.
func (s *Store) bucketPath() string { return "/storage/v1/b/" + url.PathEscape(s.bucket) + "/o" }

// stat returns the description of a generation of an object, or with anyGeneration of the latest.
func (s *Store) stat(ctx context.Context, name string, generation int64) (found resource, err error) {
	query := url.Values{}
	if generation != anyGeneration {
		query.Set("generation", strconv.FormatInt(generation, 10))
	}
	err = s.request(ctx, call{operation: getObject, method: http.MethodGet, path: s.objectPath(name), query: query}, decode(&found))
	return found, err
}
