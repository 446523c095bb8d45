package binaries

import (
	"path"
)

// controlPlane is the command that contains every server of the main module. Most packages are common to several
// servers, so the linker needs less time for one file than for five, and the file is smaller. kubectl is a separate
// binary, because with the servers' packages kubectl would take twice as long to start. Tests start kubectl hundreds of
// times.
const controlPlane = modulePath + "/cmd/controlplane"

type binary struct {
	pkg      string // import path of the main package
	programs []Program
}

func (b binary) name() string { return path.Base(b.pkg) }

// mainBinaries returns the binaries of the main module for the given programs. For measurements, kube-apiserver is a
// separate binary. Otherwise its memory would include the initialization of the other servers' packages.
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

// separateBinaries returns one binary for each program. Servers of an older release are separate binaries, because a
// common command would have to be a package of that release's module.
func separateBinaries(programs []Program) []binary {
	var all []binary
	for _, p := range programs {
		all = append(all, binary{pkg: p.kubernetesPackage(), programs: []Program{p}})
	}
	return all
}
