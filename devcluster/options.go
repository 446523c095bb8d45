package devcluster

import (
	"fmt"
	"io"
	"slices"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
)

// Component is a server that a cluster may do without. etcd and kube-apiserver always run.
type Component string

// The optional components.
const (
	ControllerManager = Component(binaries.ControllerManager)
	Scheduler         = Component(binaries.Scheduler)
	Kwok              = Component(binaries.Kwok)
)

// AllComponents lists every optional component in the order in which they start.
func AllComponents() []Component { return []Component{ControllerManager, Scheduler, Kwok} }

// ParseComponents reads a list of names. The words "all" and "none", and the names of the servers that always run, are
// understood as well.
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
			return nil, fmt.Errorf("there is no component %q; there are %v, all and none", name, AllComponents())
		}
	}
	slices.Sort(components)
	return slices.Compact(components), nil
}

// Options say what kind of cluster to start. The zero value is the quickest one: etcd and kube-apiserver, empty.
type Options struct {
	Components []Component // what runs beside etcd and kube-apiserver
	Nodes      int         // how many nodes kwok simulates, named node-0 and up; without kwok there are none
	APIServers int         // how many kube-apiservers there are, up to 9, all of the same etcd; 0 is 1
	Demo       Demo        // whether the cluster is given a few objects
	Sync       Sync        // whether etcd waits for the disk
	Dir        string      // where everything goes; empty: a fresh temporary directory
	Keep       Keep        // what Close does with the directory
	APIServer  []string    // further flags of kube-apiserver, value and all; they replace ours of the same name
	Etcd       []string    // further flags of etcd, after ours
	// SeparateEtcd are resources that live in a second etcd, as "events" or "coordination.k8s.io/leases".
	SeparateEtcd []string

	Release   string    // an older release of Kubernetes, as "1.30", that runs; empty: the one that go.mod pins
	ModuleDir string    // where to build the binaries from; empty: looked for from the working directory upwards
	CacheDir  string    // where built binaries are kept; empty: the user's cache directory
	Code      Code      // how fast the programs are to run
	Progress  io.Writer // what is going on, in lines for whoever waits; nil: nowhere
}

// Code says whether a build is quick or what it builds is.
type Code = binaries.Code

// The choices of Code.
const (
	QuicklyCompiled = binaries.QuicklyCompiled
	Optimized       = binaries.Optimized
)

// Demo says whether a cluster is given a few objects to look at.
type Demo int

// The choices of Demo.
const (
	NoDemo Demo = iota
	WithDemo
)

// Sync says whether etcd waits until a write is on the disk.
type Sync int

// The choices of Sync. A cluster that nobody keeps survives kill -9 of its servers either way; only a crash of the
// machine tells the two apart.
const (
	Unsafe Sync = iota
	Durable
)

// Keep says what becomes of the directory of a closed cluster.
type Keep int

// The choices of Keep. A directory that was there before Start is never removed.
const (
	Remove Keep = iota
	Preserve
)

// Has tells whether a component is to run.
func (o *Options) Has(c Component) bool { return slices.Contains(o.Components, c) }

// programs lists the binaries that are needed: those that run, and kubectl for whoever uses the cluster.
func (o *Options) programs() []binaries.Program {
	programs := []binaries.Program{binaries.Etcd, binaries.APIServer, binaries.Kubectl}
	for _, c := range o.Components {
		programs = append(programs, binaries.Program(c))
	}
	return programs
}
