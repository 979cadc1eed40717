package s3test

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"regexp"
	"strconv"
)

// Mode makes the server behind a Proxy behave like another S3-compatible store. It wraps the transport of the Proxy, so
// modes can be combined. A mode may change responses. If it changes parts of a request that the signature covers, it
// has to sign the request again.
type Mode func(next http.RoundTripper) http.RoundTripper

// RoundTrip is a function that implements http.RoundTripper.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var (
	uploadElement = regexp.MustCompile(`(?s)<Upload>.*?</Upload>`)
	keyElement    = regexp.MustCompile(`(?s)<Key>(.*?)</Key>`)
)

// ExactListing behaves like MinIO, whose list of multipart uploads by prefix contains only uploads whose key is the
// whole prefix.
func ExactListing(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		query := r.URL.Query()
		prefix := query.Get("prefix")
		if err != nil || r.Method != http.MethodGet || !query.Has("uploads") || prefix == "" || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		return replaceBody(resp, func(body []byte) []byte {
			return uploadElement.ReplaceAllFunc(body, func(upload []byte) []byte {
				if key := keyElement.FindSubmatch(upload); key != nil && unescape(key[1]) == prefix {
					return upload
				}
				return nil
			})
		})
	})
}

// IgnoredAborts behaves like a store that confirms the abort of an upload, but keeps the upload.
func IgnoredAborts(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodDelete || !r.URL.Query().Has("uploadId") {
			return next.RoundTrip(r)
		}
		return &http.Response{
			StatusCode: http.StatusNoContent, Header: make(http.Header), Body: http.NoBody, Request: r,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	})
}

// OtherMissing behaves like stores that use different errors for missing uploads: NoSuchKey, as Ceph and S3Proxy do,
// and 404 for a list without uploads, as gofakes3 does.
func OtherMissing(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		query := r.URL.Query()
		switch {
		case err != nil:
			return nil, err
		case query.Has("uploadId") && resp.StatusCode == http.StatusNotFound:
			return replaceBody(resp, func(body []byte) []byte {
				return bytes.ReplaceAll(body, []byte("NoSuchUpload"), []byte("NoSuchKey"))
			})
		case r.Method == http.MethodGet && query.Has("uploads") && resp.StatusCode == http.StatusOK:
			return replaceBody(resp, func(body []byte) []byte {
				if uploadElement.Match(body) {
					return body
				}
				resp.StatusCode = http.StatusNotFound
				return []byte("<Error><Code>NoSuchUpload</Code></Error>")
			})
		}
		return resp, nil
	})
}

// EmptyParts behaves like SeaweedFS and S3Proxy, which return an empty list of parts for a missing upload.
func EmptyParts(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet || !r.URL.Query().Has("uploadId") || resp.StatusCode != http.StatusNotFound {
			return resp, err
		}
		resp.StatusCode = http.StatusOK
		return replaceBody(resp, func([]byte) []byte { return []byte("<ListPartsResult></ListPartsResult>") })
	})
}

// replaceBody edits the body of a response.
func replaceBody(resp *http.Response, edit func([]byte) []byte) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // The body has been read.
	if err != nil {
		return nil, err
	}
	body = edit(body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, nil
}

// unescape returns the text of an XML element.
func unescape(raw []byte) string {
	var text string
	if xml.Unmarshal([]byte("<t>"+string(raw)+"</t>"), &text) != nil {
		return string(raw)
	}
	return text
}
