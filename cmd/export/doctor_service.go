package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"syscall"
	"time"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/wording"
)

// The checks of the service, in their order.
const (
	checkBaseURL     = "base URL"
	checkTLS         = "TLS"
	checkClock       = "clock"
	checkCredentials = "credentials"
	checkToken       = "token"
	checkSchools     = "school list"
	checkResults     = "test results"
)

const (
	// mostSkew is by how much this machine's clock may differ from the
	// service's without a word: answers are dated to the second.
	mostSkew = time.Minute
	// certificateAhead is how long before its end a certificate is told of.
	certificateAhead = 14 * 24 * time.Hour
)

// examineService checks all that a run needs of the service. Its error is for
// what is no finding: an interrupt, or a simulated service that does not start.
func (a *app) examineService(ctx context.Context, u *checkup, o *doctorOptions, from sources, logger *slog.Logger) error {
	simulated, err := o.chooseService(from)
	if err != nil {
		u.fail(checkBaseURL, err, "")
		u.skip("no service configured", checkTLS, checkClock, checkCredentials, checkToken, checkSchools, checkResults)
		return nil
	}
	baseURL := o.baseURL
	if simulated {
		var stop func()
		if baseURL, stop, err = o.embed(context.WithoutCancel(ctx), a.now()); err != nil {
			return err
		}
		defer stop()
	}
	seen := newSighting(a.now)
	defer seen.next.CloseIdleConnections()
	reached := examineReach(ctx, u, baseURL, seen, o.requestTimeout)
	credentials := simulatedCredentials()
	if !simulated {
		credentials, err = a.credentials()
	}
	switch {
	case err != nil:
		u.fail(checkCredentials, err, "")
	case simulated:
		u.ok(checkCredentials, "those of the simulated service")
	default:
		u.ok(checkCredentials, "%s", given(&credentials))
	}
	if err != nil || !reached {
		why := "the service cannot be asked"
		if err != nil {
			why = "there are no credentials to ask with"
		}
		u.skip(why, checkToken, checkSchools, checkResults)
		return ctx.Err()
	}
	options := o.clientOptions(baseURL, credentials, logger)
	options.Transport = seen
	client, err := extract.New(options)
	if err != nil {
		u.fail(checkToken, usagef("%w", err), "")
		u.skip("there is no token", checkSchools, checkResults)
		return nil
	}
	return examineAnswers(ctx, u, client, seen)
}

// given tells which credentials there are, not what they are.
func given(c *extract.Credentials) string {
	switch {
	case c.APISecret == "":
		return "API key and an access token, which nothing renews"
	case c.AccessToken != "":
		return "API key and secret, and an access token to begin with"
	default:
		return "API key and secret"
	}
}

// examineReach asks the base URL itself, without credentials: any answer will
// do. It tells whether there was one.
func examineReach(ctx context.Context, u *checkup, baseURL *url.URL, seen *sighting, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	host := baseURL.Host
	began := time.Now()
	err := seen.visit(ctx, baseURL)
	_, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case distrusted:
		u.ok(checkBaseURL, "%s accepts connections", host)
		u.fail(checkTLS, fmt.Errorf("the certificate of %s is not trusted: %w", host, err),
			"check --base-url; SSL_CERT_FILE names a file of further certificates to trust")
	case noTLS:
		u.ok(checkBaseURL, "%s accepts connections", host)
		u.fail(checkTLS, fmt.Errorf("%s does not speak TLS", host), "check the scheme and the port of --base-url")
	case err != nil:
		u.fail(checkBaseURL, fmt.Errorf("%s cannot be reached: %w", host, reason(err)), "check --base-url, the network and HTTPS_PROXY")
		u.skip("the service cannot be reached", checkTLS)
	default:
		u.ok(checkBaseURL, "%s answers (%d ms)", host, time.Since(began).Milliseconds())
		examineTLS(u, baseURL, seen)
	}
	examineClock(u, seen)
	return err == nil
}

// reason puts an error of the network into few words, without URLs.
func reason(err error) error {
	lookup, noHost := errors.AsType[*net.DNSError](err)
	var timeout net.Error
	switch {
	case noHost && lookup.IsNotFound:
		return errors.New("host not found")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("connection refused")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("timeout: no answer in time")
	}
	return err
}

func examineTLS(u *checkup, baseURL *url.URL, seen *sighting) {
	state := seen.tls
	switch {
	case state == nil && isLoopback(baseURL):
		u.ok(checkTLS, "http, which does not leave this machine")
	case state == nil:
		u.warn(checkTLS, "the base URL is http: credentials and student data travel unencrypted", "use https")
	case len(state.PeerCertificates) == 0:
		u.ok(checkTLS, "%s", tls.VersionName(state.Version))
	default:
		end := state.PeerCertificates[0].NotAfter
		finding := fmt.Sprintf("%s, certificate valid until %s", tls.VersionName(state.Version), end.UTC().Format(time.DateOnly))
		if end.Sub(seen.now()) < certificateAhead {
			u.warn(checkTLS, finding, "whoever runs the service has to renew it before")
			return
		}
		u.ok(checkTLS, "%s", finding)
	}
}

func examineClock(u *checkup, seen *sighting) {
	switch skew := seen.skew.Round(time.Second); {
	case !seen.dated:
		u.skip("the service did not tell the time", checkClock)
	case skew.Abs() > mostSkew:
		direction := "ahead of"
		if skew < 0 {
			direction = "behind"
		}
		u.warn(checkClock, fmt.Sprintf("this machine is %s %s the service", skew.Abs(), direction),
			"let NTP set its clock: the snapshot's date and S3's signatures depend on it")
	default:
		u.ok(checkClock, "agrees with the service's within a minute")
	}
}

// examineAnswers asks for a token, the school list and a page.
func examineAnswers(ctx context.Context, u *checkup, client *extract.Client, seen *sighting) error {
	trial, err := pipeline.NewTrial(client)
	if err != nil {
		return err
	}
	schools, err := trial.Schools(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	call, isCall := errors.AsType[*extract.Error](err)
	if errors.Is(err, extract.ErrTokenEndpoint) || isCall && call.Operation == "token" {
		u.fail(checkToken, err, "")
		u.skip("there is no token", checkSchools, checkResults)
		return nil
	}
	switch {
	case !seen.granted:
		u.ok(checkToken, "the access token that was given is taken; nothing tells how long it lasts")
	case seen.life == 0:
		u.ok(checkToken, "obtained; the service does not say how long it lasts")
	default:
		u.ok(checkToken, "obtained, lasts %s", shortTime(seen.life))
	}
	if err != nil {
		u.fail(checkSchools, err, "")
		u.skip("there is no school to ask for", checkResults)
		return nil
	}
	finding := fmt.Sprintf("%s schools in %s districts", wording.Count(schools.Schools), wording.Count(schools.Districts))
	if n := schools.WithoutBid; n > 0 {
		u.warn(checkSchools, finding+", and "+wording.Count(n)+" without a bid",
			"they fail in every run: see --max-failed-schools, and tell whoever runs the service")
	} else {
		u.ok(checkSchools, "%s", finding)
	}
	return examinePage(ctx, u, trial, schools.Schools)
}

// examinePage asks for a page of test results, and where those are denied for
// one of students: only if both are does a run have nothing to fetch.
func examinePage(ctx context.Context, u *checkup, trial *pipeline.Trial, schools int) error {
	var denied error
	var asked int
	for i, dataset := range pipeline.TrialDatasets() {
		page, err := trial.FirstPage(ctx, dataset)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, extract.ErrDenied):
			denied, asked = err, page.Denied
			continue
		case err != nil:
			u.fail(checkResults, err, "")
		case i > 0:
			u.warn(checkResults, fmt.Sprintf("those of all %s schools asked are denied, though their students are not", wording.Count(asked)),
				"check what the data sharing agreements cover")
		default:
			more := "; there are more pages"
			if page.Last {
				more = "; there is no further page"
			}
			u.ok(checkResults, "a page of school %s holds %s results%s", printable(page.SchoolBid), wording.Count(page.Records), more)
			if page.Denied > 0 {
				u.warn("agreements", fmt.Sprintf("%s of the %s schools asked for test results are denied",
					wording.Count(page.Denied), wording.Count(page.Denied+1)), "their agreements have ended, or never were")
			}
		}
		return nil
	}
	const advice = "check the app's data sharing agreements"
	if asked == schools {
		u.fail(checkResults, fmt.Errorf("%w: every school is denied: %w", extract.ErrRefused, denied), advice)
		return nil
	}
	u.warn(checkResults, fmt.Sprintf("the first %s schools are denied", wording.Count(asked)), advice)
	return nil
}
