package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
)

// TestScripts runs testdata/script/*.txtar. Besides testscript's own commands, scripts can use:
//
//	exits CODE COMMAND...    runs a command that must end with the exit code
//	oneline FILE|stderr      checks that the text is exactly one line
//	tree FOLDER FILE         writes the names of all files below a folder to a file
//	serve [KIND...]          starts a simulated service, in place of the one before,
//	                         and sets the variables for clients; KIND is failing,
//	                         denied, missing, unauthorized, empty, large, nonsense,
//	                         or elsewhere for another base URL
//	jsonfield FILE NAME TEXT checks that a top-level member of a JSON object starts
//	                         with TEXT
//
// The variable IN_12_HOURS is a time of day for --deadline.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "growth-export")))
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = commandEnvironment(env.Vars)
			env.Values[serviceKey{}] = startService(env)
			env.Setenv("IN_12_HOURS", time.Now().UTC().Add(12*time.Hour).Format("15:04Z"))
			env.Setenv("GODEBUG", os.Getenv("GODEBUG"))
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     cmdExits,
			"oneline":   cmdOneLine,
			"tree":      cmdTree,
			"serve":     cmdServe,
			"jsonfield": cmdJSONField,
		},
	})
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func cmdOneLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneline FILE")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("not one line: %q", text)
	}
}

func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree FOLDER FILE")
	}
	root := ts.MkAbs(args[0])
	var names strings.Builder
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			names.WriteString(filepath.ToSlash(name) + "\n")
		}
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(names.String()), 0o600))
}

// scriptService is the simulated service of a script. A later serve replaces its handler and keeps its base URL,
// because a destination belongs to one service.
type scriptService struct {
	url     string
	handler atomic.Pointer[simulator.Server]
}

type serviceKey struct{}

func startService(env *testscript.Env) *scriptService {
	s := &scriptService{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handler.Load().ServeHTTP(w, r) }))
	env.Defer(server.Close)
	s.url = server.URL
	return s
}

func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve [KIND...]")
	}
	options := simulator.Options{SchoolSizes: []int{3, 2, 0, 1}}
	server := simulator.ServerOptions{}
	switch {
	case slices.Contains(args, "empty"):
		options = simulator.Options{Schools: -1}
	case slices.Contains(args, "large"):
		options.SchoolSizes = []int{60, 60, 0, 60}
	}
	world := simulator.NewWorld(options)
	for _, kind := range args {
		results := simulator.Fault{Operation: "test_results", Kind: simulator.FaultStatus}
		switch kind {
		case "elsewhere":
			server.BasePath = "/elsewhere"
			continue
		case "empty", "large":
			continue
		case "failing":
			results.School, results.Status = world.Schools()[0].Bid, 500
		case "denied":
			results.School, results.Status = world.Schools()[1].Bid, 403
		case "missing":
			results.Status = 404
		case "unauthorized":
			results.Operation, results.Status = simulator.OperationToken, 401
		case "nonsense":
			results.Operation, results.Kind = "schools", simulator.FaultBody
		default:
			ts.Fatalf("unknown kind %s", kind)
		}
		server.Faults = append(server.Faults, results)
	}
	service, simulated := ts.Value(serviceKey{}).(*scriptService), simulator.New(world, server)
	service.handler.Store(simulated)
	ts.Setenv("GROWTH_EXPORT_BASE_URL", service.url+simulated.BasePath())
	ts.Setenv(apiKeyVariable, simulator.DefaultKey)
	ts.Setenv(apiSecretVariable, simulator.DefaultSecret)
}

func cmdJSONField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: jsonfield FILE NAME TEXT")
	}
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &object))
	if got := fmt.Sprint(object[args[1]]); strings.HasPrefix(got, args[2]) == neg {
		ts.Fatalf("%s is %q", args[1], got)
	}
}
