package gcs

import (
	"errors"
	"fmt"
	"strings"

	"example.org/growthexport/internal/sink/remote"
)

// Scheme is the start of the URL of a destination on Google Cloud Storage.
const Scheme = "gs://"

// DefaultEndpoint is the root of the service.
const DefaultEndpoint = "https://storage.googleapis.com"

// Options say where the destination is and how to access it. Only Bucket is required.
type Options struct {
	remote.Settings

	// Bucket and Prefix locate the destination; see ParseURL.
	Bucket string
	Prefix string
	// Endpoint is the root of the service or of an emulator. If it is empty, DefaultEndpoint is used. Credentials are not
	// sent to an endpoint that starts with http://.
	Endpoint string
}

// ParseURL splits a destination such as gs://bucket/some/prefix. Like Google's own tools, it does not decode
// percent-encoded characters.
func ParseURL(text string) (bucket, prefix string, err error) {
	if bucket, prefix, err = remote.SplitURL(text, Scheme); err != nil {
		return "", "", err
	}
	if err := checkPlace(bucket, prefix); err != nil {
		return "", "", err
	}
	return bucket, prefix, nil
}

func checkPlace(bucket, prefix string) error {
	switch {
	case bucket == "":
		return errors.New("the destination has no bucket: use gs://bucket/prefix")
	case strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "", len(bucket) < 3, len(bucket) > 222:
		return fmt.Errorf("%q is not a valid bucket name: use 3 to 63 lower-case letters, digits, dashes, underscores and dots", bucket)
	}
	return remote.CheckPrefix(prefix)
}

// check validates the options without sending requests.
func (o *Options) check() error {
	if err := checkPlace(o.Bucket, o.Prefix); err != nil {
		return err
	}
	if o.Endpoint != "" {
		if _, err := remote.ParseEndpoint(o.Endpoint); err != nil {
			return fmt.Errorf("endpoint of Google Cloud Storage: %w", err)
		}
	}
	return o.CheckLimits()
}
