package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.org/growthexport/bench/naive"
	"example.org/growthexport/bench/service"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the command that the first argument specifies. The contestants get the environment and the service's
// credentials.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) error {
	env = append(env, "GROWTH_EXPORT_API_KEY="+service.Key, "GROWTH_EXPORT_API_SECRET="+service.Secret)
	commands := map[string]func([]string) error{
		"peers":   func(args []string) error { return comparePeers(ctx, args, env, stdout, stderr) },
		"queries": func(args []string) error { return compareQueries(ctx, args, env, stdout, stderr) },
		"memory":  func(args []string) error { return measureMemory(ctx, args, env, stdout, stderr) },
		"history": func(args []string) error { return compareHistories(ctx, args, env, stdout, stderr) },
		"privacy": func(args []string) error { return measurePrivacy(ctx, args, env, stdout, stderr) },
		"scale":   func(args []string) error { return measureScale(ctx, args, env, stdout, stderr) },
		"store":   func(args []string) error { return measureStore(ctx, args, env, stdout, stderr) },
		"serve":   func(args []string) error { return serve(ctx, args, stdin, stdout) },
		"naive":   func(args []string) error { return exportNaively(ctx, args) },
	}
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](args[1:])
	}
	return fmt.Errorf("usage: bench peers|queries|memory|history|privacy|scale|store [flags], not %q", strings.Join(args, " "))
}

func exportNaively(ctx context.Context, args []string) error {
	o := naive.Options{Key: service.Key, Secret: service.Secret}
	flags := flag.NewFlagSet("naive", flag.ContinueOnError)
	flags.StringVar(&o.URL, "url", "", "base URL of the service")
	flags.StringVar(&o.Dest, "dest", "", "folder for the files")
	flags.IntVar(&o.Threads, "threads", 8, "schools read at once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return naive.Export(ctx, o)
}
