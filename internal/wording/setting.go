package wording

import (
	"fmt"
	"strings"
)

// Setting is the name of a setting in a configuration file. Its text is the flag. Packages below internal spell flags
// only in this way.
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
