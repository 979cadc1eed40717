package simulator

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// authPath is the path of the token endpoint (specification, "Authentication").
const authPath = "/auth/v1/token"

// tokens holds the issued tokens. Several of them may be valid at once. The server's lock guards it.
type tokens struct {
	seed   uint64
	given  int
	expiry map[string]time.Time
}

// issue returns a new token of 28 characters, the length that was observed.
func (t *tokens) issue(now time.Time, lifetime time.Duration) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	t.given++
	d := Rand{Hash(t.seed, t.given)}
	token := make([]byte, 28)
	for i := range token {
		token[i] = alphabet[d.Below(len(alphabet))]
	}
	for old, expiry := range t.expiry {
		if !now.Before(expiry) {
			delete(t.expiry, old)
		}
	}
	t.expiry[string(token)] = now.Add(lifetime)
	return string(token)
}

func (t *tokens) alive(token string, now time.Time) bool {
	expiry, given := t.expiry[token]
	return given && now.Before(expiry)
}

// checkTokenRequest returns a refusal unless a request has the form that public clients use: key and secret with Basic
// authentication, the key also in the header apikey, and the grant type in a header or a form. A body is optional.
func (s *Server) checkTokenRequest(r *http.Request, body []byte) *refusal {
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "the token endpoint expects POST")
	}
	key, secret, basic := r.BasicAuth()
	if !basic || key != s.options.Key || secret != s.options.Secret {
		return refuse(http.StatusUnauthorized, "invalid client identifier")
	}
	if r.Header.Get("apikey") != s.options.Key {
		return refuse(http.StatusUnauthorized, "invalid API key")
	}
	if r.URL.RawQuery != "" {
		return refuse(http.StatusBadRequest, "the token endpoint has no query parameters")
	}
	grant := r.Header.Get("grant_type")
	if form, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && form == "application/x-www-form-urlencoded" {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return refuse(http.StatusBadRequest, "the form cannot be read")
		}
		if grant == "" {
			grant = values.Get("grant_type")
		}
	}
	if grant != "client_credentials" {
		return refuse(http.StatusBadRequest, "unsupported grant type")
	}
	return nil
}

// appendToken appends the answer of the token endpoint. As observed, every scalar is text, and the token type differs
// from the scheme that clients must use.
func (s *Server) appendToken(dst []byte, now time.Time) []byte {
	s.mu.Lock()
	token := s.tokens.issue(now, s.options.TokenLifetime)
	s.mu.Unlock()
	expires := max(int64(s.options.TokenLifetime/time.Second)-1, 0)
	return append(dst, `{"issued_at":"`+strconv.FormatInt(now.UnixMilli(), 10)+
		`","application_name":"growth","scope":"","status":"approved","refresh_count":"0","expires_in":"`+strconv.FormatInt(expires, 10)+
		`","token_type":"BearerToken","access_token":"`+token+`"}`...)
}

// checkHeaders returns a refusal unless a request has the key and a valid token, which every operation requires.
func (s *Server) checkHeaders(r *http.Request, now time.Time) *refusal {
	if r.Header.Get("apikey") != s.options.Key {
		return refuse(http.StatusUnauthorized, "missing or invalid API key")
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return refuse(http.StatusUnauthorized, "the scheme must be Bearer")
	}
	s.mu.Lock()
	alive := s.tokens.alive(token, now)
	s.mu.Unlock()
	if !alive {
		return refuse(http.StatusUnauthorized, "expired or invalid access token")
	}
	return nil
}
