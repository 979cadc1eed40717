package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"example.org/growthexport/internal/sink"
)

// Default values of settings.
const (
	// Attempts is the maximum number of attempts per request. The waits between them add up to more than a minute.
	Attempts = 14
	// MaxBackoff is the maximum wait between two attempts.
	MaxBackoff = 20 * time.Second
	// StallTimeout is how long an attempt may transfer no data.
	StallTimeout = 2 * time.Minute
	// Uploads is the maximum number of concurrent uploads.
	Uploads = 4
)

// Settings are the options that all cloud stores have. The zero value is valid.
type Settings struct {
	// Scratch is the folder where files are written before they are uploaded. If it is empty, the system's temporary
	// folder is used.
	Scratch string
	// Uploads is the maximum number of concurrent uploads over all files. The default is 4.
	Uploads int
	// Attempts is the maximum number of attempts per request. If it is 0, the AWS configuration may set the number on S3.
	// The default is 14 attempts, which take more than a minute.
	Attempts int
	// MaxBackoff is the maximum wait between two attempts, unless the service requests a longer wait. The default is 20 s.
	MaxBackoff time.Duration
	// StallTimeout is how long an attempt may transfer no data before it is cancelled and tried again. The default is 2
	// min.
	StallTimeout time.Duration
	// Log receives warnings about the store. If Log is nil, warnings are discarded.
	Log *slog.Logger
	// HTTPClient, if set, sends the requests.
	HTTPClient *http.Client
}

// CheckLimits validates the numbers of uploads and attempts.
func (s *Settings) CheckLimits() error {
	if s.Uploads < 0 || s.Attempts < 0 {
		return errors.New("uploads and attempts must not be negative")
	}
	return nil
}

// Limit returns a channel whose capacity is the maximum number of uploads.
func (s *Settings) Limit() chan struct{} { return make(chan struct{}, cmp.Or(s.Uploads, Uploads)) }

// Watch returns a client that sends requests with next, cancels stalled requests and logs outages; see Client.
func (s *Settings) Watch(next Doer, answersDocument func(*http.Request) bool) *Client {
	return &Client{
		Next: next, Timeout: cmp.Or(s.StallTimeout, StallTimeout), AnswersDocument: answersDocument, outage: outage{log: s.Log},
	}
}

// NewHTTPClient returns a client that keeps enough connections open for all concurrent requests and does not follow
// redirects.
func NewHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: MaxIdleConnections, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Ready returns an error if ctx is done or the path of a file is not valid.
func Ready(ctx context.Context, path string) error {
	return errors.Join(ctx.Err(), sink.CheckPath(path))
}
