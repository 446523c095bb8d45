package binaries

import (
	"fmt"
	"slices"
	"strings"
)

// Program is the name of a program that Build can compile.
type Program string

// The programs of a cluster.
const (
	Etcd              Program = "etcd"
	APIServer         Program = "kube-apiserver"
	ControllerManager Program = "kube-controller-manager"
	Scheduler         Program = "kube-scheduler"
	Kubectl           Program = "kubectl"
	Kwok              Program = "kwok"
)

// All returns every program.
func All() []Program {
	return []Program{Etcd, APIServer, Kubectl, ControllerManager, Scheduler, Kwok}
}

// Parse returns the program with the given name.
func Parse(name string) (Program, error) {
	if p := Program(name); slices.Contains(All(), p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown program %q; known are %v", name, All())
}

// kubernetesPackage returns the import path of a program's own command. Tool directives name these commands: kubectl in
// the main go.mod, the servers in the go.mod of each older release.
func (p Program) kubernetesPackage() string { return "k8s.io/kubernetes/cmd/" + string(p) }

// linkerFlags returns flags that strip symbols, which halves the size of the files, and that set the version of
// Kubernetes. A module build does not set the version, and clients cannot parse the placeholder. The version has no
// effect on etcd and kwok.
func linkerFlags(version string) string {
	minor := strings.Split(version, ".")[1]
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X", pkg+".gitVersion="+version,
			"-X", pkg+".gitMajor=1",
			"-X", pkg+".gitMinor="+minor,
			"-X", pkg+".gitTreeState=clean",
		)
	}
	return strings.Join(flags, " ")
}
