package s3test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// WeakETags behaves like compressing proxies that weaken the ETags of objects: a condition on such a version never
// holds.
func WeakETags(next http.RoundTripper) http.RoundTripper {
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
			return resp, err
		}
		if tag := resp.Header.Get("ETag"); tag != "" {
			resp.Header.Set("ETag", "W/"+tag)
		}
		return resp, nil
	})
}

// IgnoredConditions behaves like a store that ignores If-Match and If-None-Match on writes. It signs requests again,
// since their signature covers these headers.
func (s *Server) IgnoredConditions(next http.RoundTripper) http.RoundTripper {
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	credentials := aws.Credentials{AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey}
	return RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead ||
			r.Header.Get("If-Match") == "" && r.Header.Get("If-None-Match") == "" {
			return next.RoundTrip(r)
		}
		r = r.Clone(r.Context())
		for name := range r.Header {
			if strings.HasPrefix(name, "If-") || name == "Authorization" {
				r.Header.Del(name)
			}
		}
		r.Host = r.URL.Host
		err := signer.SignHTTP(r.Context(), credentials, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", Region, time.Now()) //nolint:contextcheck // It is the request's own.
		if err != nil {
			return nil, fmt.Errorf("sign a request again: %w", err)
		}
		return next.RoundTrip(r)
	})
}
