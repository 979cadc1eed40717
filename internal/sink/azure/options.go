package azure

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"example.org/growthexport/internal/sink/remote"
)

// Scheme is the start of the URL of a destination on Azure.
const Scheme = "abfss://"

// The environment variables that may contain credentials.
const (
	ConnectionStringVariable = "AZURE_STORAGE_CONNECTION_STRING"
	KeyVariable              = "AZURE_STORAGE_KEY"
	SASTokenVariable         = "AZURE_STORAGE_SAS_TOKEN"
)

// Place is the location of a destination; see ParseURL.
type Place struct {
	Container string
	// Host is the host of the account, such as account.dfs.core.windows.net.
	Host   string
	Prefix string
}

// Options say where the destination is and how to access it. The credentials are the first of ConnectionString, Key and
// SASToken that is not empty. If all are empty, Azure's default chain applies: environment variables, workload
// identity, managed identity and the command-line tools.
type Options struct {
	Place
	remote.Settings

	// Endpoint is the root of the service, such as http://127.0.0.1:10000/devstoreaccount1. If it is empty, it is derived
	// from the connection string or from the account.
	Endpoint         string
	ConnectionString string
	Key              string
	SASToken         string
	// Credential, if set, overrides all other credentials.
	Credential azcore.TokenCredential
}

// ParseURL splits a destination such as abfss://container@account.dfs.core.windows.net/some/prefix. It does not decode
// percent-encoded characters.
func ParseURL(text string) (Place, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return Place{}, fmt.Errorf("the destination does not start with %s", Scheme)
	}
	var p Place
	authority, prefix, _ := strings.Cut(rest, "/")
	p.Container, p.Host, _ = strings.Cut(authority, "@")
	p.Prefix = strings.TrimSuffix(prefix, "/")
	return p, p.check()
}

// String returns the URL of the place in the form that ParseURL parses.
func (p Place) String() string {
	return strings.TrimSuffix(Scheme+p.Container+"@"+p.Host+"/"+p.Prefix, "/")
}

// account returns the name of the storage account.
func (p Place) account() string {
	account, _, _ := strings.Cut(p.Host, ".")
	return account
}

// check validates the place. Its errors do not contain the host, because text that is not a host may be a password.
func (p Place) check() error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	account, service, _ := strings.Cut(p.Host, ".")
	switch {
	case p.Container == "" || account == "" || strings.Trim(p.Host, letters+".-") != "" || !strings.HasPrefix(service, "dfs."):
		return errors.New("the destination has no container and account: use abfss://container@account.dfs.core.windows.net/prefix")
	case strings.Trim(p.Container, letters+"-_.$") != "", len(p.Container) < 3, len(p.Container) > 63:
		return fmt.Errorf("%q is not a valid container name: use 3 to 63 lower-case letters, digits and dashes", p.Container)
	}
	return remote.CheckPrefix(p.Prefix)
}

// access is the endpoint of the service and the credentials for it.
type access struct {
	endpoint string
	key      string
	sas      string
}

// access returns the endpoint and the credentials. If it returns neither a key nor a signature, Credential applies
// or, if that is nil, Azure's default chain. Its errors do not contain any part of a credential.
func (o *Options) access() (access, error) {
	a := access{endpoint: "https://" + strings.Replace(o.Host, ".dfs.", ".blob.", 1)}
	switch {
	case o.Credential != nil:
	case o.ConnectionString != "":
		if err := a.parseConnectionString(o.ConnectionString, o.account()); err != nil {
			return a, fmt.Errorf("%s: %w", ConnectionStringVariable, err)
		}
	case o.Key != "":
		a.key = o.Key
	default:
		a.sas = o.SASToken
	}
	if o.Endpoint != "" {
		a.endpoint = o.Endpoint
	}
	a.endpoint = strings.TrimSuffix(a.endpoint, "/")
	if _, err := remote.ParseEndpoint(a.endpoint); err != nil {
		return a, fmt.Errorf("Azure endpoint: %w", err) //nolint:staticcheck // a name
	}
	a.sas = strings.TrimPrefix(a.sas, "?")
	if values, err := url.ParseQuery(a.sas); a.sas != "" && (err != nil || !values.Has("sig")) {
		return a, fmt.Errorf("%s is not a shared access signature, because it has no sig=: set the whole signature, in quotes because it contains &",
			o.source("SharedAccessSignature", SASTokenVariable))
	}
	if a.key == "" && remote.Plain(a.endpoint) != "" {
		return a, errors.New("the Azure endpoint is not encrypted, so only an account key can be used with it: use https, or set " + KeyVariable)
	}
	return a, nil
}

// source returns the name of the setting that a credential comes from: a member of the connection string or an
// environment variable.
func (o *Options) source(member, variable string) string {
	if o.ConnectionString != "" {
		return member + " in " + ConnectionStringVariable
	}
	return variable
}

// parseConnectionString reads the members of a connection string, which are separated by semicolons.
func (a *access) parseConnectionString(text, account string) error {
	members := make(map[string]string)
	for part := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
			members[strings.ToLower(name)] = value
		}
	}
	a.key, a.sas = members["accountkey"], members["sharedaccesssignature"]
	switch named := members["accountname"]; {
	case a.key == "" && a.sas == "":
		return errors.New("it has neither AccountKey nor SharedAccessSignature: set the whole string, in quotes because it contains semicolons")
	case named != "" && named != account:
		return fmt.Errorf("it belongs to the account %s, but the destination belongs to %s", named, account)
	}
	switch endpoint, suffix := members["blobendpoint"], members["endpointsuffix"]; {
	case endpoint != "":
		a.endpoint = endpoint
	case suffix != "":
		a.endpoint = "https://" + account + ".blob." + suffix
	}
	return nil
}

// check validates the options without sending requests.
func (o *Options) check() error {
	if err := o.CheckLimits(); err != nil {
		return err
	}
	return o.Place.check()
}
