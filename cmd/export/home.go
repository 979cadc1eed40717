package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// expandHome replaces a leading ~ by the home folder. Shells do not expand it in configuration files, in --dest=~/data
// or in quoted words.
func expandHome(path string) (string, error) {
	first, rest, _ := strings.Cut(path, "/")
	switch {
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

// parsePath parses the path of a file.
func parsePath(text string) (string, error) {
	if text == "" {
		return "", errors.New("the value is empty")
	}
	return expandHome(text)
}
