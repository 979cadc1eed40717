package s3

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/wording"
)

// connect creates the client of the SDK from the options and the AWS configuration.
func (s *Store) connect(ctx context.Context) error {
	opts := &s.opts
	load := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithRetryer(func() aws.Retryer {
			return newRetryer(cmp.Or(opts.Attempts, remote.Attempts), cmp.Or(opts.MaxBackoff, remote.MaxBackoff))
		}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = remote.MaxIdleConnections
		})),
	}
	if opts.Region != "" {
		load = append(load, config.WithRegion(opts.Region))
	}
	if opts.AccessKeyID != "" {
		load = append(load, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(opts.AccessKeyID, opts.SecretAccessKey, "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return fmt.Errorf("read the AWS configuration: %w", err)
	}
	s.creds = cfg.Credentials
	if opts.Attempts == 0 {
		if opts.Attempts, err = configuredAttempts(ctx, cfg); err != nil {
			return fmt.Errorf("read the AWS configuration: %w", err)
		}
	}
	s.client = s3.NewFromConfig(cfg, func(o *s3.Options) {
		if opts.Endpoint != "" {
			o.BaseEndpoint = aws.String(opts.Endpoint)
		}
		if o.BaseEndpoint != nil {
			if u, err := url.Parse(*o.BaseEndpoint); err == nil {
				s.endpoint = u.Scheme + "://" + u.Host
			}
			if o.Region == "" {
				o.Region = defaultRegion
			}
		}
		if opts.PathStyle {
			o.UsePathStyle = true
		}
		if opts.Checksums == "" && o.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
			opts.Checksums = ChecksumsWhenRequired
		}
		// This package sends checksums as headers, which more stores support than the SDK's trailers.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenSupported
		if opts.Checksums == ChecksumsWhenRequired {
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		o.DisableLogOutputChecksumValidationSkipped = true
		if opts.HTTPClient != nil {
			o.HTTPClient = opts.HTTPClient
		}
		o.HTTPClient = opts.Watch(o.HTTPClient, answersDocument)
	})
	if s.client.Options().Region == "" {
		return fmt.Errorf("no AWS region: set %s or AWS_REGION", wording.Setting("s3-region"))
	}
	return nil
}

// answersDocument reports whether the response to a request is an XML document: a list, or the response to the start or
// end of an upload.
func answersDocument(req *http.Request) bool {
	query := req.URL.Query()
	return req.Method == http.MethodPost ||
		req.Method == http.MethodGet && (query.Has("list-type") || query.Has("uploads") || query.Has("uploadId"))
}

// configuredAttempts returns the maximum number of attempts that the environment (AWS_MAX_ATTEMPTS) or the shared
// configuration sets, or 0 if neither sets it. The SDK applies this number only to its own retryers.
func configuredAttempts(ctx context.Context, cfg aws.Config) (int, error) {
	for _, source := range cfg.ConfigSources {
		s, ok := source.(interface {
			GetRetryMaxAttempts(ctx context.Context) (attempts int, found bool, err error)
		})
		if !ok {
			continue
		}
		if attempts, found, err := s.GetRetryMaxAttempts(ctx); found || err != nil {
			return attempts, err
		}
	}
	return 0, nil
}

// newRetryer returns the SDK's standard retryer with different waits, and without the retry quota, which a long run
// against a failing store would use up.
func newRetryer(attempts int, maxBackoff time.Duration) *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.MaxBackoff = maxBackoff
		o.Backoff = backoff(maxBackoff)
		o.RateLimiter = ratelimit.None
		o.Retryables = append([]retry.IsErrorRetryable{
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
					return aws.FalseTernary // Trying again would not help.
				}
				if _, bad := errors.AsType[*smithy.DeserializationError](err); bad || errors.Is(err, io.ErrUnexpectedEOF) {
					return aws.TrueTernary // The response was cut short.
				}
				return aws.UnknownTernary
			}),
			retry.RetryableErrorCode{Codes: map[string]struct{}{
				// Another request for the same key is in progress.
				"ConditionalRequestConflict": {}, "OperationAborted": {},
				"TooManyRequests": {},
				// versitygw returns this if the folder was removed with its last object while this object was being written.
				"ExistingObjectIsDirectory": {},
			}},
		}, o.Retryables...)
	})
}

// backoff returns the waits between attempts, which replace the SDK's own. The SDK's first waits are so long that a run
// becomes very slow when many requests fail, and that only a few attempts are possible.
func backoff(maxWait time.Duration) retry.BackoffDelayer {
	return retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
		return remote.Backoff(attempt, throttled(err), maxWait), nil
	})
}

// shortRetries limits attempts and waits, for checks whose result a user is waiting for.
func (s *Store) shortRetries(o *s3.Options) {
	o.Retryer = newRetryer(min(o.Retryer.MaxAttempts(), remote.CheckAttempts),
		min(cmp.Or(s.opts.MaxBackoff, remote.MaxBackoff), remote.CheckMaxBackoff))
}
