package s3test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Region is the region of the server.
const Region = "us-east-1"

// patience is how long the server may take to start, on a busy machine.
const patience = 30 * time.Second

// Server is a running versitygw.
type Server struct {
	// Endpoint is its URL, https.
	Endpoint string
	// AccessKeyID and SecretAccessKey belong to a user with all permissions.
	AccessKeyID     string
	SecretAccessKey string
	// CAFile is a file with the server's certificate, for AWS_CA_BUNDLE.
	CAFile string
	// Root has a folder for each bucket, in which objects are plain files.
	Root string
	// HTTPClient trusts the server.
	HTTPClient *http.Client

	binary  string
	cert    tls.Certificate
	command *exec.Cmd
	output  *bytes.Buffer
	exited  chan struct{}
	buckets atomic.Int64
}

// Start starts a server that runs until the test ends. Without VERSITYGW in the environment the test fails if CI is
// set, else it is skipped. With -short it is always skipped.
func Start(t testing.TB, getenv func(string) string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("tests on S3 take long")
	}
	binary := getenv("VERSITYGW")
	if binary == "" {
		Missing(t, getenv)
	}
	server, err := Launch(t.Context(), binary, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// Missing fails or skips a test that has no server; see Start.
func Missing(t testing.TB, getenv func(string) string) {
	t.Helper()
	const message = "VERSITYGW is not set: make check builds a versitygw binary and sets it"
	if getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// Launch starts a server with its data in a folder. Stop ends it.
func Launch(ctx context.Context, binary, folder string) (*Server, error) {
	s := &Server{
		AccessKeyID: "root-of-tests", SecretAccessKey: "secret-of-tests",
		CAFile: filepath.Join(folder, "cert.pem"), Root: filepath.Join(folder, "buckets"),
		binary: binary,
	}
	key := filepath.Join(folder, "key.pem")
	if err := s.makeCertificate(key); err != nil {
		return nil, err
	}
	users := filepath.Join(folder, "users")
	for _, dir := range []string{s.Root, users} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	for range 3 { // Another process may take the port.
		if err = s.launch(ctx, key, users); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func (s *Server) launch(ctx context.Context, key, users string) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	s.Endpoint = "https://" + address
	s.output = new(bytes.Buffer)
	// Stop ends it, not the context.
	s.command = exec.CommandContext(context.WithoutCancel(ctx), s.binary, //nolint:gosec // The Makefile built the binary.
		"--quiet", "--keep-alive", "--port", address, "--cert", s.CAFile, "--key", key, "--iam-dir", users,
		"posix", s.Root)
	s.command.Env = []string{"ROOT_ACCESS_KEY=" + s.AccessKeyID, "ROOT_SECRET_KEY=" + s.SecretAccessKey}
	s.command.Stdout, s.command.Stderr = s.output, s.output
	if err := s.command.Start(); err != nil {
		return fmt.Errorf("start versitygw: %w", err)
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.command.Wait() // Stop kills it.
		close(s.exited)
	}()
	if err := s.await(ctx, address); err != nil {
		s.Stop()
		return fmt.Errorf("start versitygw: %w: %s", err, strings.TrimSpace(s.output.String()))
	}
	return nil
}

// await waits until the server accepts connections.
func (s *Server) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	dialer := tls.Dialer{Config: s.tlsConfig()}
	for {
		if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-s.exited:
			return errors.New("the process ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.command.Process.Kill() // It may have ended.
	<-s.exited
}

// Client returns a client with all permissions, for changes that a store does not know of.
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

// User creates a user with the permissions that bucket policies give, and returns the secret.
func (s *Server) User(t testing.TB, accessKeyID string) (secret string) {
	t.Helper()
	secret = rand.Text()
	command := exec.CommandContext(t.Context(), s.binary, "admin", "--allow-insecure", //nolint:gosec // As above.
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

// makeCertificate writes the certificate of package httptest, which is valid for 127.0.0.1.
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

// tlsConfig trusts only the server's certificate.
func (s *Server) tlsConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.cert.Leaf)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
