package azure

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"hash/crc64"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// idName is the name under which a blob's metadata contains the blob's random id. Names of metadata cannot contain
// dashes.
const idName = "growth_export_id"

// absent returns the condition that there is no blob.
func absent() *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: new(azcore.ETagAny)}}
}

// matches returns the condition that the blob has the given ETag.
func matches(etag azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}}
}

// metadata returns the value of a name in a blob's metadata, or "". The case of the name is ignored, because the
// service may change it.
func metadata(of map[string]*string, name string) string {
	for key, value := range of {
		if strings.EqualFold(key, name) && value != nil {
			return *value
		}
	}
	return ""
}

// isFolder reports whether metadata belongs to a folder of a hierarchical namespace, which the service shows as an empty
// blob.
func isFolder(of map[string]*string) bool { return metadata(of, "hdi_isfolder") == "true" }

// Read returns a document and its version, which is the ETag.
func (s *Store) Read(ctx context.Context, path string) ([]byte, string, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, "", err
	}
	data, etag, err := s.read(ctx, path)
	switch {
	case noBlob(err):
		return nil, "", sink.ErrNotFound
	case err != nil:
		return nil, "", s.failed("read", path, err)
	}
	return data, etag, nil
}

// read returns a whole blob and its ETag. Unlike the SDK, it sends the request again if the body is cut short.
func (s *Store) read(ctx context.Context, path string) ([]byte, string, error) {
	for attempt := 1; ; attempt++ {
		out, err := s.blob(path).DownloadStream(ctx, nil)
		if err != nil {
			return nil, "", err
		}
		data, err := io.ReadAll(out.Body)
		_ = out.Body.Close() // The data has been read.
		if err == nil && out.ContentLength != nil && *out.ContentLength != int64(len(data)) {
			err = io.ErrUnexpectedEOF
		}
		switch {
		case err == nil && isFolder(out.Metadata):
			return nil, "", errFolder
		case err == nil && out.ETag == nil:
			return nil, "", errors.New("the service sent no ETag")
		case err == nil:
			return data, string(*out.ETag), nil
		}
		if err := s.pauseRead(ctx, attempt, err); err != nil {
			return nil, "", err
		}
	}
}

// Write writes a document in one request. If the condition does not hold, it checks whether an earlier attempt of the
// same Write, whose response was lost, has written the blob.
func (s *Store) Write(ctx context.Context, path string, data []byte, when sink.Condition) error {
	if err := remote.Ready(ctx, path); err != nil {
		return err
	}
	id := rand.Text()
	options := &blockblob.UploadOptions{
		Metadata: map[string]*string{idName: &id}, HTTPHeaders: &blob.HTTPHeaders{BlobContentType: new(remote.ContentType(path))},
		TransactionalValidation: blob.TransferValidationTypeCRC64(crc64.Checksum(data, crcTable)),
	}
	switch {
	case when.Absent:
		options.AccessConditions = absent()
	case when.Version != "":
		options.AccessConditions = matches(azcore.ETag(when.Version))
	}
	_, err := s.blob(path).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), options)
	if options.AccessConditions != nil && (conditionFailed(err) || noBlob(err)) {
		var there properties
		switch there, err = s.head(ctx, path); {
		case noBlob(err), err == nil && there.id != id:
			return sink.ErrConflict
		case err == nil:
			return nil
		}
	}
	if err != nil {
		return s.failed("write", path, err)
	}
	return nil
}

// Remove removes a blob. A missing blob is not an error.
func (s *Store) Remove(ctx context.Context, path string) error {
	if err := remote.Ready(ctx, path); err != nil {
		return err
	}
	if _, err := s.blob(path).Delete(ctx, nil); err != nil && !noBlob(err) {
		return s.failed("remove", path, err)
	}
	return nil
}

// Open opens a blob. Reads fail once the blob has been replaced.
func (s *Store) Open(ctx context.Context, path string) (sink.Object, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	there, err := s.head(ctx, path)
	switch {
	case noBlob(err):
		return nil, sink.ErrNotFound
	case err != nil:
		return nil, s.failed("open", path, err)
	}
	return remote.NewObject(there.size, nil,
		func(from, to int64) (io.ReadCloser, error) {
			out, err := s.blob(path).DownloadStream(ctx, &blob.DownloadStreamOptions{
				Range: blob.HTTPRange{Offset: from, Count: to - from}, AccessConditions: matches(there.etag),
			})
			if err != nil {
				if noBlob(err) { // the blob was removed after Open
					err = sink.ErrNotFound
				}
				return nil, s.failed("read", path, err)
			}
			return out.Body, nil
		},
		func(attempt int, cause error) error {
			if err := s.pauseRead(ctx, attempt, cause); err != nil {
				return s.failed("read", path, err)
			}
			return nil
		}), nil
}

// Encryption returns the encryption that the service reports for a blob: "scope" and the name of an encryption scope,
// "AES256", or "" if the service does not report any.
func (s *Store) Encryption(ctx context.Context, path string) (string, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return "", err
	}
	out, err := s.blob(path).GetProperties(ctx, nil)
	switch {
	case err != nil:
		return "", s.failed("read the properties of", path, err)
	case out.EncryptionScope != nil:
		return "scope " + *out.EncryptionScope, nil
	case out.IsServerEncrypted != nil && *out.IsServerEncrypted:
		return "AES256", nil
	}
	return "", nil
}
