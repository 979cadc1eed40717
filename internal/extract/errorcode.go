package extract

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// unlistedCode replaces every unknown error code, because such a code could be a student's name or identifier.
const unlistedCode = "unlisted code"

// oauthCodes are the error codes of OAuth 2.0 (RFC 6749, RFC 6750), and the codes of gateways whose responses have the
// observed shape with fault.detail.errorcode.
const oauthCodes = "access_denied insufficient_scope invalid_client invalid_grant invalid_request invalid_scope invalid_token " +
	"server_error temporarily_unavailable unauthorized_client unsupported_grant_type unsupported_response_type " +
	"oauth.v2.FailedToResolveAPIKey oauth.v2.InvalidAccessToken oauth.v2.InvalidApiKey oauth.v2.InvalidApiKeyForGivenResource " +
	"oauth.v2.InvalidClientIdentifier oauth.v2.InvalidToken oauth.v2.MissingAccessToken"

// errorCode returns the error code in a body of one of the observed shapes (fault.detail.errorcode, or flat objects).
// It returns unlistedCode if the code is not known, and "" if there is no code. It takes nothing else from the body,
// because the body may contain anything.
func errorCode(body []byte) string {
	var shape struct {
		Fault struct {
			Detail struct {
				ErrorCode any `json:"errorcode"`
			} `json:"detail"`
		} `json:"fault"`
		ErrorCode any `json:"errorCode"`
		Code      any `json:"code"`
		Error     any `json:"error"`
	}
	_ = json.Unmarshal(body, &shape) // if a member has another type, the other members are still decoded
	found := ""
	for _, code := range []any{shape.Fault.Detail.ErrorCode, shape.ErrorCode, shape.Code, shape.Error} {
		text, isText := code.(string)
		switch {
		case isText && isKnownCode(text):
			return text
		case code != nil && code != "":
			found = unlistedCode
		}
	}
	return found
}

// isKnownCode reports whether a code is in oauthCodes or is HTTP's text for an error status, in any spelling such as
// Not Found, NOT_FOUND or NotFound.
func isKnownCode(code string) bool {
	if slices.Contains(strings.Fields(oauthCodes), code) {
		return true
	}
	words := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(code)
	for status := http.StatusBadRequest; status <= http.StatusNetworkAuthenticationRequired; status++ {
		if strings.EqualFold(words, strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(status))) {
			return words != ""
		}
	}
	return false
}
