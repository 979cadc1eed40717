package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
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
)

// idleConnections are kept open for the next requests: as many as documents are
// read at once.
const idleConnections = 32

// connect makes the SDK's client.
func (s *Store) connect(ctx context.Context) error {
	opts := &s.opts
	load := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithRetryer(func() aws.Retryer {
			return newRetryer(orDefault(opts.Attempts, defaultAttempts), orDefault(opts.MaxBackoff, defaultMaxBackoff))
		}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = idleConnections
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
		if opts.Attempts, err = attemptsOf(ctx, cfg); err != nil {
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
		// Checksums are sent as headers, which more stores understand than the
		// trailers that the SDK would send.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenSupported
		if opts.Checksums == ChecksumsWhenRequired {
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		o.DisableLogOutputChecksumValidationSkipped = true
		if opts.HTTPClient != nil {
			o.HTTPClient = opts.HTTPClient
		}
		o.HTTPClient = &stallClient{next: o.HTTPClient, timeout: orDefault(opts.StallTimeout, defaultStallTimeout)}
	})
	if s.client.Options().Region == "" {
		return errors.New("no AWS region is set: use --s3-region or AWS_REGION")
	}
	return nil
}

// attemptsOf returns what the environment (AWS_MAX_ATTEMPTS) or the shared
// configuration says, which the SDK heeds only for retryers of its own; 0 if
// they say nothing.
func attemptsOf(ctx context.Context, cfg aws.Config) (int, error) {
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

// newRetryer returns the SDK's standard retries with other waits, and without
// its quota, which a long run on a troubled store uses up: attempts and waits
// are bound enough.
func newRetryer(attempts int, maxBackoff time.Duration) *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.MaxBackoff = maxBackoff
		o.Backoff = backoff(maxBackoff)
		o.RateLimiter = ratelimit.None
		o.Retryables = append([]retry.IsErrorRetryable{
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
					return aws.FalseTernary // It will not get better.
				}
				if _, cut := errors.AsType[*smithy.DeserializationError](err); cut {
					return aws.TrueTernary // The answer broke off.
				}
				return aws.UnknownTernary
			}),
			retry.RetryableErrorCode{Codes: map[string]struct{}{
				// Another request for the same key was under way.
				"ConditionalRequestConflict": {}, "OperationAborted": {},
				"TooManyRequests": {},
				// versitygw: the folder was removed when its last object was,
				// while this one was being written.
				"ExistingObjectIsDirectory": {},
			}},
		}, o.Retryables...)
	})
}

// backoff waits a little after a first failure, which is mostly an accident,
// longer if the store wants fewer requests, and twice as long each time, of
// which a random half is left out. The SDK's own waits start so high that a run
// crawls where many requests fail, and leave room for few attempts.
func backoff(longest time.Duration) retry.BackoffDelayer {
	throttle := retry.IsErrorThrottles(retry.DefaultThrottles)
	return retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
		wait := firstWait
		if throttle.IsErrorThrottle(err) == aws.TrueTernary {
			wait = firstThrottledWait
		}
		wait = min(wait<<min(attempt-1, mostDoublings), longest)
		return wait - rand.N(wait/2+1), nil
	})
}

const (
	firstWait          = 100 * time.Millisecond
	firstThrottledWait = 500 * time.Millisecond
	mostDoublings      = 20
)

// quickly makes waits between attempts short, for checks that a user waits for.
func (s *Store) quickly(o *s3.Options) {
	o.Retryer = newRetryer(min(o.Retryer.MaxAttempts(), 10), min(orDefault(s.opts.MaxBackoff, defaultMaxBackoff), time.Second))
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
