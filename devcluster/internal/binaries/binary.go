package binaries

import (
	"path"
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

// mainBinaries returns what programs of the main module are built as. For measurements kube-apiserver is a binary of
// its own, too: what the packages of the other servers do when they are loaded would count as its memory.
func (c Code) mainBinaries(programs []Program) []binary {
	var shared, own []Program
	for _, p := range programs {
		if p == Kubectl || p == APIServer && c == Optimized {
			own = append(own, p)
		} else {
			shared = append(shared, p)
		}
	}
	if len(shared) == 0 {
		return separateBinaries(own)
	}
	return append([]binary{{pkg: controlPlane, programs: shared}}, separateBinaries(own)...)
}

// separateBinaries returns a binary for each program, its own command. Servers of an older release are built so,
// because a command that contains them all would have to be a package of that release's module.
func separateBinaries(programs []Program) []binary {
	var all []binary
	for _, p := range programs {
		all = append(all, binary{pkg: p.kubernetesPackage(), programs: []Program{p}})
	}
	return all
}
