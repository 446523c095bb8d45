package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/bench/internal/dataset"
	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/internal/testkit"
)

const apiServer = "kube-apiserver"

// startWithPods fills the cluster and restarts kube-apiserver, which reads all pods at its start, as the facade does.
func startWithPods(ctx context.Context, cluster *testkit.Cluster, pods dataset.Spec) (*server, startCost, error) {
	if err := writePods(ctx, cluster, pods); err != nil {
		return nil, startCost{}, err
	}
	say("starting %s", apiServer)
	began := time.Now()
	if err := cluster.Do(ctx, apiServer, "start"); err != nil {
		return nil, startCost{}, err
	}
	took := time.Since(began)
	config, err := cluster.Config("admin")
	if err != nil {
		return nil, startCost{}, err
	}
	process, err := pid(ctx, cluster, apiServer)
	if err != nil {
		return nil, startCost{}, err
	}
	s, err := newServer(apiServer, process, config)
	if err != nil {
		return nil, startCost{}, err
	}
	c, err := s.started(took)
	return s, c, err
}

// writePods creates the namespaces, stops kube-apiserver and writes the pods into etcd.
func writePods(ctx context.Context, cluster *testkit.Cluster, pods dataset.Spec) error {
	if err := createNamespaces(ctx, cluster, pods); err != nil {
		return err
	}
	process, err := pid(ctx, cluster, apiServer)
	if err != nil {
		return err
	}
	store, err := openEtcd(process)
	if err != nil {
		return err
	}
	if err := cluster.Do(ctx, apiServer, "stop"); err != nil {
		return err
	}
	say("writing pods into etcd")
	return seed(ctx, store, pods)
}

func createNamespaces(ctx context.Context, cluster *testkit.Cluster, pods dataset.Spec) error {
	config, err := cluster.Config("admin")
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for i := range pods.Namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pods.Namespace(i)}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a namespace: %w", err)
		}
	}
	return nil
}

// pid returns the current process ID of a component of the cluster. A restart changes it.
func pid(ctx context.Context, cluster *testkit.Cluster, name string) (proc.Process, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", cluster.Control)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://devcluster/processes", nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("get the processes of the cluster: %w", err)
	}
	defer response.Body.Close()
	var processes map[string]struct {
		PID int `json:"pid"`
	}
	if err := json.NewDecoder(response.Body).Decode(&processes); err != nil {
		return 0, fmt.Errorf("decode the processes of the cluster: %w", err)
	}
	if processes[name].PID == 0 {
		return 0, fmt.Errorf("%s is not running", name)
	}
	return proc.Process(processes[name].PID), nil
}

// flagOf returns the value of a flag in a command line.
func flagOf(args []string, name string) (string, error) {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("%s was started without --%s", apiServer, name)
}
