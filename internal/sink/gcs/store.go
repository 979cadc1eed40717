package gcs

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/remote"
)

// Store is a destination on Google Cloud Storage.
type Store struct {
	remote.NoLocks // Documents are written conditionally instead.

	opts     Options
	bucket   string
	prefix   string // empty, or ends in a slash
	endpoint string // without a trailing slash
	client   remote.Doer
	tokens   *tokens // nil if no credentials are sent
	limits   limits
	// uploading holds a token for each file that is being uploaded.
	uploading chan struct{}
	// own contains the ids of the objects that this Store has staged and has not yet tried to commit or drop; see Intact.
	own sync.Map
}

// limits are the limits on the attempts of a request and on the waits between them.
type limits struct {
	attempts   int
	maxBackoff time.Duration
}

var (
	_ sink.Store        = (*Store)(nil)
	_ sink.StagedReader = (*Store)(nil)
)

// New returns the store that the options describe. It does not send a request, and looks for credentials only when the
// first request is sent. The context applies to the requests for tokens.
func New(ctx context.Context, opts Options) (*Store, error) {
	opts.Prefix = strings.TrimSuffix(opts.Prefix, "/")
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Store{
		opts: opts, bucket: opts.Bucket, endpoint: strings.TrimSuffix(cmp.Or(opts.Endpoint, DefaultEndpoint), "/"),
		limits:    limits{cmp.Or(opts.Attempts, remote.Attempts), cmp.Or(opts.MaxBackoff, remote.MaxBackoff)},
		uploading: opts.Limit(),
	}
	if opts.Prefix != "" {
		s.prefix = opts.Prefix + "/"
	}
	next := opts.HTTPClient
	if next == nil {
		next = remote.NewHTTPClient()
	}
	s.client = opts.Watch(next, func(*http.Request) bool { return false }) // An empty document needs no check, because decoding it fails.
	remote.WarnIfPlain(opts.Log, s.endpoint)
	if strings.HasPrefix(s.endpoint, "https://") {
		s.tokens = newTokens(ctx, next)
	}
	return s, nil
}

// String returns the destination's URL in the form that ParseURL parses.
func (s *Store) String() string { return Scheme + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

// Info describes how readers access the bucket, and the permissions that a run needs.
func (s *Store) Info() sink.Info {
	place := Scheme + strings.TrimSuffix(s.bucket+"/"+s.prefix, "/")
	return sink.Info{
		URL: place, HadoopURL: place, PlainEndpoint: remote.Plain(s.endpoint),
		Session: "INSTALL httpfs; LOAD httpfs; " +
			"CREATE SECRET (TYPE gcs, KEY_ID '<access ID of an HMAC key>', SECRET '<secret of the HMAC key>'" + s.secret() + ");",
		Permissions: "storage.objects.create, storage.objects.get, storage.objects.list and storage.objects.delete on the bucket, " +
			"which the role Storage Object User (roles/storage.objectUser) includes",
	}
}

// secret returns additional options of a DuckDB secret, which are needed for an endpoint other than the default.
func (s *Store) secret() string {
	if s.endpoint == DefaultEndpoint {
		return ""
	}
	scheme, host, _ := strings.Cut(s.endpoint, "://")
	options := ", ENDPOINT '" + strings.ReplaceAll(host, "'", "''") + "', URL_STYLE 'path'"
	if scheme == "http" {
		options += ", USE_SSL false"
	}
	return options
}

// CheckCommit does nothing, because the service can copy objects to any path.
func (s *Store) CheckCommit(ctx context.Context, _ string, _ []string) error { return ctx.Err() }

// objectPath returns the escaped path of an object in the API.
func (s *Store) objectPath(name string) string {
	return "/storage/v1/b/" + url.PathEscape(s.bucket) + "/o/" + url.PathEscape(name)
}

// failed adds the operation and the object to an error and describes it in one line.
func (s *Store) failed(verb, path string, err error) error {
	return fmt.Errorf("%s %s%s/%s%s: %w", verb, Scheme, s.bucket, s.prefix, path, s.describe(err))
}
