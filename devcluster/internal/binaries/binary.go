package binaries

import (
	"path"
	"slices"
)

// controlPlane is the command that contains every server of the main module. Most packages are common to several
// servers, so that one file is linked faster than five and is smaller than they are together. kubectl is not in it:
// with the servers' packages it takes twice as long to start, and tests start it hundreds of times.
const controlPlane = modulePath + "/cmd/controlplane"

// binary is one file that the compiler makes, and the programs that it is when it is called by their names.
type binary struct {
	pkg      string // import path of the main package
	programs []Program
}

// name is the name of the file.
func (b binary) name() string { return path.Base(b.pkg) }

// mainBinaries returns what programs of the main module are built as.
func mainBinaries(programs []Program) []binary {
	var all []binary
	servers := slices.DeleteFunc(slices.Clone(programs), func(p Program) bool { return p == Kubectl })
	if len(servers) > 0 {
		all = append(all, binary{pkg: controlPlane, programs: servers})
	}
	if len(servers) < len(programs) {
		all = append(all, binary{pkg: Kubectl.kubernetesPackage(), programs: []Program{Kubectl}})
	}
	return all
}

// releaseBinaries returns the servers of an older release: each is its own command, because a command that contains
// them all would have to be a package of that release's module.
func releaseBinaries(programs []Program) []binary {
	var all []binary
	for _, p := range programs {
		all = append(all, binary{pkg: p.kubernetesPackage(), programs: []Program{p}})
	}
	return all
}
