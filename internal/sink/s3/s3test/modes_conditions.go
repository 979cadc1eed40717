package s3test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// WeakETags behaves like compressing proxies that weaken the ETags of objects. A condition on a weak ETag never holds.
func WeakETags(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			return resp, err
		}
		if tag := resp.Header.Get("ETag"); tag != "" {
			resp.Header.Set("ETag", "W/"+tag)
		}
		return resp, nil
	})
}

// IgnoredConditions behaves like a store that ignores If-Match and If-None-Match on writes.
func (s *Server) IgnoredConditions(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead ||
			r.Header.Get("If-Match") == "" && r.Header.Get("If-None-Match") == "" {
			return next.RoundTrip(r)
		}
		r = r.Clone(r.Context())
		r.Header.Del("If-Match")
		r.Header.Del("If-None-Match")
		return s.signAndSend(next, r)
	})
}

// UnquotedETags behaves like Ceph, where a condition on an ETag holds only if the ETag is sent without quotes.
func (s *Server) UnquotedETags(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		tag := r.Header.Get("If-Match")
		if r.Method != http.MethodPut || tag == "" {
			return next.RoundTrip(r)
		}
		r = r.Clone(r.Context())
		r.Header.Set("If-Match", `"`+tag+`"`) // an ETag with two pairs of quotes matches no object
		return s.signAndSend(next, r)
	})
}

// AbortedObjects behaves like S3Mock, where aborting an upload also removes the object at its key and the other uploads
// of that key.
func (s *Server) AbortedObjects(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodDelete || !r.URL.Query().Has("uploadId") || resp.StatusCode != http.StatusNoContent {
			return resp, err
		}
		bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		return resp, s.removeAll(r.Context(), bucket, key)
	})
}

// removeAll removes an object and the uploads of its key.
func (s *Server) removeAll(ctx context.Context, bucket, key string) error {
	client := s.Client()
	_, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return err
	}
	list, err := client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &bucket, Prefix: &key})
	if err != nil {
		return err
	}
	for i := range list.Uploads {
		if upload := &list.Uploads[i]; aws.ToString(upload.Key) == key {
			_, failed := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: upload.UploadId})
			err = errors.Join(err, failed)
		}
	}
	return err
}

// RefusedChecksums behaves like old releases of S3Proxy, which do not implement checksums of uploads.
func RefusedChecksums(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("X-Amz-Checksum-Crc32") == "" && r.Header.Get("X-Amz-Checksum-Algorithm") == "" {
			return next.RoundTrip(r)
		}
		if r.Body != nil {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return nil, err
			}
		}
		body := "<Error><Code>NotImplemented</Code><Message>A header you provided is not implemented</Message></Error>"
		return &http.Response{
			StatusCode: http.StatusNotImplemented, Header: http.Header{"Content-Type": {"application/xml"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	})
}

// signAndSend signs a request again and sends it. A mode that has changed the headers must call it, because the
// signature covers them.
func (s *Server) signAndSend(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	credentials := aws.Credentials{AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey}
	r.Header.Del("Authorization")
	r.Host = r.URL.Host
	err := signer.SignHTTP(r.Context(), credentials, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", Region, time.Now())
	if err != nil {
		return nil, fmt.Errorf("sign a request again: %w", err)
	}
	return next.RoundTrip(r)
}
