package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/wording"
)

// asks reports whether there is a user at a terminal who can answer questions.
func (a *app) asks() bool { return isTerminal(a.stdin) && a.stderr.isTerminal() }

// confirmPurge shows the findings of a dry run and asks whether to erase the rows. It returns an error if the user does
// not confirm. If there is nothing to erase, it returns nil without asking.
func (a *app) confirmPurge(ctx context.Context, planned *maintenance.PurgeReport, unmatched string) error {
	if planned.Nothing() {
		return nil
	}
	whom, n := "school", len(planned.Schools)
	if s := planned.Asked.Students; s != nil && s.Matched != nil {
		whom, n = "student", *s.Matched
	}
	question := fmt.Sprintf("%s%sErase these rows of %s? Type %d to erase them", unmatched, purgeText(planned), wording.Many(n, whom), n)
	return a.confirm(ctx, question, strconv.Itoa(n), "nothing was purged")
}

// confirm asks a question, and returns an error unless the answer is wanted. The error begins with unchanged, a text
// that says that nothing was done.
func (a *app) confirm(ctx context.Context, question, wanted, unchanged string) error {
	fmt.Fprintf(a.stderr, "%s, anything else to stop: ", question)
	answer, err := await(ctx, func() (string, error) { return bufio.NewReader(a.stdin).ReadString('\n') })
	if err != nil && answer == "" {
		return errors.Join(fmt.Errorf("%s: there was no answer", unchanged), context.Cause(ctx))
	}
	if strings.TrimSpace(answer) != wanted {
		return fmt.Errorf("%s: the answer was not %s", unchanged, wanted)
	}
	return nil
}
