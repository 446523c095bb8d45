// Command controlplane is etcd, the servers of Kubernetes and kwok in one binary, so that their common packages are
// linked once. It selects the program by the name under which it is called; package binaries creates a link for each.
// Each program behaves like its own command.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJobs use names of time zones, which some machines lack

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the log format json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric kubernetes_build_info
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
)

func main() {
	switch name := filepath.Base(os.Args[0]); binaries.Program(name) {
	case binaries.Etcd:
		etcdmain.Main(os.Args)
	case binaries.APIServer:
		run(apiserver.NewAPIServerCommand())
	case binaries.ControllerManager:
		run(controllermanager.NewControllerManagerCommand())
	case binaries.Scheduler:
		run(scheduler.NewSchedulerCommand())
	case binaries.Kwok:
		kwok()
	default:
		fmt.Fprintf(os.Stderr, "controlplane: unknown program name %q; call it through a link with the name of a server\n",
			name)
		os.Exit(2)
	}
}

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }
