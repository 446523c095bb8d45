package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // authentication plugins of kubeconfigs
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// kubectl sets the level of the log before it makes the command, because making it looks for plugins and reads .kuberc,
// and both log.
func kubectl() {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) // the command reports a level that is invalid
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
