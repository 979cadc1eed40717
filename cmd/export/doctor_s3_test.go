package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink/s3/s3test"
)

// TestDoctorS3 checks a bucket on a real server, with and without typical faults. Each check is a separate process,
// because AWS's chain reads the environment.
func TestDoctorS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	flags := []string{"--simulate", "--s3-path-style", "--retries", "0"}
	// examineS3 returns the output of doctor.
	examineS3 := func(t *testing.T, code int, env []string, more ...string) string {
		t.Helper()
		cmd, stderr := commandProcess(t, slices.Concat([]string{"doctor"}, flags, more)...)
		cmd.Env = append(cmd.Env, env...)
		out, _ := cmd.Output() // its exit code is compared
		require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s%s", out, stderr)
		require.NotContains(t, string(out)+stderr.String(), server.SecretAccessKey)
		return string(out)
	}
	at := func(endpoint, bucket string) []string {
		return []string{"--dest", "s3://" + bucket + "/some/prefix", "--s3-endpoint", endpoint}
	}
	untouched := func(t *testing.T, bucket string) {
		t.Helper()
		require.Empty(t, server.Uploads(t, bucket))
		found, err := filepath.Glob(filepath.Join(server.Root, bucket, "some", "prefix", "*"))
		require.NoError(t, err)
		require.Empty(t, found)
	}

	t.Run("well", func(t *testing.T) {
		t.Parallel()
		out := examineS3(t, exitOK, server.Env(), at(server.Endpoint, bucket)...)
		require.Regexp(t, `(?m)^ok +destination +files can be staged in s3://`+bucket+`/some/prefix`, out)
		require.Regexp(t, `(?m)^ok +list `, out)
		require.Regexp(t, `(?m)^ok +stage and drop `, out)
		require.Regexp(t, `(?m)^ok +commit +a staged file was committed and read back`, out)
		require.NotContains(t, out, " encryption ")
		require.Regexp(t, `(?m)^ok +conditional write +the second of two writers is refused`, out)
		require.Regexp(t, `(?m)^ok +delete `, out)
		require.Regexp(t, `(?m)^ok +snapshot +none yet`, out)
		require.NotContains(t, out, " lock ")
		require.NotContains(t, out, " free space ")
		untouched(t, bucket)
	})
	t.Run("no bucket", func(t *testing.T) {
		t.Parallel()
		out := examineS3(t, exitUsage, server.Env(), at(server.Endpoint, "no-such-bucket")...)
		require.Regexp(t, `(?m)^FAIL +destination +--dest: .*bucket no-such-bucket not found`, out)
		require.Regexp(t, `(?m)^skip +commit `, out)
		// Commands that only read report it too.
		for _, name := range []string{"status", "verify", "sql", "prune"} {
			args := append([]string{name, "--s3-path-style"}, at(server.Endpoint, "no-such-bucket")...)
			if name == "prune" {
				args = append(args, "--keep", "1")
			}
			cmd, stderr := commandProcess(t, args...)
			cmd.Env = append(cmd.Env, server.Env()...)
			require.Error(t, cmd.Run())
			require.Equal(t, exitUsage, cmd.ProcessState.ExitCode(), stderr)
			require.Contains(t, stderr.String(), "--dest: destination s3://no-such-bucket/some/prefix: list objects: bucket no-such-bucket not found")
		}
	})
	t.Run("wrong secret", func(t *testing.T) {
		t.Parallel()
		out := examineS3(t, exitUsage, append(server.Env(), "AWS_SECRET_ACCESS_KEY=wrong"), at(server.Endpoint, bucket)...)
		require.Regexp(t, `(?m)^FAIL +destination +.*credentials rejected`, out)
		require.Regexp(t, `(?m)^ok +test results `, out)
	})
	t.Run("may not delete", func(t *testing.T) {
		t.Parallel()
		bucket := server.Bucket(t)
		secret := server.User(t, "careful")
		allow := `{"Effect": "Allow", "Principal": {"AWS": "careful"}, "Resource": ["arn:aws:s3:::` + bucket + `", "arn:aws:s3:::` +
			bucket + `/*"], "Action": ["s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:ListMultipartUploadParts", "s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]}`
		server.Policy(t, bucket, `{"Version": "2012-10-17", "Statement": [`+allow+`]}`)
		out := examineS3(t, exitFailed, append(server.Env(), "AWS_ACCESS_KEY_ID=careful", "AWS_SECRET_ACCESS_KEY="+secret), at(server.Endpoint, bucket)...)
		require.Regexp(t, `(?m)^ok +commit `, out)
		require.Regexp(t, `(?m)^FAIL +delete +.*AccessDenied.*\(the file may remain in _doctor/\): allow .*s3:DeleteObject$`, out)
	})
	t.Run("encryption", func(t *testing.T) {
		t.Parallel()
		// The server ignores the request; the proxies report encryption.
		asked := append(at(server.Endpoint, server.Bucket(t)), "--s3-sse", "AES256")
		out := examineS3(t, exitOK, server.Env(), asked...)
		require.Regexp(t, `(?m)^warn +encryption +uploads that request AES256 are accepted, but the store does not report`, out)
		asked[3] = encrypting(t, server, "AES256")
		out = examineS3(t, exitOK, server.Env(), asked...)
		require.Regexp(t, `(?m)^ok +encryption +the store reports encryption with AES256$`, out)
		asked[3] = encrypting(t, server, "aws:kms")
		out = examineS3(t, exitFailed, server.Env(), asked...)
		require.Regexp(t, `(?m)^FAIL +encryption +the store encrypts with aws:kms, not with AES256: set --s3-sse`, out)
	})
	t.Run("uploads listed by exact key", func(t *testing.T) {
		t.Parallel()
		bucket := server.Bucket(t)
		proxy := server.Proxy(t, nil, s3test.ExactListing)
		out := examineS3(t, exitOK, server.Env(), at(proxy.Endpoint, bucket)...)
		require.Regexp(t, `(?m)^warn +list +the store lists multipart uploads by exact key only.*: configure the store to expire stale uploads`, out)
		untouched(t, bucket)
	})
	t.Run("no conditional writes", func(t *testing.T) {
		t.Parallel()
		bucket := server.Bucket(t)
		out := examineS3(t, exitOK, server.Env(), at(unconditional(t, server), bucket)...)
		require.Regexp(t, `(?m)^warn +conditional write +the store does not support conditional writes, so it is not safe for Delta Lake logs: let only one `, out)
		require.Contains(t, out, "A run would work")
		untouched(t, bucket)
	})
}

// unconditional starts a proxy that rejects conditional writes.
func unconditional(t *testing.T, server *s3test.Server) (endpoint string) {
	t.Helper()
	proxy := toward(t, server)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && (r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "") {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusNotImplemented)
			_, _ = io.Copy(w, strings.NewReader("<Error><Code>NotImplemented</Code><Message>no conditions</Message></Error>"))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// encrypting starts a proxy that reports every object as encrypted.
func encrypting(t *testing.T, server *s3test.Server, kind string) (endpoint string) {
	t.Helper()
	proxy := toward(t, server)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodHead {
			r.Header.Set("X-Amz-Server-Side-Encryption", kind)
		}
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

// toward returns a proxy of a server.
func toward(t *testing.T, server *s3test.Server) *httputil.ReverseProxy {
	t.Helper()
	to, err := url.Parse(server.Endpoint)
	require.NoError(t, err)
	return &httputil.ReverseProxy{
		Transport: server.HTTPClient.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host // the signature covers it
		},
	}
}
