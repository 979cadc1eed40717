package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"example.org/growthexport/bench/pages"
	"example.org/growthexport/bench/service"
)

// serving is the first line that a service's process prints.
type serving struct {
	URL    string       `json:"url"`
	Totals pages.Totals `json:"totals"` // zero unless the pages are kept in files
}

// serve serves pages until ctx is done or stdin is closed. Stdin is closed at the latest when the parent process ends.
func serve(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	var w pages.Options
	var o service.Options
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.IntVar(&w.Results, "results", 20_000, "results of all schools except the huge one")
	flags.IntVar(&w.SchoolSize, "school-size", 2000, "results of an ordinary school")
	flags.IntVar(&w.Huge, "huge", 0, "results of an additional, huge school; 0 means no such school")
	flags.StringVar(&o.Folder, "pages", "", "folder to keep pages in; if empty, pages are generated for each request")
	flags.BoolVar(&o.Gzip, "gzip", false, "compress pages (needs -pages)")
	flags.DurationVar(&o.Latency, "latency", 0, "delay of every answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.World = pages.NewWorld(w)
	if o.Folder != "" {
		if err := o.World.Write(o.Folder, o.Gzip); err != nil {
			return fmt.Errorf("write pages: %w", err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: service.New(o), ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	ready := serving{URL: "http://" + listener.Addr().String()}
	if o.Folder != "" {
		ready.Totals = o.World.Totals()
	}
	if err := json.NewEncoder(stdout).Encode(ready); err != nil {
		return err
	}

	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, stdin) // an error means the same as the end of stdin
	}()
	select {
	case err := <-failed:
		return err
	case <-closed:
	case <-ctx.Done():
	}
	return server.Close()
}

// served is the process of a service.
type served struct {
	serving

	cmd   *exec.Cmd
	stdin io.Closer
}

// startService starts a process that serves a world. The process keeps the pages in files below folder or, if folder is
// empty, generates them for each request.
func startService(ctx context.Context, self string, world pages.Options, folder string, gzip bool, latency time.Duration,
	stderr io.Writer,
) (*served, error) {
	args := []string{
		"serve", "-results", strconv.Itoa(world.Results), "-school-size", strconv.Itoa(world.SchoolSize),
		"-huge", strconv.Itoa(world.Huge), "-pages", folder, "-latency", latency.String(), "-gzip=" + strconv.FormatBool(gzip),
	}
	s := &served{cmd: exec.CommandContext(ctx, self, args...)}
	s.cmd.Stderr = stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.serving)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the service: %w", err), s.stop())
	}
	return s, nil
}

// stop ends the process and waits for it.
func (s *served) stop() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}
