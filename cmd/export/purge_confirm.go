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

// asks reports whether somebody at a terminal can be asked.
func (a *app) asks() bool { return isTerminal(a.stdin) && a.stderr.isTerminal() }

// confirmPurge shows what a dry run has found and asks whether to erase it.
func (a *app) confirmPurge(ctx context.Context, planned *maintenance.PurgeReport) error {
	if planned.Nothing() {
		return nil
	}
	whom, n := "school", len(planned.Schools)
	if s := planned.Asked.Students; s != nil && s.Matched != nil {
		whom, n = "student", *s.Matched
	}
	fmt.Fprintf(a.stderr, "%sErase these rows of %s? Type %d to erase them, anything else to stop: ",
		purgeText(planned), wording.Many(n, whom), n)
	answer, err := await(ctx, func() (string, error) { return bufio.NewReader(a.stdin).ReadString('\n') })
	if err != nil && answer == "" {
		return errors.Join(errors.New("nothing was purged: there was no answer"), context.Cause(ctx))
	}
	if strings.TrimSpace(answer) != strconv.Itoa(n) {
		return fmt.Errorf("nothing was purged: the answer was not %d", n)
	}
	return nil
}
