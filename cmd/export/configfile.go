package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// readConfig reads a configuration file, which is a YAML mapping of flag names to values. known holds the names of the
// flags of all commands. readConfig returns the settings with known names, and a mistake for each other entry and each
// repeated name. If the file cannot be read, that is the only mistake.
func readConfig(path string, known []string) (map[string]*yaml.Node, []error) {
	root, err := readMapping(path)
	if err != nil {
		return nil, []error{err}
	}
	entries := make(map[string]*yaml.Node)
	var mistakes []error
	for i := 0; root != nil && i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if err := checkKey(key, entries, known); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s line %d: %w", path, key.Line, err))
		} else {
			entries[key.Value] = value
		}
	}
	return entries, mistakes
}

// readMapping reads a file that contains one YAML mapping. It returns nil if the file is empty, or contains only
// comments or null.
func readMapping(path string) (*yaml.Node, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	err = decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil // empty, or comments only
	}
	if line := lineWithTab(data); err != nil && line > 0 {
		return nil, fmt.Errorf("%s line %d: a tab comes before the text, which YAML does not allow: use spaces", path, line)
	}
	if err != nil && strings.Contains(err.Error(), "did not find expected key") {
		// The library reports the line on which the mapping that contains the mistake begins.
		return nil, fmt.Errorf("read %s: at or after %s: look for a line that is not indented like the others", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s contains more than one YAML document, or its end is not YAML", path)
	}
	root := document.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s line %d: write settings as name: value, one per line", path, root.Line)
	}
	return root, nil
}

// lineWithTab returns the number of the first line that has a tab before its text, or 0 if there is no such line. It
// ignores blank lines and comments.
func lineWithTab(data []byte) int {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := bytes.TrimLeft(line, " \t-")
		before := line[:len(line)-len(text)]
		if bytes.ContainsRune(before, '\t') && len(bytes.TrimSpace(text)) > 0 && text[0] != '#' {
			return number
		}
	}
	return 0
}

func checkKey(key *yaml.Node, entries map[string]*yaml.Node, known []string) error {
	name := key.Value
	variable, secret := secretName(name)
	switch {
	case secret:
		return fmt.Errorf("%s: secrets cannot be set in the configuration file: set %s, or %s%s to the path of a file",
			name, variable, variable, fileSuffix)
	case key.Kind != yaml.ScalarNode:
		return errors.New("the name of a setting must be a word")
	case name == "config":
		return errors.New("config cannot be set in the configuration file itself")
	case !slices.Contains(known, name):
		return fmt.Errorf("unknown setting %s%s", quoted(name), didYouMean("", name, known))
	case entries[name] != nil:
		return fmt.Errorf("%s is already set on line %d", name, entries[name].Line)
	}
	return nil
}

// setFromYAML sets a flag to a value of the file. A scalar, quoted or not, is parsed like the text of a flag. However,
// a switch takes only true or false, without quotes, and other flags do not take these words without quotes. Only list
// flags accept a list, and its items are not split at commas. Mappings and missing values are errors.
func setFromYAML(f *pflag.Flag, value *yaml.Node) error {
	isSwitch := f.NoOptDefVal == "true"
	tag := value.ShortTag()
	switch {
	case value.Kind == yaml.SequenceNode:
		l, ok := f.Value.(*list)
		if !ok {
			return errors.New("expected a single value, not a list")
		}
		var items []string
		for i, item := range value.Content {
			if item.Kind != yaml.ScalarNode || item.Value == "" || item.ShortTag() == "!!null" {
				return fmt.Errorf("item %d of the list is not text", i+1)
			}
			items = append(items, item.Value)
		}
		return l.add(items)
	case value.Kind != yaml.ScalarNode:
		return errors.New("expected a single value, not a mapping")
	case tag == "!!null":
		return errors.New("the value is missing")
	case isSwitch && (value.Value == "true" || value.Value == "false") && tag != "!!bool":
		return fmt.Errorf("%s is a string: write %s without quotes", quoted(value.Value), value.Value)
	case isSwitch && tag != "!!bool":
		return fmt.Errorf("%s is neither true nor false: write true or false", quoted(value.Value))
	case !isSwitch && tag == "!!bool":
		return fmt.Errorf("true and false are not valid here: expected %s", f.Value.Type())
	default:
		return f.Value.Set(value.Value)
	}
}
