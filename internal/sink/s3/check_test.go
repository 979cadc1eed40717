package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
)

func TestCheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		change func(*s3.Options)
		want   string
	}{
		"missing bucket":     {func(o *s3.Options) { o.Bucket = "no-such-bucket" }, "bucket no-such-bucket not found at https://"},
		"wrong secret":       {func(o *s3.Options) { o.SecretAccessKey = "the-wrong-secret" }, "(SignatureDoesNotMatch: "},
		"wrong key":          {func(o *s3.Options) { o.AccessKeyID = "the-wrong-key" }, "(InvalidAccessKeyId: "},
		"connection refused": {func(o *s3.Options) { o.Endpoint = closed.URL }, ": check --s3-endpoint and the network (2 attempts)"},
		"no such host":       {func(o *s3.Options) { o.Endpoint = "https://no-such-host.invalid" }, "host not found at https://no-such-host.invalid"},
		"unknown issuer":     {func(o *s3.Options) { o.HTTPClient = &http.Client{} }, "AWS_CA_BUNDLE"},
		"http for https":     {func(o *s3.Options) { o.Endpoint = "http://" + o.Endpoint[len("https://"):] }, "destination s3://"},
		"a region elsewhere": {func(o *s3.Options) { o.Region = "eu-west-7" }, "wrong region"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := options(t, server(t).Bucket(t), "pre")
			opts.Attempts = 2
			test.change(&opts)
			err := open(t, opts).Check(t.Context())
			require.ErrorContains(t, err, "destination s3://"+opts.Bucket+"/pre: ")
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), opts.SecretAccessKey)
			require.Less(t, len(err.Error()), 500)
			require.ErrorContains(t, open(t, opts).CheckReading(t.Context()), test.want)
		})
	}
}

// TestCheckClearsAway expects Check to abort the uploads of a killed Check and no others.
func TestCheckClearsAway(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	store := open(t, options(t, bucket, "pre"))
	for _, path := range []string{"_check/left", "_check/too", "_checked", "_runs/run/ledger.parquet"} {
		stage(t, store, "run", path, nil)
	}
	stage(t, open(t, options(t, bucket, "")), "run", "_check/elsewhere", nil)
	require.NoError(t, store.Check(t.Context()))
	require.ElementsMatch(t, []string{"_check/elsewhere", "pre/_checked", "pre/_runs/run/ledger.parquet"}, server.Uploads(t, bucket))
}

// TestChecksWithLostAnswers loses the first response when each check starts its upload. No upload must remain.
func TestChecksWithLostAnswers(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	var lose atomic.Bool
	proxy := server.Proxy(t, func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPost && lose.Swap(false) {
			return s3test.LostAnswer
		}
		return s3test.NoFault
	})
	opts := options(t, bucket, "pre")
	opts.Endpoint = proxy.Endpoint
	store := open(t, opts)
	lose.Store(true)
	require.NoError(t, store.Check(t.Context()))
	require.Empty(t, server.Uploads(t, bucket))
	lose.Store(true)
	listed, err := store.ListsStaged(t.Context())
	require.NoError(t, err)
	require.True(t, listed)
	require.Empty(t, server.Uploads(t, bucket))
	require.False(t, lose.Load())
}

// TestListsStagedDuringACheck lets another process's Check abort the upload that ListsStaged has started.
func TestListsStagedDuringACheck(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	other := open(t, options(t, bucket, "pre"))
	var once sync.Once
	proxy := server.Proxy(t, func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodGet && r.URL.Query().Has("uploads") {
			once.Do(func() { require.NoError(t, other.Check(t.Context())) })
		}
		return s3test.NoFault
	})
	opts := options(t, bucket, "pre")
	opts.Endpoint = proxy.Endpoint
	listed, err := open(t, opts).ListsStaged(t.Context())
	require.NoError(t, err)
	require.True(t, listed)
	require.Empty(t, server.Uploads(t, bucket))
}

// TestLeastPrivilege uses credentials with the permissions in the package's comment.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	user := "writer-of-" + bucket
	secret := server.User(t, user)
	server.Policy(t, bucket, fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": {"AWS": [%q]}, "Resource": "arn:aws:s3:::%s",
			"Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads"]},
		{"Effect": "Allow", "Principal": {"AWS": [%q]}, "Resource": "arn:aws:s3:::%s/mine/*",
			"Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]}
	]}`, user, bucket, user, bucket))
	mine := options(t, bucket, "mine")
	mine.AccessKeyID, mine.SecretAccessKey = user, secret
	store := open(t, mine)
	ctx := t.Context()
	require.NoError(t, store.Check(ctx))
	require.NoError(t, store.Write(ctx, "document", []byte("x"), sink.Condition{Absent: true}))
	require.ErrorIs(t, store.Write(ctx, "document", []byte("x"), sink.Condition{Absent: true}), sink.ErrConflict)
	_, _, err := store.Read(ctx, "none")
	require.ErrorIs(t, err, sink.ErrNotFound)
	path := "table/snapshot_date=2026-11-20/part-0000-run.parquet"
	file := stage(t, store, "run", path, []byte("abc"))
	holds, err := store.Holds(ctx, "run", file)
	require.NoError(t, err)
	require.True(t, holds)
	require.NoError(t, store.Commit(ctx, "run", file))
	stage(t, store, "run", path, []byte("abc"))
	require.NoError(t, store.Sweep(ctx, "run"))
	require.NoError(t, store.Remove(ctx, path))
	require.Empty(t, server.Uploads(t, bucket))

	for _, prefix := range []string{"", "mine2", "other"} {
		theirs := mine
		theirs.Prefix = prefix
		require.ErrorContains(t, open(t, theirs).Check(ctx), "allow s3:PutObject to these credentials")
	}
	server.Policy(t, bucket, fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Principal": {"AWS": [%q]}, "Resource": "arn:aws:s3:::%s/mine/*", "Action": "s3:*"}]}`, user, bucket))
	require.ErrorContains(t, store.Check(ctx), "allow s3:ListBucket")
	require.NoError(t, store.CheckReading(ctx), "reading does not need a listing")
}

// TestStagedAndSweep lists and drops the uploads of killed runs.
func TestStagedAndSweep(t *testing.T) {
	t.Parallel()
	server := server(t)
	bucket := server.Bucket(t)
	store := open(t, options(t, bucket, "pre"))
	ctx := t.Context()
	const (
		ofRun1 = "table/snapshot_date=2026-11-20/district=a%2Fb/part-12345-run-1.parquet"
		ofRun2 = "_runs/run-2/ledger.parquet"
		nobody = "table/part-x-run.parquet"
	)
	for _, path := range []string{ofRun1, ofRun2, nobody} {
		stage(t, store, "whatever", path, []byte("abc"))
	}
	stage(t, open(t, options(t, bucket, "prefix")), "run-1", "_runs/run-1/ledger.parquet", []byte("of another destination"))
	staged, err := store.Staged(ctx)
	require.NoError(t, err)
	require.Len(t, staged, 2)
	for _, run := range []string{"run-1", "run-2"} {
		require.WithinDuration(t, time.Now(), staged[run], time.Minute)
	}
	const another = "prefix/_runs/run-1/ledger.parquet"
	require.NoError(t, store.Sweep(ctx, "run-1"))
	require.ElementsMatch(t, []string{"pre/" + ofRun2, "pre/" + nobody, another}, server.Uploads(t, bucket))
	require.NoError(t, store.Sweep(ctx, "run-2"))
	require.ElementsMatch(t, []string{"pre/" + nobody, another}, server.Uploads(t, bucket))
	staged, err = store.Staged(ctx)
	require.NoError(t, err)
	require.Empty(t, staged)
}
