// Command controlplane is etcd, the servers of Kubernetes and kwok in one binary, so that the packages that they share
// are linked once. The name by which it is called says which program it is; package binaries makes a link for each.
// Each does what the main function of the program's own command does.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // schedules of CronJobs name time zones, and the machine may have none

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
		fmt.Fprintf(os.Stderr, "controlplane: call it by the name of a server, not %q\n", name)
		os.Exit(2)
	}
}

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }
