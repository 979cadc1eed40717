package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
)

const (
	programs     = "../../../.tools/kubernetes"
	growthExport = "../../../bin/growth-export"
	schools      = 24
)

var today = time.Now().UTC().Format(time.DateOnly)

// TestRehearsal takes the same snapshot with one pod and with eight. It checks the manifests' rules for failures: a
// mistake or denied access ends the job at once, a killed pod is replaced and resumes its shard, and a drained node
// does not count as a failure. Helm and Airflow then run the same pods.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(programs)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(folder, "kube-apiserver"), "run make test-kubernetes, which builds Kubernetes")
	c, stop := newCluster(t, folder, growthExport)
	defer stop()
	secret := c.service["GROWTH_EXPORT_API_SECRET"]

	c.heading("The commands in cronjob.yaml: one pod")
	one := c.newSite("one-pod", secret)
	for _, command := range one.documented() {
		require.Zero(t, one.execute(command))
	}
	_, failed := one.ended("first")
	require.Nil(t, failed)
	want := one.sums()
	require.Greater(t, len(want), 100)
	c.say("published %d data files", len(want))

	c.heading("shards.yaml with a mistake: 9 pods for 8 shards")
	eight := c.newSite("eight-shards", secret)
	// Make the shards so slow that they are killed and drained while they run.
	eight.edit("../config/nightly.yaml", "concurrency: 8", "concurrency: 1")
	eight.edit("shards.yaml", "completions: 12", "completions: 9", "parallelism: 3", "parallelism: 9",
		`--shards, "12", --shards-at-once, "3"`, `--shards, "8", --shards-at-once, "8"`)
	eight.prepare()
	night := "./night.sh " + today
	require.Equal(t, 1, eight.execute(night))
	shards := "growth-export-" + today
	mistake, failed := eight.ended(shards)
	requireFinal(t, failed, 2)
	c.say("the job failed: %s", failed.Message)
	var ninth []*runningPod
	for _, pod := range c.podsOf(mistake) {
		<-pod.ended
		if pod.index == "8" {
			ninth = append(ninth, pod)
		}
	}
	require.Len(t, ninth, 1, "exit code 2 was retried")
	require.EqualValues(t, 2, ninth[0].exitCode)
	c.say("its log: %s", lastLine(t, ninth[0]))
	require.Empty(t, eight.sums())

	c.heading("The same night with 8 pods; one is killed, then a node is drained")
	eight.edit("shards.yaml", "completions: 9", "completions: 8", "parallelism: 9", "parallelism: 8")
	code := make(chan int, 1)
	go func() { code <- eight.execute(night) }()
	job := eight.job(shards, "is running 8 pods", func(job *batchv1.Job) bool {
		return job.UID != mistake.UID && len(c.podsOf(job)) == 8
	})
	killed := eight.killShard(job, c.nodes[0])
	require.Zero(t, eight.execute("kubectl drain node-b --delete-emptydir-data --ignore-daemonsets"))
	require.Zero(t, <-code, "night.sh failed")
	eight.requireEight(job, killed)
	require.Equal(t, want, eight.sums())
	c.say("published %d data files, with the same SHA-256 as the files of one pod", len(want))

	c.heading("A wrong secret: the service denies access")
	denied := c.newSite("denied", "wrong")
	for _, command := range denied.documented() {
		require.Zero(t, denied.execute(command))
	}
	job, failed = denied.ended("first")
	requireFinal(t, failed, 4)
	c.say("the job failed: %s", failed.Message)
	pods := c.podsOf(job)
	require.Len(t, pods, 1, "exit code 4 was retried")
	require.Zero(t, denied.execute("kubectl logs job/first"))
	require.Empty(t, denied.sums())

	c.rehearseChart(secret, want)
	c.rehearseAirflow(secret, want)
}

// requireFinal checks that a job failed because of its podFailurePolicy.
func requireFinal(t *testing.T, failed *batchv1.JobCondition, code int) {
	t.Helper()
	require.NotNil(t, failed, "the job did not fail")
	require.Equal(t, batchv1.JobReasonPodFailurePolicy, failed.Reason)
	require.Contains(t, failed.Message, fmt.Sprintf("failed with exit code %d", code))
}

// killShard kills a pod of the job on the node, as running out of memory would, after it has staged a task.
func (s *site) killShard(job *batchv1.Job, node *kubelet) *runningPod {
	victim := node.podsThat(func(pod *runningPod) bool { return pod.job == job.UID })[0]
	before := s.staged(victim)
	eventually(s.t, "a shard has staged a task", func(context.Context) bool { return s.staged(victim) > before })
	s.say("killing %s", victim.name)
	require.NoError(s.t, syscall.Kill(-victim.process.Pid, syscall.SIGKILL))
	<-victim.ended
	require.EqualValues(s.t, 137, victim.exitCode)
	return victim
}

// staged returns the number of tasks that the pod's shard has staged: shard 3 of 8 has the buckets 3, 11 and 19.
func (s *site) staged(pod *runningPod) (n int) {
	index, err := strconv.Atoi(pod.index)
	require.NoError(s.t, err)
	for bucket := index; bucket < schools; bucket += 8 {
		checkpoints, err := filepath.Glob(fmt.Sprintf("%s/_runs/night-%s/journal/%04d-*.json", s.data, today, bucket))
		require.NoError(s.t, err)
		n += len(checkpoints)
	}
	return n
}

// requireEight checks that the job has completed all shards, that only the killed pod counted as a failure, and that
// its replacement resumed the shard.
func (s *site) requireEight(job *batchv1.Job, killed *runningPod) {
	job, failed := s.ended(job.Name)
	require.Nil(s.t, failed)
	require.Equal(s.t, "0-7", job.Status.CompletedIndexes)
	require.EqualValues(s.t, 1, job.Status.Failed)
	var drained int
	for _, pod := range s.podsOf(job) {
		switch {
		case pod.exitCode == 130:
			drained++
		case pod != killed && pod.index == killed.index:
			resumed := regexp.MustCompile(`[1-9]\d* of \d+ tasks were already staged`).FindString(readLog(s.t, pod))
			require.NotEmpty(s.t, resumed, readLog(s.t, pod))
			s.say("%s resumed shard %s: %s", pod.name, pod.index, resumed)
		}
	}
	require.Positive(s.t, drained)
	s.say("completed indexes %s; failed pods that count: %d; drained pods, which do not: %d", job.Status.CompletedIndexes, job.Status.Failed, drained)
}

func readLog(t *testing.T, pod *runningPod) string {
	t.Helper()
	content, err := os.ReadFile(pod.logFile)
	require.NoError(t, err)
	return strings.TrimSpace(string(content))
}

func lastLine(t *testing.T, pod *runningPod) string {
	t.Helper()
	log := readLog(t, pod)
	return log[strings.LastIndexByte(log, '\n')+1:]
}
