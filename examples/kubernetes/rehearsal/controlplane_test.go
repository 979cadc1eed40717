package rehearsal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// controlPlane is a Kubernetes control plane without nodes. Its processes end with the test; their logs are in folder.
type controlPlane struct {
	programs, folder, url string
	client                kubernetes.Interface
}

const token = "rehearsal"

// The controllers that Jobs, their volumes and their nodes need.
const controllers = "--controllers=job-controller,cronjob-controller,serviceaccount-controller,persistentvolume-binder-controller," +
	"garbage-collector-controller,pod-garbage-collector-controller,node-lifecycle-controller,taint-eviction-controller,ttl-after-finished-controller"

func startControlPlane(t *testing.T, programs, folder string) *controlPlane {
	t.Helper()
	require.NoError(t, os.Mkdir(folder, 0o700))
	ports := freePorts(t, 3)
	etcd := "http://" + ports[0]
	c := &controlPlane{programs: programs, folder: folder, url: "https://" + ports[2]}
	kubeconfig := c.kubeconfig(t, "default")
	key, tokens := filepath.Join(folder, "service-account.key"), filepath.Join(folder, "tokens.csv")
	writeKey(t, key)
	require.NoError(t, os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600))

	c.start(t, "etcd", "--data-dir="+filepath.Join(folder, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd, "--listen-peer-urls=http://"+ports[1])
	_, port, err := net.SplitHostPort(ports[2])
	require.NoError(t, err)
	c.start(t, "kube-apiserver", "--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+port,
		"--cert-dir="+folder, "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file="+tokens,
		"--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key)

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1 // no limit
	c.client, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	eventually(t, "kube-apiserver is ready", func(ctx context.Context) bool {
		var status int
		c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&status)
		return status == http.StatusOK
	})
	c.start(t, "kube-controller-manager", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", controllers)
	c.start(t, "kube-scheduler", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0")
	return c
}

func (c *controlPlane) start(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.programs, program), args...)
	require.NoError(t, startLogged(cmd, filepath.Join(c.folder, program+".log")))
	t.Cleanup(func() { _ = cmd.Wait() })
}

// startLogged starts a command with its output in a file.
func startLogged(cmd *exec.Cmd, path string) error {
	log, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create a log: %w", err)
	}
	defer log.Close() //nolint:errcheck // this process writes nothing
	cmd.Stdout, cmd.Stderr = log, log
	return cmd.Start()
}

// kubeconfig writes a client configuration for a namespace and returns its path.
func (c *controlPlane) kubeconfig(t *testing.T, namespace string) string {
	t.Helper()
	path := filepath.Join(c.folder, namespace+".kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: rehearsal
contexts: [{name: rehearsal, context: {cluster: rehearsal, user: admin, namespace: %s}}]
clusters: [{name: rehearsal, cluster: {server: "%s", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s}}]
`, namespace, c.url, token)
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	return path
}

// freePorts returns loopback addresses with different ports that were free.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var addresses []string
	for range n {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close() //nolint:errcheck // nothing was sent
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses
}

// writeKey makes the key that signs the tokens of service accounts.
func writeKey(t *testing.T, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}

// eventually waits for a condition, for at most five minutes.
func eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Minute, true,
		func(ctx context.Context) (bool, error) { return is(ctx), nil })
	require.NoError(t, err, "waiting until %s", what)
}
