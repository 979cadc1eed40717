package rehearsal

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"time"
)

// serveLog answers a request for the log of a pod, as kubectl logs and Airflow send it through kube-apiserver. It
// supports only the parameters follow and timestamps. Timestamps are the times at which lines were read.
func (k *kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	pods := k.podsThat(func(pod *runningPod) bool {
		return pod.namespace == r.PathValue("namespace") && pod.name == r.PathValue("pod")
	})
	if len(pods) == 0 {
		http.NotFound(w, r)
		return
	}
	log, err := os.Open(pods[0].logFile)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer log.Close() //nolint:errcheck // only read
	lines, line := bufio.NewReader(log), ""
	for ended := r.FormValue("follow") != "true"; ; {
		part, err := lines.ReadString('\n')
		line += part
		switch {
		case err == nil || ended && line != "":
			if r.FormValue("timestamps") == "true" {
				line = time.Now().UTC().Format(time.RFC3339Nano) + " " + line
			}
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
			line = ""
		case ended:
			return
		default:
			_ = http.NewResponseController(w).Flush() // a reader that has gone ends the request
			select {
			case <-r.Context().Done():
				return
			case <-pods[0].ended:
				ended = true
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}
