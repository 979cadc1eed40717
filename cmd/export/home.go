package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// expandHome returns a path in which a leading ~ is replaced with the home folder. Shells do not expand it in
// configuration files, in --dest=~/data or in quoted words. A path that begins with a variable, such as $HOME, or with
// the home folder of another user, such as ~user, is an error.
func expandHome(path string) (string, error) {
	first, rest, _ := strings.Cut(path, "/")
	switch {
	case isVariable(first):
		return "", fmt.Errorf("%s: environment variables are not expanded here: write the whole path, or ~/... for your home folder, or ./%s for a name that begins with $",
			quoted(path), first)
	case !strings.HasPrefix(first, "~"):
		return path, nil
	case first != "~":
		return "", fmt.Errorf("%s: only ~ and ~/... are expanded, not another user's home folder: write the whole path, or ./%s for a name that begins with ~",
			quoted(path), first)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%s: the home folder is unknown: set HOME, or write the whole path", quoted(path))
	}
	return filepath.Join(home, rest), nil
}

// isVariable reports whether a name begins with a variable that a shell would expand.
func isVariable(name string) bool {
	next, found := strings.CutPrefix(name, "$")
	return found && next != "" && strings.ContainsAny(strings.ToLower(next[:1]), "{_abcdefghijklmnopqrstuvwxyz")
}

// parsePath returns the path of a file, with a leading ~ expanded. An empty path is an error.
func parsePath(text string) (string, error) {
	if text == "" {
		return "", errors.New("the value is empty")
	}
	return expandHome(text)
}
