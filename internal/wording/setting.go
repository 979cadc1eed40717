package wording

import (
	"fmt"
	"strings"
)

// Setting is the name of a setting in a configuration file. String returns the flag for the setting. Packages below
// internal write flags only in this way.
type Setting string

func (s Setting) String() string { return "--" + string(s) }

// Command returns a command to run. Its words are settings and their values, which are quoted for a shell if necessary.
func Command(name string, words ...any) string {
	texts := []string{"growth-export", name}
	for _, word := range words {
		texts = append(texts, ShellWord(fmt.Sprint(word)))
	}
	return strings.Join(texts, " ")
}
