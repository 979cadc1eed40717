package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// manualPages returns a manual page for each command, made from its help, and one for growth-export itself.
func (r *release) manualPages(ctx context.Context, host string) ([]file, error) {
	root, err := r.run(ctx, nil, host, "--help")
	if err != nil {
		return nil, err
	}
	main := parseHelp(root)
	readme, err := os.ReadFile(filepath.Join(r.source, "README.md"))
	if err != nil {
		return nil, fmt.Errorf("read the exit codes: %w", err)
	}
	codes := exitCode.FindAllSubmatch(readme, -1)
	if len(main.options) < 10 || len(codes) < 5 {
		return nil, errors.New("the help or the exit codes in the README are not in the expected form")
	}
	page := r.startPage("growth-export", "takes snapshots of a student assessment service as Parquet", main)
	page.WriteString(".SH COMMANDS\n")
	pages := []file{}
	for _, command := range main.options {
		help, err := r.run(ctx, nil, host, command.name, "--help")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(page, ".TP\n\\fBgrowth\\-export\\-%s\\fR(1)\n%s\n", roff(command.name), roff(command.text))
		pages = append(pages, file{"man/growth-export-" + command.name + ".1", r.commandPage(command, parseHelp(help)), 0o644})
	}
	page.WriteString(".SH EXIT STATUS\n")
	for _, code := range codes {
		fmt.Fprintf(page, ".TP\n%s\n%s\n", code[1], roff(strings.ReplaceAll(string(code[2]), "`", "")))
	}
	return append(pages, file{"man/growth-export.1", page.Bytes(), 0o644}), nil
}

// exitCode matches a row of the table of exit codes.
var exitCode = regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([^|]+) \|`)

// startPage returns a manual page with its first sections, up to the description.
func (r *release) startPage(name, short string, h help) *bytes.Buffer {
	page := &bytes.Buffer{}
	fmt.Fprintf(page, ".TH %s 1 %q %q\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), r.time.Format("2006-01-02"), "growth-export "+r.version, roff(name), roff(short))
	fmt.Fprintf(page, ".SH SYNOPSIS\n\\fB%s\\fR\n.SH DESCRIPTION\n%s\n", roff(h.usage), roff(h.intro))
	return page
}

func (r *release) commandPage(command option, h help) []byte {
	short := strings.ToLower(command.text[:1]) + command.text[1:]
	page := r.startPage("growth-export-"+command.name, short, h)
	section := ""
	for _, o := range h.options {
		if section == "" {
			page.WriteString(".SH OPTIONS\n")
		}
		if o.section != section {
			section = o.section
			fmt.Fprintf(page, ".SS %s\n", roff(section))
		}
		fmt.Fprintf(page, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff(o.name), roff(o.value), roff(o.text))
	}
	if len(h.examples) > 0 {
		page.WriteString(".SH EXAMPLES\n.nf\n")
		for _, line := range h.examples {
			page.WriteString(roff(line) + "\n")
		}
		page.WriteString(".fi\n")
	}
	if h.notes != "" {
		fmt.Fprintf(page, ".SH NOTES\n%s\n", roff(h.notes))
	}
	page.WriteString(".SH SEE ALSO\n\\fBgrowth\\-export\\fR(1)\n")
	return page.Bytes()
}

// help is the parsed help of a command, or of growth-export itself, for which options lists the commands.
type help struct {
	intro, usage, notes string
	examples            []string
	options             []option
}

type option struct{ section, name, value, text string }

// optionLine matches the first line of an option, which begins with two spaces. The text of the option follows after
// two more spaces, or on the next lines.
var optionLine = regexp.MustCompile(`^  (\S+)(?: (\S+))?(?:  +(.*))?$`)

// parseHelp parses the text of --help.
func parseHelp(text []byte) help {
	var h help
	section := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		match := optionLine.FindStringSubmatch(line)
		title, isTitle := strings.CutSuffix(line, ":")
		usage, isUsage := strings.CutPrefix(line, "Usage: ")
		switch {
		case isUsage:
			h.usage = usage
		case isTitle && !strings.HasPrefix(line, " "):
			section = title
		case line == "":
			section = ""
		case section == "Examples":
			h.examples = append(h.examples, line)
		case section != "" && match != nil:
			h.options = append(h.options, option{section, match[1], match[2], match[3]})
		case section != "" && len(h.options) > 0:
			last := &h.options[len(h.options)-1]
			last.text = strings.TrimSpace(last.text + " " + strings.TrimSpace(line))
		case h.usage == "":
			h.intro = strings.TrimSpace(h.intro + " " + line)
		default:
			h.notes = strings.TrimSpace(h.notes + " " + line)
		}
	}
	return h
}

// roff returns a line of text, escaped for roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
