package s3

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/wording"
)

// Store is a destination on S3.
type Store struct {
	remote.NoLocks // Documents are written conditionally instead.

	opts     Options
	bucket   string
	prefix   string // empty, or ends in a slash
	endpoint string // for messages; empty for AWS
	client   *s3.Client
	creds    aws.CredentialsProvider
	// uploading holds a token for each part that is being uploaded.
	uploading chan struct{}
	// own contains the ids of the uploads that this Store has staged and has not yet tried to complete or abort; see
	// Intact.
	own sync.Map
	// open maps ids to paths, for the uploads that this Store has started and has neither completed nor aborted.
	open sync.Map
	// conditions is the sink.Conditions with which conditional writes are made.
	conditions atomic.Int32
	// refusesChecksums is set once the server has rejected a request because it does not implement checksums.
	refusesChecksums atomic.Bool
	// listing records whether the server lists all uploads; see ListsStaged. abortHurts records whether aborting an upload
	// removes an object; see AbortRemoves.
	listing, abortHurts remote.Answer
}

var (
	_ sink.Store            = (*Store)(nil)
	_ sink.ConditionAdapter = (*Store)(nil)
	_ sink.AbortProber      = (*Store)(nil)
	_ sink.PathLister       = (*Store)(nil)
	_ sink.Encrypter        = (*Store)(nil)
)

// New returns the store that the options describe. It does not send a request to the server.
func New(ctx context.Context, opts Options) (*Store, error) {
	opts.Prefix = strings.TrimSuffix(opts.Prefix, "/")
	if err := opts.check(); err != nil {
		return nil, err
	}
	if opts.KMSKeyID != "" && opts.SSE == "" {
		opts.SSE = "aws:kms"
	}
	s := &Store{opts: opts, bucket: opts.Bucket, uploading: opts.Limit()}
	if opts.Prefix != "" {
		s.prefix = opts.Prefix + "/"
	}
	if err := s.connect(ctx); err != nil {
		return nil, fmt.Errorf("open destination %s: %w", s, err)
	}
	remote.WarnIfPlain(opts.Log, s.endpoint)
	return s, nil
}

// String returns the destination's URL in the form that ParseURL parses.
func (s *Store) String() string { return Scheme + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

// Info describes how readers access the bucket, and the permissions that a run needs.
func (s *Store) Info() sink.Info {
	place := strings.TrimSuffix(s.bucket+"/"+s.prefix, "/")
	conditions := ""
	if _, host, _ := strings.Cut(s.endpoint, "://"); host == googleHost || strings.HasSuffix(host, "."+googleHost) {
		conditions = "use " + wording.Setting("dest").String() + " gs://" + place + ", because Google's S3-compatible interface has no conditional writes"
	}
	return sink.Info{
		Conditions: conditions,
		URL:        Scheme + place, HadoopURL: "s3a://" + place, PlainEndpoint: remote.Plain(s.endpoint),
		Session: "INSTALL httpfs; LOAD httpfs; CREATE SECRET (" + s.opts.secret() + ");",
		Permissions: "s3:ListBucket, s3:ListBucketMultipartUploads, s3:ListMultipartUploadParts, s3:GetObject, " +
			"s3:PutObject, s3:AbortMultipartUpload and s3:DeleteObject",
	}
}

// googleHost is the host of Google Cloud Storage, whose S3-compatible interface does not support conditional writes.
const googleHost = "storage.googleapis.com"

// secret returns the options of a DuckDB secret for the bucket.
func (o *Options) secret() string {
	text := func(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
	options := "TYPE s3, PROVIDER credential_chain"
	if o.Region != "" {
		options += ", REGION " + text(o.Region)
	}
	if scheme, host, ok := strings.Cut(strings.TrimSuffix(o.Endpoint, "/"), "://"); ok {
		options += ", ENDPOINT " + text(host)
		if scheme == "http" {
			options += ", USE_SSL false"
		}
	}
	if o.PathStyle {
		options += ", URL_STYLE 'path'"
	}
	return options
}

// Draft starts a file in the scratch folder. Stage uploads the file as the parts of a multipart upload.
func (s *Store) Draft(ctx context.Context, _ /* owner */, path string) (sink.Draft, error) {
	if err := remote.Ready(ctx, path); err != nil {
		return nil, err
	}
	return remote.NewDraft(s.opts.Scratch, path, func(ctx context.Context, file io.ReaderAt, size int64) ([]byte, error) {
		return s.upload(ctx, path, file, size)
	})
}

// CheckCommit does nothing, because an upload is completed at the path where it was started.
func (s *Store) CheckCommit(ctx context.Context, _ string, _ []string) error { return ctx.Err() }

// key returns the key of the object at a path in the form that the SDK expects.
func (s *Store) key(path string) *string { return aws.String(s.prefix + path) }
