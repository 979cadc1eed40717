package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/simulator"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func testApp(env map[string]string) (a *app, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return &app{env: env, stdout: stdout, stderr: newScreen(stderr)}, stdout, stderr
}

func TestList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		given []string
		want  []string
	}{
		{"comma-separated", []string{"a, b,,a"}, []string{"a", "b"}},
		{"given twice", []string{"a,b", "b,c"}, []string{"a", "b", "c"}},
		{"one a line", []string{"@" + writeFile(t, "\ufeffa\r\n#7, x\n\n b c \n")}, []string{"a", "#7, x", " b c "}},
		{"commas", []string{"@" + writeFile(t, "a,b\nc")}, []string{"a,b", "c"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			l := &list{target: &got}
			for _, text := range test.given {
				require.NoError(t, l.Set(text))
			}
			require.Equal(t, test.want, got)
		})
	}
	for _, text := range []string{
		"", ",", " ", "@", "@" + writeFile(t, "\n\r\n"), "a,\xff", "@" + writeFile(t, "a\nZo\xeb\n"), "@" + writeFile(t, "\xff\xfea\x00\n\x00"),
	} {
		require.Error(t, (&list{target: new([]string)}).Set(text), "%q", text)
	}
}

// TestListOfStudents reads files of students as other programs save them.
func TestListOfStudents(t *testing.T) {
	t.Parallel()
	read := func(text string) error {
		return (&list{target: new([]string), students: true}).Set("@" + writeFile(t, text))
	}
	for _, utf16 := range []string{"\xff\xfeb\x001\x00\r\x00\n\x00", "\xfe\xff\x00b\x001\x00\n", "b\x001\x00\n\x00", "\x00b\x001"} {
		require.ErrorContains(t, read(utf16), "is UTF-16 text: save it as UTF-8, which Excel calls CSV UTF-8", "%q", utf16)
	}
	err := read("b1\n\nZo\xeb\n")
	require.ErrorContains(t, err, "line 3 of file ")
	require.ErrorContains(t, err, " is not UTF-8 text: save the file as UTF-8, which Excel calls CSV UTF-8")
	for _, header := range []string{"student_bid", "Student", "\ufeffSTUDENT BID\r", `"bid","name"`, "state_student_id;x", "Number\tx", "\nstudentBid"} {
		require.ErrorContains(t, read(header+"\nb1\n"), "begins with a header: remove that line", "%q", header)
	}
	var got []string
	for _, text := range []string{"b1\nstudent_bid", "student-1\nb1", "1\nb1", "students of 4\nb1", "\ufeffb1"} {
		require.NoError(t, (&list{target: &got, students: true}).Set("@"+writeFile(t, text)), "%q", text)
	}
	require.NoError(t, (&list{target: &got, students: true}).Set("student"), "it is not a file")
	require.NoError(t, (&list{target: &got}).Set("@"+writeFile(t, "Student\n")), "it is not a list of students")
	require.Contains(t, got, "Student")
}

// TestPrecedence sets one flag in every combination of sources.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	config := writeFile(t, "rate: 1\nschools: ['a,b', c]\n")
	tests := []struct {
		name string
		args []string
		env  map[string]string
		want float64
		rank rank
	}{
		{"default", nil, nil, 0, byDefault},
		{"file", []string{"--config", config}, nil, 1, byFile},
		{"environment over file", []string{"--config", config}, map[string]string{"GROWTH_EXPORT_RATE": "2"}, 2, byEnvironment},
		{"flag over all", []string{"--config", config, "--rate", "3"}, map[string]string{"GROWTH_EXPORT_RATE": "2"}, 3, byFlag},
		{"file named by the environment", nil, map[string]string{"GROWTH_EXPORT_CONFIG": config}, 1, byFile},
		{"an empty variable is not set", []string{"--config", config}, map[string]string{"GROWTH_EXPORT_RATE": ""}, 1, byFile},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, _, _ := testApp(test.env)
			var o runOptions
			cmd := &cobra.Command{Use: "x"}
			o.define(cmd)
			(&cobra.Command{Use: "root"}).AddCommand(cmd)
			require.NoError(t, cmd.ParseFlags(test.args))
			from, err := a.resolve(cmd)
			require.NoError(t, err)
			require.InDelta(t, test.want, o.rate, 0)
			require.Equal(t, test.rank, from["rate"].rank)
			if from.given("config") {
				require.Equal(t, []string{"a,b", "c"}, o.schools)
			}
		})
	}
}

// TestConfigurationFileOfEveryKind reads YAML values of all kinds: bare, quoted, numbers, dates, words that earlier
// versions of YAML read as booleans, lists.
func TestConfigurationFileOfEveryKind(t *testing.T) {
	t.Parallel()
	config := writeFile(t, `
base-url: "https://host/api"
concurrency: '4'
retries: 0
request-timeout: 90s
max-body: 1048576B
max-shrink: off
max-failed-schools: 2
snapshot-date: 2026-01-31
run-id: 20260131
replace: true
group-readable: false
datasets: [default, student_details]
schools: a, b
districts:
  - "x, y"
  - 12
partition-by: district
`)
	a, _, _ := testApp(nil)
	root := a.rootCommand(nil)
	o := &runOptions{}
	cmd := &cobra.Command{Use: "test"}
	root.AddCommand(cmd)
	o.define(cmd)
	require.NoError(t, cmd.ParseFlags([]string{"--config", config}))
	_, err := a.resolve(cmd)
	require.NoError(t, err)
	require.Equal(t, "https://host/api", o.baseURL.String())
	require.Equal(t, 4, o.concurrency)
	require.Equal(t, 0, o.retries)
	require.Equal(t, 90*time.Second, o.requestTimeout)
	require.EqualValues(t, 1<<20, o.maxBody)
	require.True(t, o.MaxShrink.Off)
	require.Equal(t, 2, o.MaxFailedSchools)
	require.Equal(t, "2026-01-31", o.snapshotDate)
	require.Equal(t, "20260131", o.runID)
	require.True(t, o.replace)
	require.False(t, o.groupReadable)
	require.Contains(t, o.datasets, "student_details")
	require.Equal(t, []string{"a", "b"}, o.schools)
	require.Equal(t, []string{"x, y", "12"}, o.districts)
	require.Equal(t, "district", o.partitionBy)
}

// TestEveryFlagHasItsVariable checks that help shows each flag of each command with its variable, unless the command
// only takes it as a flag.
func TestEveryFlagHasItsVariable(t *testing.T) {
	t.Parallel()
	a, stdout, _ := testApp(nil)
	flags := 0
	for _, cmd := range a.rootCommand(nil).Commands() {
		if cmd.Hidden {
			continue
		}
		stdout.Reset()
		require.NoError(t, cmd.Help())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			flags++
			require.Contains(t, stdout.String(), "--"+f.Name+" ", cmd.Name())
			variable := envName(f.Name)
			if f.Annotations[onlyAnnotation] != nil {
				variable = "only as a flag"
			}
			require.Contains(t, stdout.String(), "["+variable+"]", cmd.Name())
			require.NotEmpty(t, f.Usage)
		})
	}
	require.Greater(t, flags, 50)
	require.Equal(t, "GROWTH_EXPORT_MAX_SCHOOL_RECORDS", envName("max-school-records"))
}

func TestChoose(t *testing.T) {
	t.Parallel()
	from := sources{
		"a": {byFlag, "--a"}, "b": {byEnvironment, "GROWTH_EXPORT_B"}, "c": {byFlag, "--c"},
	}
	for _, test := range []struct{ one, other, want string }{
		{"a", "b", "a"}, {"b", "a", "a"}, {"b", "x", "b"}, {"x", "c", "c"}, {"x", "y", ""},
	} {
		got, err := from.pick(test.one, test.other)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
	_, err := from.pick("a", "c")
	require.EqualError(t, err, "--a and --c cannot be used together: remove one of them")
	require.Equal(t, exitUsage, exitCode(err))
}

func TestShards(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		from sources
		o    sharding
		env  map[string]string
		want shard
		err  string
	}{
		{name: "neither", o: sharding{shard: shard{0, 1}}, want: shard{0, 1}},
		{
			name: "shard", from: sources{"shard": {byFlag, "--shard"}}, o: sharding{shard: shard{1, 3}},
			env: map[string]string{"JOB_COMPLETION_INDEX": "2"}, want: shard{1, 3},
		},
		{
			name: "Kubernetes", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 3},
			env: map[string]string{"JOB_COMPLETION_INDEX": "2"}, want: shard{2, 3},
		},
		{
			name: "Slurm", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 3},
			env: map[string]string{"SLURM_ARRAY_TASK_ID": "0"}, want: shard{0, 3},
		},
		{
			name: "AWS Batch", from: sources{"shards": {byFile, "x.yaml line 1: shards"}}, o: sharding{shards: 2},
			env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "1"}, want: shard{1, 2},
		},
		{
			name: "Cloud Run", from: sources{"shards": {byEnvironment, "GROWTH_EXPORT_SHARDS"}}, o: sharding{shards: 2},
			env: map[string]string{"CLOUD_RUN_TASK_INDEX": "1"}, want: shard{1, 2},
		},
		{
			name: "two that agree", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 2},
			env: map[string]string{"CLOUD_RUN_TASK_INDEX": "1", "JOB_COMPLETION_INDEX": "1"}, want: shard{1, 2},
		},
		{
			name: "one shard needs no index", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 1},
			env: map[string]string{"SLURM_ARRAY_TASK_ID": "7"}, want: shard{0, 1},
		},
		{
			name: "two that differ", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 2},
			env: map[string]string{"CLOUD_RUN_TASK_INDEX": "1", "JOB_COMPLETION_INDEX": "0"}, err: "give different shard numbers",
		},
		{
			name: "no index", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 2}, err: "the index of this shard, one of 2, is unknown",
		},
		{
			name: "counted from 1", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 2},
			env: map[string]string{"SLURM_ARRAY_TASK_ID": "2"}, err: `SLURM_ARRAY_TASK_ID is "2", which is not a valid shard index for 2 shards`,
		},
		{
			name: "no number", from: sources{"shards": {byFlag, "--shards"}}, o: sharding{shards: 2},
			env: map[string]string{"SLURM_ARRAY_TASK_ID": "one"}, err: "which is not a valid shard index for 2 shards",
		},
		{
			name: "both", from: sources{"shards": {byFlag, "--shards"}, "shard": {byFlag, "--shard"}}, o: sharding{shards: 2},
			err: "cannot be used together",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, _, _ := testApp(test.env)
			got, err := test.o.chooseShard(a, test.from)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.Equal(t, exitUsage, exitCode(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "from-file\r\n")
	a, _, _ := testApp(map[string]string{
		apiKeyVariable: "key\n", apiSecretVariable + fileSuffix: file, accessTokenVariable + fileSuffix: file,
	})
	c, err := a.credentials()
	require.NoError(t, err)
	require.Equal(t, "key", c.APIKey)
	require.Equal(t, "from-file", c.APISecret)
	require.Equal(t, "from-file", c.AccessToken)
	require.Equal(t, file, c.AccessTokenFile, "the client reads the file again after a 401")
}

func TestSizesOfTheSimulatedService(t *testing.T) {
	t.Parallel()
	var o simulation
	_, err := o.parseSizes([]string{"0", "7x3", "1"})
	require.NoError(t, err)
	require.Equal(t, []int{0, 7, 7, 7, 1}, o.world.SchoolSizes)
	for _, word := range []string{"x", "7x", "x3", "-1", "7x0", "7x3x2"} {
		_, err := o.parseSizes([]string{word})
		require.ErrorContains(t, err, quoted(word))
	}
	require.Equal(t, simulator.DefaultKey, simulatedCredentials().APIKey)
}
