package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Scheme is what the URL of a destination on S3 starts with.
const Scheme = "s3://"

// The values of Options.Checksums.
const (
	// ChecksumsWhenSupported sends a CRC-32 with every part and document.
	ChecksumsWhenSupported = "when-supported"
	// ChecksumsWhenRequired sends none, for stores that refuse them.
	ChecksumsWhenRequired = "when-required"
)

// Options say where the destination is and how it is spoken to. All but Bucket
// may be empty; what is empty comes from AWS's own chain of environment
// variables, shared configuration and roles.
type Options struct {
	// Bucket and Prefix are where the destination is; see ParseURL.
	Bucket string
	Prefix string
	// Endpoint is the root of an S3-compatible store, such as https://host:9000.
	Endpoint string
	// Region is the bucket's; us-east-1 if there is an endpoint and none is set.
	Region string
	// PathStyle asks for https://host/bucket rather than https://bucket.host.
	PathStyle bool
	// SSE is the encryption at rest that is asked for: AES256, aws:kms or
	// aws:kms:dsse; the bucket's own if empty.
	SSE string
	// KMSKeyID names the key of aws:kms, which it implies.
	KMSKeyID string
	// Checksums is ChecksumsWhenSupported, also if empty, or
	// ChecksumsWhenRequired.
	Checksums string
	// Scratch is the folder where files grow before their upload; the system's
	// temporary folder if empty.
	Scratch string
	// Uploads is how many parts are on their way at once, over all files; 4 if 0.
	Uploads int
	// Attempts is how often a request is tried; as AWS's own chain says if 0, and
	// 14 if that says nothing, which is for more than a minute.
	Attempts int
	// MaxBackoff bounds the wait between two attempts; 20 s if 0.
	MaxBackoff time.Duration
	// StallTimeout is how long an attempt may stand still before it is given
	// up, to be tried again; 2 min if 0.
	StallTimeout time.Duration
	// Log is told what its user should know of the store; nobody if nil.
	Log *slog.Logger
	// AccessKeyID and SecretAccessKey come before AWS's own chain if both are
	// set, and so does HTTPClient before the SDK's client.
	AccessKeyID     string
	SecretAccessKey string
	HTTPClient      *http.Client
}

const (
	defaultUploads      = 4
	defaultAttempts     = 14
	defaultMaxBackoff   = 20 * time.Second
	defaultStallTimeout = 2 * time.Minute
	defaultRegion       = "us-east-1"
)

// ParseURL takes a destination such as s3://bucket/some/prefix apart. As with
// AWS's own tools everything after the bucket is taken as it is, without
// percent-decoding.
func ParseURL(text string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return "", "", fmt.Errorf("destination %q does not start with %s", text, Scheme)
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimSuffix(prefix, "/")
	if err := checkPlace(bucket, prefix); err != nil {
		return "", "", err
	}
	return bucket, prefix, nil
}

func checkPlace(bucket, prefix string) error {
	switch {
	case bucket == "":
		return errors.New("the destination names no bucket: s3://bucket/prefix")
	case strings.Trim(bucket, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") != "",
		len(bucket) < 3, len(bucket) > 63:
		return fmt.Errorf("%q is not the name of a bucket: 3 to 63 letters, digits, dots and dashes", bucket)
	case prefix != "" && !fs.ValidPath(prefix) || prefix == ".":
		return fmt.Errorf("%q is not a prefix for objects: its segments may be neither empty nor dots", prefix)
	}
	return nil
}

// check refuses what cannot be meant, before any request.
func (o *Options) check() error {
	if err := checkPlace(o.Bucket, o.Prefix); err != nil {
		return err
	}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" {
			return errors.New("the S3 endpoint is not a URL such as https://host:9000")
		}
	}
	switch o.Checksums {
	case "", ChecksumsWhenSupported, ChecksumsWhenRequired:
	default:
		return fmt.Errorf("S3 checksums %q are neither %s nor %s", o.Checksums, ChecksumsWhenSupported, ChecksumsWhenRequired)
	}
	switch o.SSE {
	case "", "aws:kms", "aws:kms:dsse":
	case "AES256":
		if o.KMSKeyID != "" {
			return errors.New("S3 encryption AES256 takes no KMS key, aws:kms does")
		}
	default:
		return fmt.Errorf("S3 encryption %q is none of AES256, aws:kms and aws:kms:dsse", o.SSE)
	}
	if (o.AccessKeyID == "") != (o.SecretAccessKey == "") {
		return errors.New("an access key id and its secret are set together or not at all")
	}
	if o.Uploads < 0 || o.Attempts < 0 {
		return errors.New("uploads and attempts are not negative")
	}
	return nil
}
