package main

import (
	"log/slog"
	"net"
	"net/url"

	"example.org/growthexport/internal/extract"
)

// clientOptions returns the options of a client of the service at baseURL.
func (o *service) clientOptions(baseURL *url.URL, c extract.Credentials, logger *slog.Logger) extract.Options {
	return extract.Options{
		BaseURL: baseURL, Credentials: c,
		Concurrency: o.concurrency, RatePerSecond: o.rate, Retries: o.retries,
		RequestTimeout: o.requestTimeout, GiveUpAfter: o.giveUpAfter, MaxBody: o.maxBody,
		UserAgent: "growth-export/" + thisBuild().Version, Logger: logger,
	}
}

// chooseService reports whether the simulated service is to be used. It returns a usage error if no service is
// configured, if both services are configured by sources of equal rank, if secrets would be sent unencrypted to another
// machine, or if a real service is used but the day of the simulated service is set.
func (o *service) chooseService(from sources) (simulated bool, err error) {
	which, err := from.pick("base-url", "simulate")
	if err == nil && which == "" {
		err = usagef("no service configured: set --base-url (or %s, or base-url in the --config file), or try --simulate",
			envName("base-url"))
	}
	if err == nil && which == "base-url" && o.baseURL.Scheme == "http" && !isLoopback(o.baseURL) && !o.allowHTTP {
		err = usagef("%s: http would send credentials and student data to %s unencrypted: use https, or add --allow-http to allow this",
			from["base-url"].name, o.baseURL.Host)
	}
	if err == nil && which == "base-url" && from.given(simulatedDate) {
		err = usagef("%s sets the day of the simulated service: remove it, or use --simulate", from[simulatedDate].name)
	}
	return which == "simulate", err
}

// serviceName returns the name of the service in plans and manifests: its base URL, or "simulate". The name is empty if
// chooseService returns an error.
func (o *service) serviceName(from sources) string {
	simulated, err := o.chooseService(from)
	switch {
	case err != nil:
		return ""
	case simulated:
		return "simulate"
	default:
		return o.baseURL.String()
	}
}

// isLoopback reports whether the host of a URL is localhost or a loopback address.
func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
