package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"example.org/growthexport/internal/sink/remote"
)

const (
	// scope allows reading and writing objects.
	scope = "https://www.googleapis.com/auth/devstorage.read_write"
	// tokenTimeout is the maximum time for one request for a token.
	tokenTimeout = 30 * time.Second
)

// tokens provides access tokens from Google's Application Default Credentials: the file in
// GOOGLE_APPLICATION_CREDENTIALS, the login of gcloud, or the metadata server of a machine, pod or job.
type tokens struct {
	find func() (oauth2.TokenSource, error)

	mu     sync.Mutex
	source oauth2.TokenSource // nil until it is found
}

// newTokens returns a source of tokens that looks for credentials when the first token is needed. The context applies
// to all requests for tokens.
func newTokens(ctx context.Context, client *http.Client) *tokens {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: client.Transport, Timeout: tokenTimeout})
	return &tokens{find: func() (oauth2.TokenSource, error) {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, err
		}
		return found.TokenSource, nil
	}}
}

// authorize adds an access token to a request.
func (t *tokens) authorize(req *http.Request) error {
	source, err := t.found()
	if err != nil {
		return err
	}
	token, err := source.Token()
	if err != nil {
		return explainToken(err)
	}
	token.SetAuthHeader(req)
	return nil
}

func (t *tokens) found() (oauth2.TokenSource, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.source != nil {
		return t.source, nil
	}
	source, err := t.find()
	if err != nil {
		text := "no usable Google credentials: set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, " +
			"run gcloud auth application-default login, or run under a service account"
		if reason := err.Error(); !strings.Contains(reason, "could not find default credentials") {
			text += " (" + remote.Shorten(reason) + ")"
		}
		return nil, &credentialError{text: text, cause: err}
	}
	t.source = source
	return source, nil
}

// renew discards the source with its cached token, so that the next request gets a new token.
func (t *tokens) renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source = nil
}

// credentialError reports that no access token is available.
type credentialError struct {
	text      string
	cause     error
	temporary bool // a later attempt may succeed
}

func (e *credentialError) Error() string { return e.text }
func (e *credentialError) Unwrap() error { return e.cause }

// explainToken converts the error of a failed token request. The text contains at most the code and description of the
// response, because the rest may repeat parts of the request.
func explainToken(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return &credentialError{text: "cannot get an access token: " + remote.Shorten(withoutURL(err).Error()), cause: err, temporary: true}
	}
	status := 0
	if refused.Response != nil {
		status = refused.Response.StatusCode
	}
	if retryableStatus(status) {
		return &credentialError{text: "cannot get an access token: " + statusText(status), cause: err, temporary: true}
	}
	answer := struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}{refused.ErrorCode, refused.ErrorDescription}
	if answer.Code == "" { // The library does not decode error responses to service accounts.
		_ = json.Unmarshal(refused.Body, &answer) // If this fails, the status is reported instead.
	}
	text := answer.Code
	switch {
	case text == "":
		text = statusText(status)
	case answer.Description != "":
		text += ": " + answer.Description
	}
	return &credentialError{
		text: "credentials rejected (" + remote.Shorten(text) + "): renew the service account's key, " +
			"run gcloud auth application-default login again, or set this machine's clock", cause: err,
	}
}
