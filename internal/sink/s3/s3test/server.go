package s3test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"example.org/growthexport/internal/sink/remote"
	sinks3 "example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/sink/servertest"
)

// Variable is the environment variable with the path of the server's binary.
const Variable = "VERSITYGW"

// Region is the region of the server.
const Region = "us-east-1"

// Server is a running versitygw.
type Server struct {
	// Endpoint is the https URL of the server.
	Endpoint string
	// AccessKeyID and SecretAccessKey belong to a user with all permissions.
	AccessKeyID     string
	SecretAccessKey string
	// CAFile is a file with the server's certificate, for AWS_CA_BUNDLE.
	CAFile string
	// Root contains a folder for each bucket. Objects are plain files in these folders.
	Root string
	// HTTPClient trusts the server's certificate.
	HTTPClient *http.Client

	binary  string
	folder  string
	cert    tls.Certificate
	process *servertest.Process
	buckets atomic.Int64
}

// Start starts a server that runs until the test ends; see servertest.Start.
func Start(t testing.TB) *Server {
	t.Helper()
	return servertest.Start(t, Variable, Launch)
}

// Launch starts a server. The caller must call Stop.
func Launch(ctx context.Context, binary string) (*Server, error) {
	folder, err := os.MkdirTemp("", "growth-export-s3-")
	if err != nil {
		return nil, err
	}
	s := &Server{
		AccessKeyID: "root-of-tests", SecretAccessKey: "secret-of-tests",
		CAFile: filepath.Join(folder, "cert.pem"), Root: filepath.Join(folder, "buckets"),
		binary: binary, folder: folder,
	}
	key, users := filepath.Join(folder, "key.pem"), filepath.Join(folder, "users")
	if err := errors.Join(s.makeCertificate(key), os.Mkdir(s.Root, 0o700), os.Mkdir(users, 0o700)); err != nil {
		return nil, err
	}
	s.process, err = servertest.Launch(ctx, binary, func(address string) (args, env []string) {
		return []string{
			"--quiet", "--keep-alive", "--port", address, "--cert", s.CAFile, "--key", key, "--iam-dir", users, "posix", s.Root,
		}, []string{"ROOT_ACCESS_KEY=" + s.AccessKeyID, "ROOT_SECRET_KEY=" + s.SecretAccessKey}
	})
	if err != nil {
		return nil, err
	}
	s.Endpoint = "https://" + s.process.Address
	return s, nil
}

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	s.process.Stop()
	_ = os.RemoveAll(s.folder) // The system removes leftovers in its temporary folder.
}

// Options returns the options of a store in a bucket.
func (s *Server) Options(t testing.TB, bucket, prefix string) sinks3.Options {
	t.Helper()
	return sinks3.Options{
		Bucket: bucket, Prefix: prefix, Endpoint: s.Endpoint, PathStyle: true,
		AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey,
		Settings: remote.Settings{HTTPClient: s.HTTPClient, Scratch: t.TempDir(), MaxBackoff: 20 * time.Millisecond},
	}
}

// Open returns a store in a bucket.
func (s *Server) Open(t testing.TB, bucket, prefix string) *sinks3.Store {
	t.Helper()
	store, err := sinks3.New(t.Context(), s.Options(t, bucket, prefix))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Client returns a client with all permissions, with which tests make changes behind a store's back.
func (s *Server) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &s.Endpoint, Region: Region, UsePathStyle: true, HTTPClient: s.HTTPClient,
		Credentials: credentials.NewStaticCredentialsProvider(s.AccessKeyID, s.SecretAccessKey, ""),
	})
}

// Bucket creates a bucket and returns its name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", s.buckets.Add(1))
	if _, err := s.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// Uploads returns the keys of the bucket's open multipart uploads.
func (s *Server) Uploads(t testing.TB, bucket string) []string {
	t.Helper()
	var keys []string
	pages := s3.NewListMultipartUploadsPaginator(s.Client(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Uploads {
			keys = append(keys, aws.ToString(page.Uploads[i].Key))
		}
	}
	return keys
}

// User creates a user who has only the permissions that bucket policies grant, and returns the user's secret access
// key.
func (s *Server) User(t testing.TB, accessKeyID string) (secret string) {
	t.Helper()
	secret = rand.Text()
	command := exec.CommandContext(t.Context(), s.binary, "admin", "--allow-insecure", //nolint:gosec // the server's binary
		"--endpoint-url", s.Endpoint, "--access", s.AccessKeyID, "--secret", s.SecretAccessKey,
		"create-user", "--access", accessKeyID, "--secret", secret, "--role", "user")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("create a user: %v: %s", err, output)
	}
	return secret
}

// Policy sets the policy of a bucket.
func (s *Server) Policy(t testing.TB, bucket, policy string) {
	t.Helper()
	_, err := s.Client().PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy})
	if err != nil {
		t.Fatal(err)
	}
}

// Env returns the environment of a process that uses the server.
func (s *Server) Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + s.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + s.SecretAccessKey,
		"AWS_REGION=" + Region, "AWS_CA_BUNDLE=" + s.CAFile,
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// makeCertificate writes the certificate of package httptest, which is valid for 127.0.0.1, and its key to files, and
// creates the HTTP client.
func (s *Server) makeCertificate(keyFile string) error {
	listener := httptest.NewTLSServer(nil)
	s.cert = listener.TLS.Certificates[0]
	listener.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.cert.PrivateKey)
	if err != nil {
		return err
	}
	if s.cert.Leaf, err = x509.ParseCertificate(s.cert.Certificate[0]); err != nil {
		return err
	}
	s.HTTPClient = &http.Client{Transport: &http.Transport{
		TLSClientConfig: s.tlsConfig(), MaxIdleConnsPerHost: 32,
	}}
	return errors.Join(
		os.WriteFile(s.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Certificate[0]}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

// tlsConfig returns a configuration that trusts only the server's certificate.
func (s *Server) tlsConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.cert.Leaf)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
