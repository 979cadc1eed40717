package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/fetch"
	"example.org/growthexport/internal/wording"
)

const (
	// maxSkew is the difference between this machine's clock and the service's clock above which the check warns. The
	// service sends its time in whole seconds.
	maxSkew = time.Minute
	// maxRecords is the limit on the records of a school. It does not apply to the one page that the checks read.
	maxRecords = 1_000_000
	// certificateNotice is the remaining validity of a certificate below which the check warns.
	certificateNotice = 14 * 24 * time.Hour
)

// Service describes the service to check.
type Service struct {
	// Err is the reason why there is no service to check, or nil.
	Err error

	BaseURL   *url.URL
	Simulated bool
	// Credentials are unusable if CredentialsErr is not nil.
	Credentials    extract.Credentials
	CredentialsErr error
	// Timeout is the time limit of the request to the base URL itself.
	Timeout time.Duration
	// NewClient returns a client for the service.
	NewClient func() (*extract.Client, error)
	// Transport sends the request to the base URL itself. If it is nil, a transport with the environment's proxy settings
	// is used.
	Transport http.RoundTripper
	Now       func() time.Time
}

// CheckService checks everything that a run needs from the service. If ctx has ended, the error is its cause.
func CheckService(ctx context.Context, s Service) ([]Finding, error) {
	var f findings
	if s.Err != nil {
		f.fail(BaseURL, s.Err, "")
		f.skip("no service configured", TLS, Clock, Credentials, Token, Schools, Results)
		return f, context.Cause(ctx)
	}
	reached := f.checkConnection(ctx, &s)
	f.checkCredentials(&s)
	switch {
	case ctx.Err() != nil:
	case s.CredentialsErr != nil:
		f.skip("no credentials", Token, Schools, Results)
	case !reached:
		f.skip("no connection to the service", Token, Schools, Results)
	default:
		f.checkAnswers(ctx, &s)
	}
	return f, context.Cause(ctx)
}

// checkConnection requests the base URL itself, without credentials. It reports whether there was an answer, with any
// status.
func (f *findings) checkConnection(ctx context.Context, s *Service) bool {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	host := s.BaseURL.Host
	began := time.Now()
	answer, err := s.visit(ctx)
	const setting = wording.Setting("base-url")
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case untrusted:
		f.ok(BaseURL, "%s accepts connections", host)
		f.fail(TLS, fmt.Errorf("the certificate of %s is not trusted: %w", host, err),
			"check "+setting.String()+"; to trust another authority, set SSL_CERT_FILE to the path of its certificate")
	case noTLS:
		f.ok(BaseURL, "%s accepts connections", host)
		f.fail(TLS, fmt.Errorf("%s does not speak TLS", host), "check the scheme and the port of "+setting.String())
	case err != nil:
		f.fail(BaseURL, fmt.Errorf("%s cannot be reached: %w", host, networkError(err)), "check "+setting.String()+", the network and HTTPS_PROXY")
		f.skip("the service cannot be reached", TLS)
	default:
		f.ok(BaseURL, "%s answers (%d ms)", host, time.Since(began).Milliseconds())
		f.checkTLS(s, answer.tls)
	}
	f.checkClock(answer)
	return err == nil
}

// visit holds the properties of the service that can be seen in one answer.
type visit struct {
	tls *tls.ConnectionState
	// skew is how far this machine's clock is ahead of the service's. It is known only if dated is true.
	dated bool
	skew  time.Duration
}

// visit requests the base URL without credentials, and returns the properties of the answer. It does not read the body.
func (s *Service) visit(ctx context.Context) (visit, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL.String(), http.NoBody)
	if err != nil {
		return visit{}, errors.New("the base URL cannot be requested")
	}
	transport := s.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, OnProxyConnectResponse: extract.AcceptProxy, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		}
	}
	began := s.Now()
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return visit{}, err
	}
	_ = answer.Body.Close() // unread
	v := visit{tls: answer.TLS}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		v.dated, v.skew = true, began.Add(s.Now().Sub(began)/2).Sub(date)
	}
	return v, nil
}

// networkError replaces common network errors with short ones that operators search for and that contain no URL. It
// returns other errors unchanged.
func networkError(err error) error {
	lookup, isLookup := errors.AsType[*net.DNSError](err)
	var timeout net.Error
	switch {
	case isLookup && lookup.IsNotFound:
		return errors.New("host not found")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("connection refused")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("timeout: no answer in time")
	}
	return err
}

func (f *findings) checkTLS(s *Service, state *tls.ConnectionState) {
	address, _ := netip.ParseAddr(s.BaseURL.Hostname())
	switch {
	case state == nil && (s.BaseURL.Hostname() == "localhost" || address.IsLoopback()):
		f.ok(TLS, "not used: the service is on this machine")
	case state == nil:
		f.warn(TLS, "the base URL is http: credentials and student data are sent unencrypted", "use https")
	case len(state.PeerCertificates) == 0:
		f.ok(TLS, "%s", tls.VersionName(state.Version))
	default:
		expiry := state.PeerCertificates[0].NotAfter
		text := fmt.Sprintf("%s, certificate valid until %s", tls.VersionName(state.Version), expiry.UTC().Format(time.DateOnly))
		if expiry.Sub(s.Now()) < certificateNotice {
			f.warn(TLS, text, "ask the operator of the service to renew it")
			return
		}
		f.ok(TLS, "%s", text)
	}
}

func (f *findings) checkClock(v visit) {
	switch skew := v.skew.Round(time.Second); {
	case !v.dated:
		f.skip("the service did not send its time", Clock)
	case skew.Abs() > maxSkew:
		direction := "ahead of"
		if skew < 0 {
			direction = "behind"
		}
		f.warn(Clock, fmt.Sprintf("this machine is %s %s the service", skew.Abs(), direction),
			"synchronize its clock by NTP: the snapshot's date and S3 signatures depend on it")
	default:
		f.ok(Clock, "agrees with the clock of the service to the minute")
	}
}

// checkCredentials reports which kinds of credentials are set, but never their values.
func (f *findings) checkCredentials(s *Service) {
	switch c := &s.Credentials; {
	case s.CredentialsErr != nil:
		f.fail(Credentials, s.CredentialsErr, "")
	case s.Simulated:
		f.ok(Credentials, "built into the simulated service")
	case c.APISecret == "":
		f.ok(Credentials, "API key and an access token, which cannot be renewed")
	case c.AccessToken != "":
		f.ok(Credentials, "API key and secret, and an initial access token")
	default:
		f.ok(Credentials, "API key and secret")
	}
}

// checkAnswers requests a token, the school list and a page of test results.
func (f *findings) checkAnswers(ctx context.Context, s *Service) {
	client, err := s.NewClient()
	if err != nil {
		f.fail(Token, err, "")
		f.skip("no access token", Schools, Results)
		return
	}
	fetcher, err := fetch.New(client, fetch.Options{Concurrency: 1, MaxSchoolRecords: maxRecords})
	if err != nil {
		f.fail(Schools, err, "")
		return
	}
	list, err := listSchools(ctx, fetcher)
	if closed := fetcher.Close(); err == nil {
		err = closed
	}
	if ctx.Err() != nil {
		return
	}
	call, isCall := errors.AsType[*extract.Error](err)
	if errors.Is(err, extract.ErrTokenEndpoint) || isCall && call.Operation == "token" {
		f.fail(Token, err, "")
		f.skip("no access token", Schools, Results)
		return
	}
	switch lifetime := client.TokenLifetime(); {
	case lifetime > 0:
		f.ok(Token, "obtained, valid for %s", wording.Duration(lifetime))
	case s.Credentials.AccessToken != "" && client.Stats().TokenRefreshes == 0:
		f.ok(Token, "the given access token was accepted; its lifetime is unknown")
	default:
		f.ok(Token, "obtained; its lifetime is unknown")
	}
	if err != nil {
		f.fail(Schools, err, "")
		f.skip("no school to request", Results)
		return
	}
	text := wording.Many(len(list.bids), "school") + " in " + wording.Many(list.districts, "district")
	if list.withoutBid > 0 {
		f.warn(Schools, text+", and "+wording.Count(list.withoutBid)+" without a bid",
			"they fail in every run: see "+wording.Setting("max-failed-schools").String()+", and report them to the operator of the service")
	} else {
		f.ok(Schools, "%s", text)
	}
	f.checkResults(ctx, fetcher, list.bids)
}

// checkResults requests a page of test results and, if results are denied, a page of students. Only if both are denied
// does a run have nothing to fetch.
func (f *findings) checkResults(ctx context.Context, fetcher *fetch.Fetcher, schools []string) {
	page, err := firstPage(ctx, fetcher, "test_results", schools)
	if !errors.Is(err, extract.ErrDenied) {
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.fail(Results, err, "")
			return
		}
		more := "; there are more pages"
		if page.last {
			more = "; it is the only page"
		}
		f.ok(Results, "a page of school %s contains %s results%s", wording.Bid(page.school), wording.Count(page.records), more)
		if page.denied > 0 {
			f.warn(Agreements, fmt.Sprintf("test results are denied for %s of %s schools tried",
				wording.Count(page.denied), wording.Count(page.denied+1)), "their data sharing agreements have ended or never existed")
		}
		return
	}
	denied := wording.Count(page.denied)
	const advice = "check the app's data sharing agreements"
	_, err = firstPage(ctx, fetcher, "students", schools)
	switch {
	case ctx.Err() != nil:
	case err != nil && !errors.Is(err, extract.ErrDenied):
		f.fail(Results, err, "")
	case err == nil:
		f.warn(Results, "denied for all "+denied+" schools tried, although their students can be read",
			"check what the data sharing agreements cover")
	case page.denied == len(schools):
		f.fail(Results, fmt.Errorf("%w: every school is denied: %w", extract.ErrRefused, err), advice)
	default:
		f.warn(Results, "the first "+denied+" schools are denied", advice)
	}
}
