package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// readConfig reads a configuration file: a YAML mapping of flags' names to
// values. Known are the names of every command's flags.
func readConfig(path string, known []string) (map[string]*yaml.Node, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	decoder := yaml.NewDecoder(file)
	var document, more yaml.Node
	err = decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil // nothing but remarks
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s holds more than one YAML document, or its end is no YAML", path)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s line %d: write settings as name: value, one a line", path, root.Line)
	}
	return configEntries(path, root, known)
}

func configEntries(path string, mapping *yaml.Node, known []string) (map[string]*yaml.Node, error) {
	entries := make(map[string]*yaml.Node)
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		name := key.Value
		variable, secret := secretName(name)
		var problem string
		switch {
		case secret:
			problem = fmt.Sprintf("%s: secrets are not taken from the configuration file: set %s, or %s%s to the path of a file",
				name, variable, variable, fileSuffix)
		case key.Kind != yaml.ScalarNode:
			problem = "a name of a setting is text"
		case name == "config":
			problem = "config cannot be set in the configuration file itself"
		case !slices.Contains(known, name):
			problem = fmt.Sprintf("unknown setting %s%s", quoted(name), didYouMean("", name, known))
		case entries[name] != nil:
			problem = fmt.Sprintf("%s was set in line %d already", name, entries[name].Line)
		}
		if problem != "" {
			return nil, fmt.Errorf("%s line %d: %s", path, key.Line, problem)
		}
		entries[name] = value
	}
	return entries, nil
}

// setFromYAML sets a flag to a value of the file. Scalars are read as the flag
// reads them, whatever quotes they have; only lists may be lists, whose items
// are taken whole, and only what is switched on or off may be true or false.
func setFromYAML(f *pflag.Flag, value *yaml.Node) error {
	isBool := f.NoOptDefVal == "true"
	tag := value.ShortTag()
	switch {
	case value.Kind == yaml.SequenceNode:
		l, ok := f.Value.(*list)
		if !ok {
			return errors.New("a single value is wanted, not a list")
		}
		items := make([]string, len(value.Content))
		for i, item := range value.Content {
			if item.Kind != yaml.ScalarNode || item.Value == "" || item.ShortTag() == "!!null" {
				return fmt.Errorf("item %d of the list is no text", i+1)
			}
			items[i] = item.Value
		}
		if len(items) == 0 {
			return errors.New("the list is empty: leave it out for the default")
		}
		return l.add(items)
	case value.Kind != yaml.ScalarNode:
		return errors.New("a single value is wanted, not a mapping")
	case tag == "!!null":
		return errors.New("the value is missing")
	case isBool && tag != "!!bool":
		return fmt.Errorf("%s is neither true nor false", quoted(value.Value))
	case !isBool && tag == "!!bool":
		return fmt.Errorf("true and false make no sense here: a value of the kind %s is wanted", f.Value.Type())
	default:
		return f.Value.Set(value.Value)
	}
}
