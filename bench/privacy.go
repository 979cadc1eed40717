package main

import (
	"context"
	"flag"
	"io"
	"strings"

	"example.org/growthexport/bench/pages"
)

// measurePrivacy exports a service under each privacy profile, and prints the costs of the profiles.
func measurePrivacy(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	// The key is set only here, because older builds, which other comparisons may run, reject unknown settings.
	s := settings{env: append(env, "GROWTH_EXPORT_PRIVACY_KEY="+strings.Repeat("00112233445566778899aabbccddeeff", 2))}
	sc := scenario{world: pages.Options{SchoolSize: schoolSize}, contestants: []string{"growth-export", "pseudonymous", "minimal"}}
	flags := flag.NewFlagSet("privacy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.define(flags)
	flags.IntVar(&sc.world.Results, "results", 200_000, "results to export")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	sc.title, sc.concurrency, sc.turns = sc.world.Title(), s.concurrency, s.turns
	return s.report(ctx, "privacy", stdout, func(b *strings.Builder) error {
		outcomes, err := s.play(ctx, sc, stderr)
		if err != nil {
			return err
		}
		writePeers(b, sc, outcomes)
		return nil
	})
}
