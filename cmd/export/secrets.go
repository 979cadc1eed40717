package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/schemas"
)

// The environment variables of the service's secrets and of the privacy key. Flags and the configuration file cannot
// set secrets. A variable with fileSuffix added to its name holds the path of a file that contains the secret.
const (
	apiKeyVariable      = envPrefix + "API_KEY"
	apiSecretVariable   = envPrefix + "API_SECRET"
	accessTokenVariable = envPrefix + "ACCESS_TOKEN"
	privacyKeyVariable  = envPrefix + "PRIVACY_KEY"

	fileSuffix = "_FILE"
)

func secretVariables() []string {
	return []string{apiKeyVariable, apiSecretVariable, accessTokenVariable, privacyKeyVariable}
}

// secretName reports whether a flag or a configuration key is named after a secret, and returns the secret's variable.
func secretName(name string) (variable string, ok bool) {
	variable = strings.TrimSuffix(envName(name), fileSuffix)
	return variable, slices.Contains(secretVariables(), variable)
}

// credentials reads the service's secrets from the environment or from files named there. It returns a usage error if
// they are incomplete or not valid. Errors contain the names of variables and files, but never their contents.
func (a *app) credentials() (extract.Credentials, error) {
	apiKey, _, keyErr := a.credential(apiKeyVariable)
	apiSecret, _, secretErr := a.credential(apiSecretVariable)
	token, tokenFile, tokenErr := a.credential(accessTokenVariable)
	for _, err := range []error{keyErr, secretErr, tokenErr} {
		if err != nil {
			return extract.Credentials{}, err
		}
	}
	var err error
	switch {
	case apiKey == "" && apiSecret == "" && token == "":
		err = usagef("no credentials: set %s and %s (or %s%s and %s%s to the paths of files), or try --simulate",
			apiKeyVariable, apiSecretVariable, apiKeyVariable, fileSuffix, apiSecretVariable, fileSuffix)
	case apiKey == "":
		err = usagef("%s is not set: the service requires the API key in every request (or set %s%s)",
			apiKeyVariable, apiKeyVariable, fileSuffix)
	case apiSecret == "" && token == "":
		err = usagef("no API secret and no access token: set %s (or %s%s), or %s (or %s%s)",
			apiSecretVariable, apiSecretVariable, fileSuffix, accessTokenVariable, accessTokenVariable, fileSuffix)
	}
	return extract.Credentials{APIKey: apiKey, APISecret: apiSecret, AccessToken: token, AccessTokenFile: tokenFile}, err
}

// privacyKey returns the key for pseudonyms, or nil if it is not set.
func (a *app) privacyKey() (*privacy.Key, error) {
	text, file, err := a.secret(privacyKeyVariable)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errEmptyFile):
		return nil, withKeyAdvice(err)
	case text == "" || err != nil:
		return nil, err
	}
	key, err := privacy.ParseKey(text)
	if err != nil {
		return nil, badPrivacyKey(variableOf(privacyKeyVariable, file), err)
	}
	return key, nil
}

// keyOf returns the privacy key. If the key is not set, keyOf returns nil or, if the profile needs the key, a usage
// error. The key is used for pseudonyms and, with every profile, for the suppression list.
func (a *app) keyOf(profile schemas.Profile) (*privacy.Key, error) {
	key, err := a.privacyKey()
	if key == nil && err == nil && profile.NeedsKey() {
		err = badPrivacyKey(privacyKeyVariable, fmt.Errorf("not set, and --privacy %s needs it", profile))
	}
	return key, err
}

// readableKeyFile returns the path of the privacy key file if the permissions of the file and of the folders above it
// allow every user to read it, and "" otherwise. On Windows, in Kubernetes and for files in /run/secrets, it always
// returns "", because the platform sets the permissions there.
func (a *app) readableKeyFile() string {
	file, err := expandHome(a.env[privacyKeyVariable+fileSuffix])
	if file == "" || err != nil || runtime.GOOS == "windows" || a.env["KUBERNETES_SERVICE_HOST"] != "" || strings.HasPrefix(file, "/run/secrets/") {
		return ""
	}
	if info, err := os.Stat(file); err != nil || info.Mode()&0o004 == 0 {
		return ""
	}
	folder, err := filepath.Abs(file)
	for err == nil && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder)
		if info, err := os.Stat(folder); err != nil || info.Mode()&0o001 == 0 {
			return "" // other users cannot reach the file
		}
	}
	return file
}

func badPrivacyKey(variable string, err error) error {
	return withKeyAdvice(fmt.Errorf("%s: %w", variable, err))
}

// withKeyAdvice returns a usage error with the text of err that also says how to make a privacy key.
func withKeyAdvice(err error) error {
	return usagef("%w; a key has at least %d bytes in hexadecimal or base64: make one with openssl rand -hex 32, keep it in a file, "+
		"and set %s%s to its path", err, privacy.MinKeyBytes, privacyKeyVariable, fileSuffix)
}

var errEmptyFile = errors.New("the file is empty")

// secret returns a secret and, if it was read from a file, the path of the file. Both are empty if the secret is not
// set.
func (a *app) secret(variable string) (value, file string, err error) {
	value, file = strings.TrimRight(a.env[variable], "\r\n"), a.env[variable+fileSuffix]
	if value != "" && file != "" {
		return "", "", usagef("%s and %s%s are both set: remove one of them", variable, variable, fileSuffix)
	}
	if file != "" {
		variable += fileSuffix
		if file, err = expandHome(file); err != nil {
			return "", "", usagef("%s: %w", variable, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return "", "", usagef("%s: read the secret: %w", variable, err)
		}
		value = strings.TrimRight(strings.TrimPrefix(string(data), "\ufeff"), "\r\n") // some editors write a byte order mark
		if value == "" {
			return "", "", usagef("%s: read %s: %w", variable, quoted(file), errEmptyFile)
		}
	}
	return value, file, nil
}

// credential reads a secret that is sent in a header. It returns a usage error if the secret is not valid in a header.
func (a *app) credential(variable string) (value, file string, err error) {
	if value, file, err = a.secret(variable); err != nil {
		return "", "", err
	}
	if err := checkSecret(value); err != nil {
		return "", "", usagef("%s: %w", variableOf(variable, file), err)
	}
	return value, file, nil
}

// variableOf returns the name of the variable from which a secret was read: variable or, if file is not empty, variable
// with fileSuffix added.
func variableOf(variable, file string) string {
	if file != "" {
		return variable + fileSuffix
	}
	return variable
}

// checkSecret returns an error if a secret contains control characters, or begins or ends with whitespace, because it
// would then not be valid in a header.
func checkSecret(value string) error {
	switch {
	case strings.ContainsFunc(value, unicode.IsControl):
		return errors.New("the secret contains a line break or another control character")
	case strings.TrimSpace(value) != value:
		return errors.New("the secret starts or ends with whitespace")
	}
	return nil
}
