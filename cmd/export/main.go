package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if os.Getenv("GOGC") == "" {
		keepHeapSlack(heapSlack)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal starts an orderly shutdown and restores the default behaviour, so that a second signal ends the
	// process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
