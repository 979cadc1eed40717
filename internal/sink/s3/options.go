package s3

import (
	"errors"
	"fmt"
	"strings"

	"example.org/growthexport/internal/sink/remote"
)

// Scheme is the start of the URL of a destination on S3.
const Scheme = "s3://"

// The values of Options.Checksums.
const (
	// ChecksumsWhenSupported sends a CRC-32 with every part and document, until the server answers that it does not
	// support checksums.
	ChecksumsWhenSupported = "when-supported"
	// ChecksumsWhenRequired sends no checksums, for stores that reject them.
	ChecksumsWhenRequired = "when-required"
)

// Options say where the destination is and how to access it. Only Bucket is required. Region and credentials that are
// not set come from AWS's own chain of environment variables, shared configuration and roles.
type Options struct {
	remote.Settings

	// Bucket and Prefix locate the destination; see ParseURL.
	Bucket string
	Prefix string
	// Endpoint is the root of an S3-compatible store, such as https://host:9000.
	Endpoint string
	// Region is the region of the bucket. If no region is configured but an endpoint is, the region is us-east-1.
	Region string
	// PathStyle is true if requests go to https://host/bucket rather than https://bucket.host.
	PathStyle bool
	// SSE is the encryption at rest: AES256, aws:kms or aws:kms:dsse. If it is empty, the bucket's default applies.
	SSE string
	// KMSKeyID identifies the key for aws:kms or aws:kms:dsse. If it is set, the default of SSE is aws:kms.
	KMSKeyID string
	// Checksums is ChecksumsWhenSupported, the default, or ChecksumsWhenRequired.
	Checksums string
	// AccessKeyID and SecretAccessKey, if set, override AWS's own chain.
	AccessKeyID     string
	SecretAccessKey string
}

// defaultRegion is the region if an endpoint is configured but no region.
const defaultRegion = "us-east-1"

// ParseURL splits a destination such as s3://bucket/some/prefix. Like AWS's own tools, it does not decode
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
		return errors.New("the destination has no bucket: use s3://bucket/prefix")
	case strings.Trim(bucket, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_") != "",
		len(bucket) < 3, len(bucket) > 63:
		return fmt.Errorf("%q is not a valid bucket name: use 3 to 63 letters, digits, dots and dashes", bucket)
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
			return fmt.Errorf("S3 endpoint: %w", err)
		}
	}
	switch o.Checksums {
	case "", ChecksumsWhenSupported, ChecksumsWhenRequired:
	default:
		return fmt.Errorf("%q is not a valid value for S3 checksums: use %s or %s", o.Checksums, ChecksumsWhenSupported, ChecksumsWhenRequired)
	}
	switch o.SSE {
	case "", "aws:kms", "aws:kms:dsse":
	case "AES256":
		if o.KMSKeyID != "" {
			return errors.New("S3 encryption AES256 does not use a KMS key: use aws:kms")
		}
	default:
		return fmt.Errorf("S3 encryption %q is not AES256, aws:kms or aws:kms:dsse", o.SSE)
	}
	if (o.AccessKeyID == "") != (o.SecretAccessKey == "") {
		return errors.New("set both the access key ID and the secret access key, or neither")
	}
	return o.CheckLimits()
}
