package rehearsal

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// examples is the folder of all examples.
const examples = "../.."

// cluster is a Kubernetes cluster with two nodes, and a simulated service.
type cluster struct {
	*controlPlane
	t       *testing.T
	began   time.Time
	folder  string
	image   string
	nodes   []*kubelet
	service map[string]string // the variables that name the simulated service and its credentials
}

// newCluster starts everything; stop ends the pods.
func newCluster(t *testing.T, programs, growthExport string) (c *cluster, stop func()) {
	t.Helper()
	folder, err := os.MkdirTemp("", "growth-export-kubernetes-") //nolint:usetesting // the users of pods must be able to enter it
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs and data are left in %s", folder)
		} else {
			_ = os.RemoveAll(folder)
		}
	})
	require.NoError(t, os.Chmod(folder, 0o711))
	c = &cluster{t: t, began: time.Now(), folder: folder, image: filepath.Join(folder, "growth-export")}
	content, err := os.ReadFile(growthExport)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.image, content, 0o755))
	c.service = c.simulate()
	c.controlPlane = startControlPlane(t, programs, filepath.Join(folder, "control-plane"))
	c.say("the control plane is ready")

	ctx, cancel := context.WithCancel(t.Context())
	for _, name := range []string{"node-a", "node-b"} {
		node := &kubelet{node: name, client: c.client, image: c.image, folder: filepath.Join(folder, name), log: c.say}
		require.NoError(t, node.start(ctx))
		c.nodes = append(c.nodes, node)
	}
	return c, func() {
		cancel()
		for _, node := range c.nodes {
			node.wait()
		}
	}
}

// simulate starts the simulated service.
func (c *cluster) simulate() map[string]string {
	cmd := exec.CommandContext(c.t.Context(), c.image, "simulate", "--schools", strconv.Itoa(schools), "--results", "8000", "--latency", "600ms", "--date", today)
	out, err := cmd.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, cmd.Start())
	c.t.Cleanup(func() { _ = cmd.Wait() })
	variables := map[string]string{}
	for lines := bufio.NewScanner(out); len(variables) < 3 && lines.Scan(); {
		if match := regexp.MustCompile(`export (\w+)=(\S+)`).FindStringSubmatch(lines.Text()); match != nil {
			variables[match[1]] = match[2]
		}
	}
	require.Len(c.t, variables, 3)
	return variables
}

func (c *cluster) say(format string, args ...any) {
	fmt.Fprintf(c.t.Output(), "[%5.1f s] %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

func (c *cluster) heading(text string) {
	fmt.Fprintf(c.t.Output(), "\n--- %s\n", text)
}

// podsThat returns the pods that were started on any node and that match.
func (c *cluster) podsThat(match func(*runningPod) bool) []*runningPod {
	var pods []*runningPod
	for _, node := range c.nodes {
		pods = append(pods, node.podsThat(match)...)
	}
	return pods
}

// podsOf returns the pods of a job that were started on any node.
func (c *cluster) podsOf(job *batchv1.Job) []*runningPod {
	return c.podsThat(func(pod *runningPod) bool { return pod.job == job.UID })
}

// site is a namespace, and the folder from which its user works: the example, with the edits that the example asks for.
type site struct {
	*cluster
	namespace, folder, data, kubeconfig string
	environ                             []string // of commands, after the usual variables
}

// newSite makes a namespace with a volume, and the user's files.
func (c *cluster) newSite(namespace, secret string) *site {
	s := &site{
		cluster: c, namespace: namespace, folder: filepath.Join(c.folder, "sites", namespace, "kubernetes"),
		data: filepath.Join(c.folder, "volumes", namespace), kubeconfig: c.kubeconfig(c.t, namespace),
	}
	require.NoError(c.t, os.CopyFS(s.folder, os.DirFS(filepath.Join(examples, "kubernetes"))))
	config := filepath.Join(filepath.Dir(s.folder), "config")
	require.NoError(c.t, os.CopyFS(config, os.DirFS(filepath.Join(examples, "config"))))
	s.write("api-key", c.service["GROWTH_EXPORT_API_KEY"])
	s.write("api-secret", secret)
	// One school per file, so that there are enough tasks for eight shards.
	s.edit("../config/nightly.yaml", "base-url: https://growth.example.org", "base-url: "+c.service["GROWTH_EXPORT_BASE_URL"],
		"#schools-per-file: 256", "schools-per-file: 1", "#snapshot-date: 2026-11-20", "snapshot-date: "+today)

	ctx := c.t.Context()
	_, err := c.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	eventually(c.t, "the namespace has a service account", func(ctx context.Context) bool {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	_, err = c.client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")},
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: "growth-data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: s.data}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return s
}

func (s *site) write(name, content string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.folder, name), []byte(content), 0o600))
}

// edit replaces texts in a file, each of which must be in it.
func (s *site) edit(name string, oldNew ...string) {
	content, err := os.ReadFile(filepath.Join(s.folder, name))
	require.NoError(s.t, err)
	for pair := range slices.Chunk(oldNew, 2) {
		require.Contains(s.t, string(content), pair[0], name)
	}
	s.write(name, strings.NewReplacer(oldNew...).Replace(string(content)))
}

// documented returns the commands in the comment at the top of cronjob.yaml: a secret, a ConfigMap, the CronJob, a
// first run.
func (s *site) documented() []string {
	content, err := os.ReadFile(filepath.Join(s.folder, "cronjob.yaml"))
	require.NoError(s.t, err)
	var commands []string
	for _, match := range regexp.MustCompile(`(?m)^#   (kubectl .*)$`).FindAllStringSubmatch(string(content), -1) {
		commands = append(commands, match[1])
	}
	require.Len(s.t, commands, 4)
	return commands
}

// execute prints and runs a command in the folder of the example. It returns the exit code.
func (s *site) execute(command string) int {
	fmt.Fprintf(s.t.Output(), "$ %s\n", command)
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	cmd.Dir = s.folder
	cmd.Env = append([]string{
		"PATH=" + s.programs + ":" + filepath.Dir(s.programs) + ":" + os.Getenv("PATH"), "KUBECONFIG=" + s.kubeconfig, "HOME=" + s.folder, "NIGHT_POLL=1",
	}, s.environ...)
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		s.say("%v", err)
		return -1
	}
	return 0
}

// job returns a job once it meets a condition.
func (s *site) job(name, what string, is func(*batchv1.Job) bool) (job *batchv1.Job) {
	eventually(s.t, "job "+name+" "+what, func(ctx context.Context) bool {
		var err error
		job, err = s.client.BatchV1().Jobs(s.namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && is(job)
	})
	return job
}

// ended returns a job once it has ended and, if it failed, the reason.
func (s *site) ended(name string) (job *batchv1.Job, failed *batchv1.JobCondition) {
	job = s.job(name, "ends", func(job *batchv1.Job) bool {
		return condition(job, batchv1.JobComplete) != nil || condition(job, batchv1.JobFailed) != nil
	})
	return job, condition(job, batchv1.JobFailed)
}

func condition(job *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == of && c.Status == corev1.ConditionTrue })
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}

// sums returns the SHA-256 of each published data file, by its path without the run id.
func (s *site) sums() map[string]string {
	sums := map[string]string{}
	files := os.DirFS(s.data)
	require.NoError(s.t, fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(path, "_"):
			return fs.SkipDir
		case filepath.Ext(path) != ".parquet":
			return nil
		}
		content, err := fs.ReadFile(files, path)
		sums[regexp.MustCompile(`(part-\d+)-.*`).ReplaceAllString(path, "$1")] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	}))
	return sums
}
