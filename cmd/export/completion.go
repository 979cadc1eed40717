package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/schemas"
)

// completionCommand takes the place of cobra's own, whose help is not ours.
func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Prints a completion script for bash, zsh or fish",
		Long: "Prints a script that makes a shell complete commands, flags and values. SHELL is bash, zsh or fish. No other package is" +
			" needed, that of bash-completion neither.",
		Example: "  source <(growth-export completion bash)\n" +
			"  growth-export completion zsh > \"${fpath[1]}/_growth-export\"\n" +
			"  growth-export completion fish > ~/.config/fish/completions/growth-export.fish",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usagef("name one shell: %s; see growth-export completion --help", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			write := map[string]func() error{
				"bash": func() error { return writeBashCompletion(cmd.Root(), a.stdout) },
				"zsh":  func() error { return cmd.Root().GenZshCompletion(a.stdout) },
				"fish": func() error { return cmd.Root().GenFishCompletion(a.stdout, true) },
			}
			if err := write[args[0]](); err != nil {
				return fmt.Errorf("write the script: %w", err)
			}
			return nil
		},
	}
}

// bashWords replaces two functions of the package bash-completion, without which
// the script of cobra does not work. Bash itself splits words at = and :, too.
const bashWords = `
__growth-export_words()
{
    local line="${COMP_LINE:0:COMP_POINT}"
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur="${words[cword]}"
    prev="${words[cword - 1]}"
}

__growth-export_after_colon()
{
    [[ $1 == *:* && $COMP_WORDBREAKS == *:* ]] || return 0
    local before="${1%"${1##*:}"}" i
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]="${COMPREPLY[i]#"$before"}"
    done
}
`

// writeBashCompletion writes a script that needs bash alone.
func writeBashCompletion(root *cobra.Command, w io.Writer) error {
	var b bytes.Buffer
	if err := root.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	script := strings.NewReplacer(
		`_get_comp_words_by_ref "$@" cur prev words cword`, "__growth-export_words",
		`__ltrim_colon_completions`, "__growth-export_after_colon",
	).Replace(b.String())
	_, err := io.WriteString(w, script+bashWords)
	return err
}

// addCompletions tells shells what the flags of all commands take: some words,
// file names, or what nobody can know.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if complete := completionOf(f); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag is there
			}
		})
	}
}

// completionOf returns what completes a flag's value; nil for file names.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	if words := f.Annotations[wordsAnnotation]; len(words) > 0 {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch f.Name {
	case "datasets":
		return completeDatasets
	case "config", "dest", "scratch", "to":
		return nil
	case "max-shrink":
		return cobra.FixedCompletions([]string{"off", "20%"}, cobra.ShellCompDirectiveNoFileComp)
	case "modified-since":
		return cobra.FixedCompletions([]string{pipeline.SinceAuto}, cobra.ShellCompDirectiveNoFileComp)
	}
	return cobra.NoFileCompletions
}

// completeDatasets completes the last of a comma list of datasets.
func completeDatasets(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	given := strings.Split(before, ",")
	var all []string
	for _, d := range schemas.Datasets() {
		all = append(all, d.Name)
	}
	var words []cobra.Completion
	for _, name := range append(all, "default", "all") {
		if !slices.Contains(given, name) {
			words = append(words, before+name)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
