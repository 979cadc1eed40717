package s3_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/s3/s3test"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"s3://bucket":              {"bucket", ""},
		"s3://bucket/":             {"bucket", ""},
		"s3://bucket/a/b":          {"bucket", "a/b"},
		"s3://bucket/a/b/":         {"bucket", "a/b"},
		"s3://my.bucket-1/a%20b?c": {"my.bucket-1", "a%20b?c"},
	} {
		bucket, prefix, err := s3.ParseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, [2]string{bucket, prefix}, text)
		store := open(t, s3.Options{Bucket: bucket, Prefix: prefix, Region: "eu-central-1", AccessKeyID: "k", SecretAccessKey: "s"})
		again, prefixAgain, err := s3.ParseURL(store.String())
		require.NoError(t, err)
		require.Equal(t, want, [2]string{again, prefixAgain})
	}
	for _, text := range []string{
		"", "bucket", "s3:bucket", "s3:/bucket", "s3://", "s3:///prefix", "s3://b", "s3://key:secret@bucket/x",
		"s3://bucket//x", "s3://bucket/a//b", "s3://bucket/a/../b", "s3://bucket/.", "s3://bucket/a//", "s3://bucket/a\x01", "s3://bucket/\uffff", "s3://bucket/\xff",
	} {
		_, _, err := s3.ParseURL(text)
		require.Error(t, err, text)
	}
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*s3.Options){
		"no bucket":              func(o *s3.Options) { o.Bucket = "" },
		"a prefix that climbs":   func(o *s3.Options) { o.Prefix = "../x" },
		"endpoint, no scheme":    func(o *s3.Options) { o.Endpoint = "host:9000" },
		"endpoint with a user":   func(o *s3.Options) { o.Endpoint = "https://key:secret@host" },
		"unknown encryption":     func(o *s3.Options) { o.SSE = "aes256" },
		"a key for AES256":       func(o *s3.Options) { o.SSE, o.KMSKeyID = "AES256", "key" },
		"unknown checksums":      func(o *s3.Options) { o.Checksums = "never" },
		"a key without secret":   func(o *s3.Options) { o.SecretAccessKey = "" },
		"no region, no endpoint": func(o *s3.Options) { o.Region = "" },
	} {
		opts := s3.Options{Bucket: "bucket", Region: "eu-central-1", AccessKeyID: "k", SecretAccessKey: "s"}
		change(&opts)
		_, err := s3.New(t.Context(), opts)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "secret@")
	}
}

// TestEnvironment reads AWS's own environment variables.
func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	store, err := s3.New(t.Context(), s3.Options{Bucket: "bucket", Region: "eu-central-1"})
	require.NoError(t, err)
	require.ErrorContains(t, store.Check(t.Context()), "no AWS credentials found: set AWS_ACCESS_KEY_ID")

	server := server(t)
	bucket := server.Bucket(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.Endpoint)
	t.Setenv("AWS_CA_BUNDLE", server.CAFile)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretAccessKey)
	store, err = s3.New(t.Context(), s3.Options{Bucket: bucket, PathStyle: true})
	require.NoError(t, err)
	require.NoError(t, store.Check(t.Context()), "an endpoint needs no region")

	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	down := server.Proxy(t, func(*http.Request) s3test.Fault { return s3test.Reset })
	t.Setenv("AWS_ENDPOINT_URL_S3", down.Endpoint)
	store, err = s3.New(t.Context(), s3.Options{Bucket: bucket, PathStyle: true})
	require.NoError(t, err)
	require.ErrorContains(t, store.Check(t.Context()), "connection failed")
	require.Equal(t, int64(2), down.Requests.Load())
	_, _, err = store.Read(t.Context(), "document")
	require.ErrorContains(t, err, "(2 attempts)")
	store, err = s3.New(t.Context(), s3.Options{Bucket: bucket, PathStyle: true, Settings: remote.Settings{Attempts: 1}})
	require.NoError(t, err)
	_, _, err = store.Read(t.Context(), "document")
	require.Error(t, err)
	require.Equal(t, int64(5), down.Requests.Load(), "an option overrides the environment")
}
