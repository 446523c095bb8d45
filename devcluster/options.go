package devcluster

import (
	"fmt"
	"io"
	"slices"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
)

// Component is an optional server of a cluster. etcd and kube-apiserver always run.
type Component string

// The optional components.
const (
	ControllerManager = Component(binaries.ControllerManager)
	Scheduler         = Component(binaries.Scheduler)
	Kwok              = Component(binaries.Kwok)
)

// AllComponents returns the optional components in the order of their start.
func AllComponents() []Component { return []Component{ControllerManager, Scheduler, Kwok} }

// ParseComponents parses a list of names. It also accepts "all", "none", and the names of the servers that always run.
func ParseComponents(names []string) ([]Component, error) {
	var components []Component
	for _, name := range names {
		switch c := Component(name); {
		case name == "all":
			components = append(components, AllComponents()...)
		case name == "none", name == string(binaries.Etcd), name == string(binaries.APIServer):
		case slices.Contains(AllComponents(), c):
			components = append(components, c)
		default:
			return nil, fmt.Errorf("unknown component %q; known are %v, all and none", name, AllComponents())
		}
	}
	slices.Sort(components)
	return slices.Compact(components), nil
}

// Options describe a cluster. The zero value starts fastest: an empty etcd and one kube-apiserver.
type Options struct {
	Components []Component // in addition to etcd and kube-apiserver
	Nodes      int         // number of nodes that kwok simulates, named node-0 and up; ignored without kwok
	APIServers int         // number of kube-apiservers on the same etcd, up to 9; 0 means 1
	Demo       Demo
	Sync       Sync
	Dir        string // directory for all files; if empty, a new temporary directory
	Keep       Keep
	APIServer  []string // additional flags of kube-apiserver, with values; they replace defaults of the same name
	Etcd       []string // additional flags of etcd, after the defaults
	// SeparateEtcd are resources in a second etcd, such as "events" or "coordination.k8s.io/leases".
	SeparateEtcd []string

	Release   string // older release of Kubernetes, such as "1.30"; if empty, the release in go.mod
	ModuleDir string // module with the sources; if empty, searched from the working directory upwards
	CacheDir  string // directory for built binaries; if empty, the user's cache directory
	Code      Code
	Progress  io.Writer // progress messages for the user, one a line; if nil, they are discarded
}

// Code selects between a fast build and fast programs.
type Code = binaries.Code

// The choices of Code.
const (
	QuicklyCompiled = binaries.QuicklyCompiled
	Optimized       = binaries.Optimized
)

// Demo says whether demo objects are created.
type Demo int

// The choices of Demo.
const (
	NoDemo Demo = iota
	WithDemo
)

// Sync says whether etcd waits until a write is on disk.
type Sync int

// The choices of Sync. A temporary cluster survives kill -9 of its servers with either choice. Only a crash of the
// machine makes a difference.
const (
	Unsafe Sync = iota
	Durable
)

// Keep says whether Close removes the directory.
type Keep int

// The choices of Keep. A directory that existed before Start is never removed.
const (
	Remove Keep = iota
	Preserve
)

// Has reports whether a component is in the options.
func (o *Options) Has(c Component) bool { return slices.Contains(o.Components, c) }

// programs returns the needed binaries: the servers, and kubectl for the users of the cluster.
func (o *Options) programs() []binaries.Program {
	programs := []binaries.Program{binaries.Etcd, binaries.APIServer, binaries.Kubectl}
	for _, c := range o.Components {
		programs = append(programs, binaries.Program(c))
	}
	return programs
}
