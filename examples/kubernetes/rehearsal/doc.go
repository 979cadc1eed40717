// Package rehearsal runs the Kubernetes example, its Helm chart, and the Airflow DAG that runs its pod, on a real control
// plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with kubectl and helm, all built from their Go
// modules. Containers are replaced: a small kubelet runs each pod as a process of this machine. It needs Linux or macOS.
//
// It is a separate module, so that the main module does not depend on Kubernetes. It is not part of `make test`,
// because building Kubernetes takes a long time. Run it with `make test-kubernetes`.
package rehearsal
