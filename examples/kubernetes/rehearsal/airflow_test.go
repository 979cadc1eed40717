package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stretchr/testify/require"
)

const airflowVenv = "../../../.tools/airflow-venv"

// rehearseAirflow runs the DAG of the Airflow example. Denied access fails a task without a retry. A killed pod leads
// to a retry, which resumes and publishes the same files.
func (c *cluster) rehearseAirflow(secret string, want map[string]string) {
	c.heading("The DAG of Airflow with a wrong secret")
	denied := c.newAirflow("airflow-denied", "wrong")
	require.NotZero(c.t, denied.execute("airflow dags test growth_export_kubernetes"))
	pods := denied.ownPods()
	require.Len(c.t, pods, 1, "exit code 4 was retried")
	require.EqualValues(c.t, 4, pods[0].exitCode)
	require.Empty(c.t, denied.sums())

	c.heading("The DAG of Airflow; its first pod is killed")
	killed := c.newAirflow("airflow", secret)
	code := make(chan int, 1)
	go func() { code <- killed.execute("airflow dags test growth_export_kubernetes") }()
	eventually(c.t, "the pod has staged a task", func(context.Context) bool {
		checkpoints, err := filepath.Glob(killed.data + "/_runs/*/journal/*.json")
		return err == nil && len(checkpoints) > 0
	})
	first := killed.ownPods()[0]
	require.NoError(c.t, syscall.Kill(-first.process.Pid, syscall.SIGKILL))
	require.Zero(c.t, <-code)
	require.Equal(c.t, want, killed.sums())
	require.Len(c.t, killed.ownPods(), 3, "run, run again, verify")
}

// newAirflow makes a site whose folder is Airflow's folder of DAGs.
func (c *cluster) newAirflow(namespace, secret string) *site {
	venv, err := filepath.Abs(airflowVenv)
	require.NoError(c.t, err)
	require.FileExists(c.t, filepath.Join(venv, "bin", "airflow"), "run make test-kubernetes, which installs Airflow")
	s := c.newSite(namespace, secret)
	dag, err := os.ReadFile(filepath.Join(examples, "airflow", "growth_export_kubernetes.py"))
	require.NoError(c.t, err)
	s.write("growth_export_kubernetes.py", string(dag))
	s.edit("growth_export_kubernetes.py", "timedelta(minutes=10)", "timedelta(seconds=1)")
	s.environ = []string{
		"PATH=" + filepath.Join(venv, "bin") + ":" + s.programs + ":" + os.Getenv("PATH"),
		"AIRFLOW_HOME=" + filepath.Join(c.folder, "airflow", namespace),
		"AIRFLOW__CORE__DAGS_FOLDER=" + s.folder, "AIRFLOW__CORE__LOAD_EXAMPLES=False",
		fmt.Sprintf(`AIRFLOW_CONN_KUBERNETES_DEFAULT={"conn_type": "kubernetes", "extra": {"namespace": %q}}`, namespace),
	}
	s.prepare()
	require.Zero(c.t, s.execute("airflow db migrate"))
	return s
}

// ownPods returns the pods of the namespace.
func (s *site) ownPods() []*runningPod {
	return s.podsThat(func(pod *runningPod) bool { return pod.namespace == s.namespace })
}
