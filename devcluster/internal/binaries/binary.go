package binaries

import "path"

// controlPlane is the command that contains every program of the main module. Most packages are common to several
// programs, so that one file is linked faster than six and is smaller than they are together.
const controlPlane = modulePath + "/cmd/controlplane"

// binary is one file that the compiler makes, and the programs that it is when it is called by their names.
type binary struct {
	pkg      string // import path of the main package
	programs []Program
}

// name is the name of the file.
func (b binary) name() string { return path.Base(b.pkg) }

// releaseBinaries returns the servers of an older release: each is its own command, because a command that contains
// them all would have to be a package of that release's module.
func releaseBinaries(programs []Program) []binary {
	var all []binary
	for _, p := range programs {
		all = append(all, binary{pkg: p.releasePackage(), programs: []Program{p}})
	}
	return all
}
