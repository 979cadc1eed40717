package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"unicode"
)

// SplitURL splits the URL of a destination into bucket and prefix. It does not validate them.
func SplitURL(text, scheme string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		return "", "", fmt.Errorf("destination %q does not start with %s", text, scheme)
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	return bucket, strings.TrimSuffix(prefix, "/"), nil
}

// CheckPrefix returns an error if the paths of a destination cannot start with the prefix. The empty prefix is valid.
func CheckPrefix(prefix string) error {
	switch {
	case prefix != "" && !fs.ValidPath(prefix) || prefix == ".":
		return fmt.Errorf("%q is not a valid prefix: no segment may be empty or consist of dots", prefix)
	case strings.ContainsFunc(prefix, unlisted):
		return fmt.Errorf("%q is not a valid prefix: it contains a control character", prefix)
	}
	return nil
}

// unlisted reports whether some stores cannot list keys with this character, because their lists are XML.
func unlisted(r rune) bool { return unicode.IsControl(r) || r == '\ufffe' || r == '\uffff' }

// ParseEndpoint validates the URL of a store and returns it. Its error does not repeat the text, which may contain a
// password.
func ParseEndpoint(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" {
		return "", errors.New("not a URL such as https://host:9000")
	}
	return text, nil
}

// Plain returns an endpoint if it sends data unencrypted to another machine, and "" otherwise.
func Plain(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err == nil && u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return endpoint
	}
	return ""
}

// WarnIfPlain logs that an endpoint sends data unencrypted to another machine. log may be nil.
func WarnIfPlain(log *slog.Logger, endpoint string) {
	if log != nil && Plain(endpoint) != "" {
		log.Warn("the endpoint of the destination is not encrypted: student data can be read on the network", "endpoint", endpoint, "remedy", "use https")
	}
}
