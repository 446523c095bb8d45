package binaries

import (
	"fmt"
	"slices"
	"strings"
)

// Program is one of the binaries that Build can make.
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

// All lists every program, those that others wait for first.
func All() []Program {
	return []Program{Etcd, APIServer, Kubectl, ControllerManager, Scheduler, Kwok}
}

// Parse finds a program by its name.
func Parse(name string) (Program, error) {
	if p := Program(name); slices.Contains(All(), p) {
		return p, nil
	}
	return "", fmt.Errorf("there is no program %q; there are %v", name, All())
}

// kubernetesPackage returns the import path of a program's own command. The go.mod of an older release lists those of
// its servers as tool directives, and the main one that of kubectl.
func (p Program) kubernetesPackage() string { return "k8s.io/kubernetes/cmd/" + string(p) }

// linkerFlags strips symbols, which halves the files, and sets the version where k8s.io/component-base and client-go
// look for it: a module build does not know it by itself, and clients refuse to parse the placeholder that stands there
// otherwise. For etcd and kwok the settings are without effect.
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
