package azure

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/wording"
)

// errFolder reports that the object at a path is a folder, not a blob.
var errFolder = errors.New("it is a folder")

// failed adds the operation and the blob to an error and describes it in one line, unless it has already been
// described.
func (s *Store) failed(verb, path string, err error) error {
	if _, done := errors.AsType[*remote.DescribedError](err); done {
		return err
	}
	return fmt.Errorf("%s %s/%s: %w", verb, s, path, s.describe(err))
}

// describe returns an error of the SDK as one line that says what happened and what to do, without request ids, URLs
// and signatures. errors.Is and errors.As still find the cause. It returns other errors unchanged.
func (s *Store) describe(err error) error {
	_, response := errors.AsType[*azcore.ResponseError](err)
	_, unsent := errors.AsType[*transportError](err)
	_, unsigned := errors.AsType[*credentialError](err)
	if !response && !unsent && !unsigned {
		return err
	}
	for _, canceled := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, canceled) {
			return canceled
		}
	}
	text := remote.Shorten(reason(err))
	if what, step := s.explain(err); what != "" {
		if s.endpoint != "" {
			what += " at " + s.endpoint
		}
		text = fmt.Sprintf("%s (%s): %s", what, text, step)
	}
	return &remote.DescribedError{Text: text, Cause: err, Status: statusOf(err)}
}

// explain returns the cause of an error and the remedy. Both are "" if there is no advice.
func (s *Store) explain(err error) (what, step string) {
	code, status, detail := bloberror.Code(codeOf(err)), statusOf(err), answerOf(err).Detail
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noHost := errors.AsType[*net.DNSError](err)
	_, unsent := errors.AsType[*transportError](err)
	const dest, endpoint = wording.Setting("dest"), wording.Setting("azure-endpoint")
	const variables = ConnectionStringVariable + ", " + KeyVariable + " or " + SASTokenVariable
	const application = "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET" // the variables that the SDK reads
	where := "check the account in " + dest.String() + " and the network"
	if s.endpoint != "" {
		where = "check " + endpoint.String() + " and the network"
	}
	if _, ok := errors.AsType[*credentialError](err); ok {
		give := "set " + variables + " in the environment, or " + application + " of an application"
		if missing := missingOf(err); missing != "" {
			give = "AZURE_TENANT_ID is set, so set " + missing + " too, or set " + variables
		}
		switch {
		case fromMachine(err):
			return "this machine has no Azure identity that the process may use",
				give + ", or assign a managed identity to the machine and let the process reach its metadata service"
		case signInOf(err) != "":
			return "sign-in to Azure failed", "check " + application + ", or the federated credential of the identity"
		}
		return "no Azure credentials found", give + ", run under a workload or managed identity, or sign in with az login"
	}
	switch {
	case code == bloberror.ContainerNotFound:
		return "container " + s.opts.Container + " not found", "check " + dest.String() + ", or create the container"
	case code == bloberror.AuthenticationFailed && strings.Contains(detail, "time frame"):
		return "credentials expired", "renew them"
	case code == bloberror.AuthenticationFailed && strings.Contains(detail, "date header"):
		return "clock skew", "set this machine's clock"
	case code == bloberror.AuthenticationFailed, code == bloberror.InvalidAuthenticationInfo,
		strings.HasPrefix(answerOf(err).Message, "Server failed to authenticate"), // Azurite uses a different code
		status == http.StatusUnauthorized:
		return "credentials rejected", "check " + variables + ", whether they have expired, and the account"
	case code == bloberror.AccountIsDisabled:
		return "account " + s.opts.account() + " is disabled", "enable it"
	case code == "KeyBasedAuthenticationNotPermitted":
		return "the account accepts no keys", "use an identity, or a signature that an identity has made"
	case code == bloberror.AuthorizationFailure:
		return "access denied", "allow this machine in the network rules of the account, and give " + roles
	case status == http.StatusForbidden:
		return "access denied", "give " + roles
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return "throttled by the store", "run fewer processes at once, or try again later"
	case untrusted:
		return "certificate not trusted", "set SSL_CERT_FILE to a file with the certificates to trust"
	case noHost:
		return "host not found", where
	case unsent:
		return "connection failed", where
	}
	return "", ""
}

// reason returns an error in the words of the service or of the system.
func reason(err error) string {
	unsent, isUnsent := errors.AsType[*transportError](err)
	credential, isCredential := errors.AsType[*credentialError](err)
	code, status, answer := codeOf(err), statusOf(err), answerOf(err)
	message, _, _ := strings.Cut(strings.TrimSpace(answer.Message), "\n")
	switch {
	case isCredential:
		return cmp.Or(signInOf(err), strings.TrimPrefix(credential.cause.Error(), chainFailed))
	case isUnsent && errors.Is(unsent.cause, io.EOF):
		return "the store closed the connection"
	case isUnsent:
		return unsent.cause.Error()
	case code != "" && message != "":
		return code + ": " + message
	case code != "":
		return fmt.Sprintf("%s (status %d)", code, status)
	}
	return fmt.Sprintf("the store answered %d %s", status, http.StatusText(status))
}

// chainFailed is the start of the error of Azure's default chain. The errors of the members of the chain follow it.
const chainFailed = "DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:"

// answer is the body of an error response.
type answer struct {
	Message string `xml:"Message"`
	Detail  string `xml:"AuthenticationErrorDetail"`
}

// answerOf returns the body of the response that caused an error. Fields that cannot be decoded are empty.
func answerOf(err error) (a answer) {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok && e.RawResponse != nil {
		if body, err := runtime.Payload(e.RawResponse); err == nil {
			_ = xml.Unmarshal(body, &a) // The response may come from a proxy and contain anything.
		}
	}
	return a
}

// signInOf returns the reason why Azure or the machine's metadata service did not issue a token, in Azure's own words
// if the response contains them. It returns "" if there was no response.
func signInOf(err error) string {
	e, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	if !ok || e.RawResponse == nil {
		return ""
	}
	var answer struct {
		Description string `json:"error_description"`
	}
	if body, err := runtime.Payload(e.RawResponse); err == nil {
		_ = json.Unmarshal(body, &answer) // The response may come from a proxy and contain anything.
	}
	if fromMachine(err) {
		return "the metadata service answered " + e.RawResponse.Status
	}
	description, _, _ := strings.Cut(answer.Description, "Trace ID")
	return cmp.Or(strings.TrimSpace(description), "the status is "+e.RawResponse.Status)
}

// missingOf returns the variable that is missing although other variables of an application are set, or "" if no
// variable is missing. It recognizes the messages of the SDK.
func missingOf(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "missing environment variable AZURE_CLIENT_ID"):
		return "AZURE_CLIENT_ID"
	case strings.Contains(text, "Only AZURE_TENANT_ID and AZURE_CLIENT_ID are set"):
		return "AZURE_CLIENT_SECRET"
	}
	return ""
}

// fromMachine reports whether the machine's metadata service, rather than Azure's sign-in, did not issue a token. Only
// requests to the metadata service use GET.
func fromMachine(err error) bool {
	e, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	return ok && e.RawResponse != nil && e.RawResponse.Request != nil && e.RawResponse.Request.Method == http.MethodGet
}

// statusOf returns the HTTP status of the response that caused an error, or 0 if there was no response.
func statusOf(err error) int {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return e.StatusCode
	}
	return 0
}

// codeOf returns the service's code for an error, or "" if there is no code.
func codeOf(err error) string {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return e.ErrorCode
	}
	return ""
}

// answered reports whether an error is a response that shows that the request was not carried out.
func answered(err error) bool {
	status := statusOf(err)
	return status >= 400 && status < 500
}

// denied reports whether an error means that the credentials are valid but do not allow the request.
func denied(err error) bool {
	return bloberror.HasCode(err, bloberror.AuthorizationPermissionMismatch, bloberror.InsufficientAccountPermissions)
}

// noBlob reports whether an error says that there is no blob at the path. It returns false if the container is missing.
func noBlob(err error) bool {
	return errors.Is(err, errFolder) || statusOf(err) == http.StatusNotFound && codeOf(err) != string(bloberror.ContainerNotFound)
}

// conditionFailed reports whether an error says that the condition of a request does not hold.
func conditionFailed(err error) bool {
	return statusOf(err) == http.StatusPreconditionFailed || bloberror.HasCode(err, bloberror.BlobAlreadyExists)
}
