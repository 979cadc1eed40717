package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"unicode"

	"example.org/growthexport/internal/extract"
)

// The environment variables of secrets, the only way to give them. Each may
// instead be given as a file, in the variable of that name and fileSuffix.
const (
	apiKeyVariable      = envPrefix + "API_KEY"
	apiSecretVariable   = envPrefix + "API_SECRET"
	accessTokenVariable = envPrefix + "ACCESS_TOKEN"

	fileSuffix = "_FILE"
)

func secretVariables() []string {
	return []string{apiKeyVariable, apiSecretVariable, accessTokenVariable}
}

// secretName tells whether a flag or a key of a file is named like a secret,
// and by which variable that is given.
func secretName(name string) (variable string, ok bool) {
	variable = strings.TrimSuffix(envName(name), fileSuffix)
	return variable, slices.Contains(secretVariables(), variable)
}

// credentials reads the secrets from the environment. Errors name variables and
// files, never what they hold.
func (a *app) credentials() (extract.Credentials, error) {
	var c extract.Credentials
	var err error
	if c.APIKey, _, err = a.secret(apiKeyVariable); err != nil {
		return c, err
	}
	if c.APISecret, _, err = a.secret(apiSecretVariable); err != nil {
		return c, err
	}
	if c.AccessToken, c.AccessTokenFile, err = a.secret(accessTokenVariable); err != nil {
		return c, err
	}
	switch {
	case c.APIKey == "" && c.APISecret == "" && c.AccessToken == "":
		return c, usagef("there are no credentials: set %s and %s, or each with %s and the path of a file, or try --simulate",
			apiKeyVariable, apiSecretVariable, fileSuffix)
	case c.APIKey == "":
		return c, usagef("%s is not set: the service wants the API key with every request (or %s%s)",
			apiKeyVariable, apiKeyVariable, fileSuffix)
	case c.APISecret == "" && c.AccessToken == "":
		return c, usagef("no API secret and no access token: set %s (or %s%s), or %s (or %s%s)",
			apiSecretVariable, apiSecretVariable, fileSuffix, accessTokenVariable, accessTokenVariable, fileSuffix)
	}
	return c, nil
}

// secret reads one secret and, if it is in a file, where that is; empty if it
// is not set.
func (a *app) secret(variable string) (value, file string, err error) {
	value, file = strings.TrimRight(a.env[variable], "\r\n"), a.env[variable+fileSuffix]
	if value != "" && file != "" {
		return "", "", usagef("%s and %s%s are both set: leave one of them out", variable, variable, fileSuffix)
	}
	where := variable
	if file != "" {
		where += fileSuffix
		if file, err = expandHome(file); err != nil {
			return "", "", usagef("%s: %w", where, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return "", "", usagef("%s: read the secret: %w", where, err)
		}
		value = strings.TrimRight(string(data), "\r\n")
		if value == "" {
			return "", "", usagef("%s: file %s is empty", where, quoted(file))
		}
	}
	if err := checkSecret(value); err != nil {
		return "", "", usagef("%s: %w", where, err)
	}
	return value, file, nil
}

// checkSecret refuses what cannot stand in a header.
func checkSecret(value string) error {
	switch {
	case strings.ContainsFunc(value, unicode.IsControl):
		return errors.New("the secret holds a line break or another control character")
	case strings.TrimSpace(value) != value:
		return errors.New("the secret starts or ends with a blank")
	}
	return nil
}
