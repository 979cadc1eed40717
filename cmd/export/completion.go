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
)

// completionCommand returns the completion command. It replaces cobra's own command, whose bash script needs the
// package bash-completion.
func (a *app) completionCommand() *cobra.Command {
	shells := []cobra.Completion{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Prints a completion script for bash, zsh or fish",
		Long: "Prints a script that makes a shell complete commands, flags and values. SHELL is bash, zsh or fish." +
			" The package bash-completion is not needed.",
		Example: "  source <(growth-export completion bash)\n" +
			"  growth-export completion zsh > \"${fpath[1]}/_growth-export\"\n" +
			"  growth-export completion fish > ~/.config/fish/completions/growth-export.fish",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usagef("give one shell: %s; see growth-export completion --help", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch root := cmd.Root(); args[0] {
			case "bash":
				err = writeBashCompletion(root, a.stdout)
			case "zsh":
				err = root.GenZshCompletion(a.stdout)
			default:
				err = root.GenFishCompletion(a.stdout, true)
			}
			if err != nil {
				return fmt.Errorf("write the script: %w", err)
			}
			return nil
		},
	}
}

// bashWords defines shell functions that take the place of two bash-completion functions in cobra's script. They are
// needed because bash also splits words at = and :.
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

// writeBashCompletion writes a completion script that needs only bash.
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

// addCompletions registers a completion for each flag whose value is not a file name. Shells complete file names by
// default.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		for _, f := range flagsOf(cmd) {
			if complete := completionOf(f); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists
			}
		}
	}
}

// completionOf returns the completion of a flag's value, or nil if the shell should complete file names.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	words := f.Annotations[wordsAnnotation]
	switch f.Name {
	case "datasets":
		return completeDatasets
	case "modified-since":
		words = []string{pipeline.SinceAuto}
	}
	switch f.Value.Type() {
	case "FILE", "FOLDER", "DEST":
		return nil
	case "PERCENT":
		words = []string{"off", "10%", "20%", "50%", "75%"}
	}
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completeDatasets returns the completions of the last item of a comma-separated list of datasets, without the datasets
// that are already in the list.
func completeDatasets(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	chosen := strings.Split(before, ",")
	var words []cobra.Completion
	for _, name := range append(datasetNames(), "default", "all") {
		if !slices.Contains(chosen, name) {
			words = append(words, before+name)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
