package azure

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"example.org/growthexport/internal/sink/remote"
)

// connect creates the client of the SDK for the container.
func (s *Store) connect() error {
	a, err := s.opts.access()
	if err != nil {
		return err
	}
	s.access = a
	if s.opts.Endpoint != "" {
		if u, err := url.Parse(a.endpoint); err == nil {
			s.endpoint = u.Scheme + "://" + u.Host
		}
	}
	address := a.endpoint + "/" + url.PathEscape(s.opts.Container)
	options := &container.ClientOptions{ClientOptions: policy.ClientOptions{
		Retry:     retries(cmp.Or(s.opts.Attempts, remote.Attempts), s.maxBackoff()),
		Transport: s.transport(),
	}}
	switch {
	case a.key != "":
		key, err := blob.NewSharedKeyCredential(s.opts.account(), a.key)
		if err != nil {
			return fmt.Errorf("%s is not in base64: copy the whole key again", s.opts.source("AccountKey", KeyVariable))
		}
		s.client, err = container.NewClientWithSharedKeyCredential(address, key, options)
		return err
	case a.sas != "":
		s.client, err = container.NewClientWithNoCredential(address+"?"+a.sas, options)
		return err
	}
	credential := s.opts.Credential
	if credential == nil {
		if credential, err = azidentity.NewDefaultAzureCredential(nil); err != nil {
			return &credentialError{err}
		}
	}
	s.client, err = container.NewClient(address, namedCredential{credential}, options)
	return err
}

func (s *Store) maxBackoff() time.Duration { return cmp.Or(s.opts.MaxBackoff, remote.MaxBackoff) }

// transport returns the client that sends the SDK's requests.
func (s *Store) transport() *transport {
	client := s.opts.HTTPClient
	if client == nil {
		client = remote.NewHTTPClient()
	}
	return &transport{maxWait: s.maxBackoff(), next: s.opts.Watch(client, answersDocument)}
}

// answersDocument reports whether the response to a request is an XML document: a list of blobs or of blocks.
func answersDocument(req *http.Request) bool {
	comp := req.URL.Query().Get("comp")
	return req.Method == http.MethodGet && (comp == "list" || comp == "blocklist")
}

// transport wraps the errors of a client and shortens the waits that the service requests, because the SDK gives up if
// such a wait exceeds its own maximum.
type transport struct {
	next    remote.Doer
	maxWait time.Duration
}

// Do sends a request.
func (t *transport) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.Body != http.NoBody {
		body := &attemptBody{ReadCloser: req.Body}
		req.Body = body
		defer body.end()
	}
	resp, err := t.next.Do(req)
	if err != nil {
		return nil, &transportError{err}
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && time.Duration(seconds)*time.Second > t.maxWait {
		resp.Header.Del("Retry-After")
		resp.Header.Set("Retry-After-Ms", strconv.FormatInt(t.maxWait.Milliseconds(), 10))
	}
	return resp, nil
}

// attemptBody is the body of one attempt. It ends reads with the attempt, because the connection might otherwise read
// on while the SDK rewinds the body for the next attempt.
type attemptBody struct {
	io.ReadCloser

	mu    sync.Mutex
	ended bool
}

// Read reads from the body until the attempt has ended.
func (b *attemptBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, io.ErrClosedPipe
	}
	return b.ReadCloser.Read(p)
}

func (b *attemptBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// transportError is the error of a request that got no response.
type transportError struct{ cause error }

func (e *transportError) Error() string { return e.cause.Error() }
func (e *transportError) Unwrap() error { return e.cause }

// namedCredential wraps the errors of a credential in credentialError, so that they can be recognized.
type namedCredential struct{ azcore.TokenCredential }

// GetToken requests a token.
func (c namedCredential) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, options)
	if err != nil {
		err = &credentialError{err}
	}
	return token, err
}

// credentialError reports that a credential did not get a token.
type credentialError struct{ cause error }

func (e *credentialError) Error() string { return fmt.Sprintf("sign in to Azure: %v", e.cause) }
func (e *credentialError) Unwrap() error { return e.cause }

// NonRetriable marks the error so that the SDK does not retry, because the credential has already retried.
func (e *credentialError) NonRetriable() {}

// retries returns options for the SDK's retries. They replace the SDK's default waits and exclude retries that cannot
// help.
func retries(attempts int, maxBackoff time.Duration) policy.RetryOptions {
	return policy.RetryOptions{
		MaxRetries: cmp.Or(int32(attempts-1), -1), RetryDelay: min(firstWait, maxBackoff), MaxRetryDelay: maxBackoff,
		ShouldRetry: func(resp *http.Response, err error) bool {
			if err != nil {
				_, bad := errors.AsType[*tls.CertificateVerificationError](err)
				return !bad
			}
			status := resp.StatusCode
			return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
				status >= http.StatusInternalServerError && status != http.StatusNotImplemented
		},
	}
}

const firstWait = 100 * time.Millisecond

// shortRetries returns a context that limits attempts and waits, for checks whose result a user is waiting for.
func (s *Store) shortRetries(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, retries(min(cmp.Or(s.opts.Attempts, remote.Attempts), remote.CheckAttempts), min(s.maxBackoff(), remote.CheckMaxBackoff)))
}

// pauseRead waits before a body that was cut short is requested again. After the last attempt, it returns an error that
// wraps cause.
func (s *Store) pauseRead(ctx context.Context, attempt int, cause error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if attempt >= cmp.Or(s.opts.Attempts, remote.Attempts) {
		return fmt.Errorf("%w (%d attempts)", cause, attempt)
	}
	return remote.Pause(ctx, remote.Backoff(attempt, false, s.maxBackoff()))
}
