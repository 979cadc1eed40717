package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
		config.WithRetryer(func() aws.Retryer { return newRetryer(opts) }),
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

// newRetryer returns the SDK's standard retries without its quota, which a long
// run on a troubled store uses up: attempts and waits are bound enough.
func newRetryer(opts *Options) *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = orDefault(opts.Attempts, defaultAttempts)
		o.MaxBackoff = orDefault(opts.MaxBackoff, defaultMaxBackoff)
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

// quickly makes waits between attempts short, for checks that a user waits for.
func quickly(o *s3.Options) {
	o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, time.Second)
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
