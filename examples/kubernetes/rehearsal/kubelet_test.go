package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// kubelet is a node. It runs the pods that the scheduler assigns to the node as processes of this machine, with one
// container each, and reports how they end. There is no isolation: mount paths in the pod's command, variables and
// files are replaced by the paths of the volumes' folders, and the image is the command growth-export.
type kubelet struct {
	node   string
	client kubernetes.Interface
	image  string // path of growth-export
	folder string // for volumes and logs
	log    func(format string, args ...any)

	running sync.WaitGroup
	mu      sync.Mutex
	pods    map[types.UID]*runningPod
}

// runningPod is a pod that the kubelet has started. It stays after the pod has ended.
type runningPod struct {
	namespace, name, index, logFile string

	job       types.UID
	process   *os.Process   // nil if it did not start
	terminate func()        // asks the process to end, as deleting the pod does
	ended     chan struct{} // closed when it has ended
	exitCode  int32
}

const (
	heartbeat = 10 * time.Second
	// The exit code of a container that could not be started.
	notStarted = 128
)

// start registers the node and runs its pods until ctx is done and they have ended; wait waits for that.
func (k *kubelet) start(ctx context.Context) error {
	k.pods = map[types.UID]*runningPod{}
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	logs := httptest.NewTLSServer(mux)
	context.AfterFunc(ctx, logs.Close)
	port := logs.Listener.Addr().(*net.TCPAddr).Port
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: k.node, Labels: map[string]string{corev1.LabelHostname: k.node}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now},
			},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		},
	}
	if _, err := k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("register the node: %w", err)
	}
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	seconds := int32(4 * heartbeat / time.Second)
	lease, err := leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: k.node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &k.node, LeaseDurationSeconds: &seconds, RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the lease of the node: %w", err)
	}
	k.running.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
			if renewed, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
				lease = renewed
			}
		}, heartbeat)
	})

	ofNode := fields.OneTermEqualSelector("spec.nodeName", k.node).String()
	factory := informers.NewSharedInformerFactoryWithOptions(k.client, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.FieldSelector = ofNode }))
	pods := factory.Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { k.sync(ctx, pod.(*corev1.Pod)) },
		UpdateFunc: func(_, pod any) { k.sync(ctx, pod.(*corev1.Pod)) },
	})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	k.running.Go(func() { pods.RunWithContext(ctx) })
	return nil
}

func (k *kubelet) wait() { k.running.Wait() }

// podsThat returns the pods that the kubelet has started and that match.
func (k *kubelet) podsThat(match func(*runningPod) bool) []*runningPod {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(k.pods)), func(pod *runningPod) bool { return !match(pod) })
}

// sync starts a pod if it is new, terminates it if it is being deleted, and removes it if it was deleted and has ended.
func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	running, deleted := k.pods[pod.UID], pod.DeletionTimestamp != nil
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case ended && deleted:
		var now int64
		_ = k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	case ended || ctx.Err() != nil:
	case running == nil:
		k.pods[pod.UID] = k.startPod(ctx, pod)
		if deleted {
			k.pods[pod.UID].terminate()
		}
	case deleted:
		running.terminate()
	}
}

// startPod starts a pod and reports its phases in the background.
func (k *kubelet) startPod(ctx context.Context, pod *corev1.Pod) *runningPod {
	ctx, cancel := context.WithCancel(ctx)
	folder := filepath.Join(k.folder, pod.Namespace, pod.Name)
	p := &runningPod{
		namespace: pod.Namespace, name: pod.Name, index: pod.Labels[batchv1.JobCompletionIndexAnnotation], logFile: filepath.Join(folder, "log"),
		job: types.UID(pod.Labels[batchv1.ControllerUidLabel]), ended: make(chan struct{}), exitCode: notStarted,
	}
	var terminate sync.Once
	p.terminate = func() {
		terminate.Do(func() {
			k.log("%s: terminating %s", k.node, p.name)
			cancel()
		})
	}
	cmd, err := k.command(ctx, pod, folder)
	if err == nil {
		err = startLogged(cmd, p.logFile)
	}
	if err != nil {
		k.log("%s: %s did not start: %v", k.node, p.name, err)
	} else {
		p.process = cmd.Process
		k.log("%s: started %s", k.node, p.name)
	}
	k.running.Go(func() {
		defer cancel()
		defer close(p.ended)
		started := metav1.Now()
		if p.process != nil {
			k.report(ctx, pod, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}})
			_ = cmd.Wait() // its state says how it ended
			p.exitCode = exitCode(cmd.ProcessState)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // processes left over from the container
		}
		phase, reason := corev1.PodSucceeded, "Completed"
		if p.exitCode != 0 {
			phase, reason = corev1.PodFailed, "Error"
		}
		k.log("%s: %s ended with exit code %d", k.node, p.name, p.exitCode)
		k.report(ctx, pod, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: p.exitCode, Reason: reason, StartedAt: started, FinishedAt: metav1.Now(),
		}})
	})
	return p
}

// exitCode returns the exit code that a container runtime reports: 128 and the number of the signal that ended it.
func exitCode(state *os.ProcessState) int32 {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return notStarted + int32(status.Signal())
	}
	return int32(state.ExitCode())
}

// report writes the status of a pod, even if ctx has ended.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	container := pod.Spec.Containers[0]
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	if state.Running == nil {
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodCompleted"
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": corev1.PodStatus{
			Phase: phase, StartTime: &pod.CreationTimestamp, Conditions: []corev1.PodCondition{ready},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: container.Name, Image: container.Image, ImageID: container.Image, State: state, Ready: state.Running != nil,
			}},
		},
	})
	if err == nil {
		// Conditions set by others, such as DisruptionTarget on eviction, remain.
		_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(context.WithoutCancel(ctx), pod.Name,
			types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		k.log("%s: cannot report the status of %s: %v", k.node, pod.Name, err)
	}
}

// command returns the command of the pod's container with its variables and volumes. When ctx ends, it gets SIGTERM,
// and SIGKILL after the grace period.
func (k *kubelet) command(ctx context.Context, pod *corev1.Pod, folder string) (*exec.Cmd, error) {
	container, security := pod.Spec.Containers[0], cmp.Or(pod.Spec.SecurityContext, &corev1.PodSecurityContext{})
	paths, err := k.mount(ctx, pod, folder)
	if err != nil {
		return nil, err
	}
	var argv []string
	for _, argument := range slices.Concat(container.Command, container.Args) {
		argv = append(argv, paths.Replace(argument))
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = "/"
	// The variables that the image sets.
	cmd.Env = []string{"HOSTNAME=" + pod.Name, "GROWTH_EXPORT=" + k.image, "TMPDIR=" + paths.Replace("/scratch")}
	for _, variable := range container.Env {
		value := paths.Replace(variable.Value)
		if variable.ValueFrom != nil {
			if value, err = label(pod, variable.ValueFrom); err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			}
		}
		cmd.Env = append(cmd.Env, variable.Name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if user, group := security.RunAsUser, security.RunAsGroup; os.Geteuid() == 0 && user != nil && group != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(*user), Gid: uint32(*group)}
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
	return cmd, nil
}

// label returns the label of the pod that a variable refers to, such as the one with its index.
func label(pod *corev1.Pod, source *corev1.EnvVarSource) (string, error) {
	if source.FieldRef != nil {
		if name, ok := strings.CutPrefix(source.FieldRef.FieldPath, "metadata.labels['"); ok {
			return pod.Labels[strings.TrimSuffix(name, "']")], nil
		}
	}
	return "", errors.New("this kubelet supports only labels of the pod")
}

// mount makes a folder for each volume, and returns a replacer of mount paths with these folders.
func (k *kubelet) mount(ctx context.Context, pod *corev1.Pod, folder string) (*strings.Replacer, error) {
	group := -1
	if security := pod.Spec.SecurityContext; security != nil && security.FSGroup != nil && os.Geteuid() == 0 {
		group = int(*security.FSGroup)
	}
	core := k.client.CoreV1()
	files := map[string][]byte{}
	var paths []string
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		volume := pod.Spec.Volumes[slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })]
		path := filepath.Join(folder, volume.Name)
		switch {
		case volume.ConfigMap != nil:
			config, err := core.ConfigMaps(pod.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("get the ConfigMap: %w", err)
			}
			for name, content := range config.Data {
				files[filepath.Join(path, name)] = []byte(content)
			}
		case volume.Secret != nil:
			secret, err := core.Secrets(pod.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("get the Secret: %w", err)
			}
			for name, content := range secret.Data {
				files[filepath.Join(path, name)] = content
			}
		case volume.PersistentVolumeClaim != nil:
			claim, err := core.PersistentVolumeClaims(pod.Namespace).Get(ctx, volume.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("get the PersistentVolumeClaim: %w", err)
			}
			bound, err := core.PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("get the PersistentVolume: %w", err)
			}
			path = bound.Spec.HostPath.Path
		case volume.EmptyDir == nil:
			return nil, fmt.Errorf("volume %s has a type that this kubelet does not support", volume.Name)
		}
		paths = append(paths, mount.MountPath, path)
		if err := writable(path, group); err != nil {
			return nil, err
		}
	}
	replacer := strings.NewReplacer(paths...)
	for path, content := range files {
		err := os.WriteFile(path, []byte(replacer.Replace(string(content))), 0o440)
		if err == nil && group >= 0 {
			err = os.Chown(path, 0, group)
		}
		if err != nil {
			return nil, fmt.Errorf("write a file of a volume: %w", err)
		}
	}
	return replacer, nil
}

// writable makes a folder in which the pod's group, or the user of this process, may write.
func writable(path string, group int) error {
	err := os.MkdirAll(path, 0o755)
	if err == nil && group >= 0 {
		err = errors.Join(os.Chown(path, 0, group), os.Chmod(path, os.ModeSetgid|0o770))
	}
	if err != nil {
		return fmt.Errorf("make the folder of a volume: %w", err)
	}
	return nil
}
